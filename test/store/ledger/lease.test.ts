import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { takeAllLeases, takeFreeLane, takeLease } from '../../../src/store/ledger/lease.ts'
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

test('each gateway of a store has a lane, the first that is free', async () => {
  const { ledger, open } = await openBoth()
  const second = await open()
  expect([ledger.lane, second.lane]).toEqual([0, 1])
  await ledger.close()
  const third = await open()
  expect(third.lane).toBe(0)
  await third.flush()
})

test('a restore needs all lanes, and gives them back', () => {
  const path = database()
  takeLease(path).release()
  const second = takeLease(path, 1)
  expect(() => takeAllLeases(path)).toThrow(expect.objectContaining({ code: 'store_in_use' }))
  second.release()
  takeAllLeases(path).release()
  expect(takeFreeLane(path).lane).toBe(0)
})

test('while another process has all lanes, no gateway takes a new one', () => {
  const path = database()
  takeLease(path).release()
  const all = takeAllLeases(path)
  expect(() => takeFreeLane(path)).toThrow(
    expect.objectContaining({
      code: 'store_in_use',
      message: expect.stringContaining('no gateway can start'),
    }),
  )
  all.release()
  const gateway = takeFreeLane(path)
  expect(gateway.lane).toBe(0)
  gateway.lease.release()
})
