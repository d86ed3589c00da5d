import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gwProcess, type ProcessWorld, shell, startGw } from './process.ts'
import { FIRST } from './sample-tree.ts'
import { billed, write } from './traffic.ts'

let dir: TempDir
let world: ProcessWorld

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  world = { cwd: dir.path, environment: { GW_STORE: await storeOfFolder(dir.path) } }
  dir.write('gw.yaml', FIRST)
  expect((await gwProcess(['apply', '--yes', '--skip-probe'], world)).exit).toBe(0)
  await write(dir.at('data/gw.db'), billed({ id: 'old' }))
})

describe('gw logs --follow as a process', () => {
  it('lives on while nothing happens, and ends with 0 when a signal comes', async () => {
    const gw = startGw(['logs', '--follow', '--format', 'json'], world)
    const [first] = (await once(gw.child.stdout, 'data')) as [Buffer]
    expect(JSON.parse(first.toString())).toMatchObject({ request_id: 'old' })
    await write(dir.at('data/gw.db'), billed({ id: 'new' }))
    const [second] = (await once(gw.child.stdout, 'data')) as [Buffer]
    expect(JSON.parse(second.toString())).toMatchObject({ request_id: 'new' })
    gw.child.kill('SIGINT')
    const { exit, signal, stderr } = await gw.ended
    expect({ exit, signal, stderr }).toEqual({ exit: 0, signal: null, stderr: '' })
  })

  it('ends quietly with the first line that its reader does not take any more', async () => {
    const piped = shell('gw logs --follow | { head -1 > seen; touch gone; }', world)
    await expect.poll(() => existsSync(dir.at('gone')), { timeout: 10_000 }).toBe(true)
    await write(dir.at('data/gw.db'), billed({ id: 'unseen' }))
    expect(await piped).toMatchObject({ exit: 0, stderr: '' })
    expect(readFileSync(dir.at('seen'), 'utf8')).toContain('old')
  })
})
