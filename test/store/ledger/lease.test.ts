import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { takeLease } from '../../../src/store/ledger/lease.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { openBoth } from './opened.ts'
import { built, kill, run } from './processes.ts'

const TAKE = `
  import { takeLease } from ${built('store/ledger/lease.js')}
  // Reachable until the process ends: with an unreachable connection its lock is collected.
  globalThis.lease = takeLease(process.argv[1])
  console.log('taken')
  process.stdin.resume()
`

function database(): string {
  return tempDir(onTestFinished).write('gw.db', '')
}

test('is held by one process at a time, and goes with kill -9', async () => {
  const path = database()
  const other = run(TAKE, path)
  await once(other.stdout, 'data')
  expect(() => takeLease(path)).toThrow(expect.objectContaining({ code: 'store_in_use' }))
  await kill(other)
  takeLease(path).release()
})

test('is held by one part of a process at a time, too, and can be given back', () => {
  const path = database()
  const lease = takeLease(path)
  for (const _ of [1, 2])
    expect(() => takeLease(path)).toThrow(expect.objectContaining({ code: 'store_in_use' }))
  lease.release()
  takeLease(path).release()
})

test('is one lease for all paths to the same file', () => {
  const folder = tempDir(onTestFinished)
  const path = folder.write('gw.db', '')
  symlinkSync(path, folder.at('link.db'))
  const lease = takeLease(path)
  onTestFinished(() => lease.release())
  expect(() => takeLease(folder.at('link.db'))).toThrow(expect.objectContaining({ code: 'store_in_use' }))
})

test('needs a database to be the lease of', () => {
  const folder = tempDir(onTestFinished)
  expect(() => takeLease(folder.at('gw.db'))).toThrow(expect.objectContaining({ code: 'store_missing' }))
})

test('a second gateway of a store is rejected until the first has closed its ledger', async () => {
  const { ledger, open, store } = await openBoth()
  await expect(open()).rejects.toMatchObject({ code: 'store_in_use' })
  expect(await store.head()).toMatchObject({ revision: 0 })
  await ledger.close()
  await (await open()).flush()
})
