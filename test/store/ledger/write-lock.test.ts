import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { onceUnlocked } from '../../../src/store/ledger/write-lock.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Two connections to one file, of which neither waits by itself. */
function setUp() {
  const path = `${tempDir(onTestFinished).path}/gw.db`
  const open = () => {
    const raw = new Database(path, { timeout: 0 })
    onTestFinished(() => void raw.close())
    raw.pragma('journal_mode = wal')
    return raw
  }
  const mine = open()
  mine.exec('create table t (n integer)')
  return { mine, other: open() }
}

test('what another connection holds is asked for again until it is free', () => {
  const { mine, other } = setUp()
  other.exec('begin immediate')
  let asked = 0
  onceUnlocked(() => {
    if (++asked === 4) other.exec('commit')
    mine.exec('begin immediate')
  })
  expect([asked, mine.inTransaction]).toEqual([4, true])
})

test('a lock that is never given up is reported in the end', () => {
  const { mine, other } = setUp()
  other.exec('begin immediate')
  expect(() => onceUnlocked(() => mine.exec('begin immediate'))).toThrow('database is locked')
})

test('anything else is reported at once', () => {
  let asked = 0
  const attempt = () => {
    asked++
    throw new RangeError('of another kind')
  }
  expect(() => onceUnlocked(attempt)).toThrow(RangeError)
  expect(asked).toBe(1)
})
