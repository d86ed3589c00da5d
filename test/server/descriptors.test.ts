import { expect, it, onTestFinished } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { maxConnectionsFor } from '../../src/server/serve.ts'
import { tempDir } from '../support/temp-dir.ts'

const lines: Record<string, unknown>[] = []
const log = createLog(
  { write: line => lines.push(JSON.parse(line) as Record<string, unknown>) },
  { level: 'info', pretty: false, colour: false },
)
const limited = (soft: string) =>
  tempDir(onTestFinished).write(
    'limits',
    `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft.padEnd(20)} 1048576              files     \n`,
  )

it.each([
  ['1024', 384],
  ['20000', 9_872],
  ['1048576', 20_000],
  ['unlimited', 20_000],
  ['100', 1],
])('a process that may open %s files has room for %d clients', async (soft, room) => {
  expect(await maxConnectionsFor(undefined, log, limited(soft))).toBe(room)
})

it('takes the limit where the system tells none', async () => {
  expect(await maxConnectionsFor(undefined, log, '/nowhere/limits')).toBe(20_000)
})

it('sets the limit that is configured, and says where that is not possible', async () => {
  expect(await maxConnectionsFor(300, log, limited('1024'))).toBe(300)
  expect(lines).toEqual([])
  expect(await maxConnectionsFor(5_000, log, limited('1024'))).toBe(5_000)
  expect(lines).toMatchObject([{ level: 'warn', max_connections: 5_000, fitting: 384, open_files: 1_024 }])
})
