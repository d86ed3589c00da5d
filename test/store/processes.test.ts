import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/temp-dir.ts'
import { endpoint, put } from './samples.ts'

/** Runs a module in a process of its own; `built('x.ts')` in it would be `dist/x.js`, which `npm test` has built. */
function run(source: string, ...args: string[]) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const built = (file: string) => JSON.stringify(new URL(`../../dist/${file}`, import.meta.url).href)
const packaged = (name: string) => JSON.stringify(import.meta.resolve(name))

const COMMIT_ON_0 = `
  import { openStore } from ${built('store/open.js')}
  import { systemClock } from ${built('base/clock.js')}
  const store = await openStore('sqlite:' + process.argv[1], { mode: 'create', clock: systemClock })
  const counts = { create: 0, update: 0, delete: 0, unchanged: 0 }
  const commit = { base: 0, origin: 'apply', set: 'default', author: process.argv[2], counts, puts: [], deletes: [] }
  console.log(await store.commit(commit).then(() => 'won', error => error.code))
  await store.close()
`

test('of several processes that create the store and commit at once, one wins and the others are stale', async () => {
  const path = tempDir(onTestFinished).at('data/gw.db')
  const answers = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async author => (await text(run(COMMIT_ON_0, path, author).stdout)).trim()),
  )
  expect(answers.sort()).toEqual(['revision_changed', 'revision_changed', 'revision_changed', 'won'])
  const store = await openStore(`sqlite:${path}`, { mode: 'read', clock: systemClock })
  onTestFinished(() => store.close())
  expect(await store.revisions()).toHaveLength(1)
})

const LOCKED = `
  import Database from ${packaged('better-sqlite3')}
  const raw = new Database(process.argv[1])
  raw.exec('begin immediate')
  console.log('locked')
  process.stdin.once('data', () => { raw.exec('commit'); raw.close(); process.stdin.destroy() })
`

test('waits for a process that holds the lock without stopping its own event loop', async () => {
  const folder = tempDir(onTestFinished)
  const store = await openStore('sqlite:gw.db', { mode: 'create', clock: systemClock, folder: folder.path })
  onTestFinished(() => store.close())
  const holder = run(LOCKED, folder.at('gw.db'))
  await once(holder.stdout, 'data')
  const committed = put(store, endpoint('a'))
  // A poll answers while the commit waits; the lock then goes only because this process still runs.
  expect(store.changed()).toBe(true)
  await new Promise(resolve => setImmediate(resolve))
  holder.stdin.write('go\n')
  expect(await committed).toMatchObject({ id: 1 })
})

test('reads while another process holds the write lock', async () => {
  const folder = tempDir(onTestFinished)
  const store = await openStore('sqlite:gw.db', { mode: 'create', clock: systemClock, folder: folder.path })
  onTestFinished(() => store.close())
  await once(run(LOCKED, folder.at('gw.db')).stdout, 'data')
  expect(await store.head()).toEqual({ revision: 0, keyVersion: 0 })
})
