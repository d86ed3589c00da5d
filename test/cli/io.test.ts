import { userInfo } from 'node:os'
import { expect, it } from 'vitest'
import { processIo } from '../../src/cli/io.ts'

const nameIn = (env: NodeJS.ProcessEnv) =>
  processIo({ env, cwd: () => '/', stdout: {}, stderr: {} } as NodeJS.Process).environment['USER']

it('knows who is at work also where the environment does not tell, as under cron', () => {
  expect(nameIn({ PATH: '/bin' })).toBe(userInfo().username)
  expect(nameIn({ USER: '' })).toBe(userInfo().username)
})

it('believes the environment where it tells', () => {
  expect(nameIn({ USER: 'ann' })).toBe('ann')
  expect(nameIn({ LOGNAME: 'bob' })).toBeUndefined()
})
