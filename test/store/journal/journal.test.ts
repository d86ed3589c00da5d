import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { segmentPath } from '../../../src/store/journal/files.ts'
import { JournalDamaged, JournalReader } from '../../../src/store/journal/reader.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { hold, settle } from '../ledger/rows.ts'
import { JOURNAL_ID, type Opened, opened, settleAll } from './opened.ts'
import type { SimulatedDisk } from './simulated-disk.ts'

const row = (id: string): Row => ['hold', hold(id)]

/** The request ids of all rows on a disk. */
function read(disk: SimulatedDisk, nextRow = 1, upTo?: number): string[] {
  const folder = tempDir(onTestFinished).path
  disk.copyTo(folder)
  return idsOf(new JournalReader(folder, JOURNAL_ID, nextRow).read(100_000, upTo))
}

function idsOf(rows: readonly { readonly row: Row }[]): string[] {
  return rows.map(({ row: [, { requestId }] }) => requestId)
}

/** Appends rows in one turn. @returns the number of the last. */
function turn({ journal, endTurn }: Opened, ...ids: string[]): number {
  let last = 0
  for (const id of ids) last = journal.append(row(id))
  endTurn()
  return last
}

/** What became of a promise so far. */
function stateOf(promise: Promise<void> | undefined): { is: string } {
  const state = { is: promise ? 'pending' : 'resolved' }
  promise?.then(
    () => (state.is = 'resolved'),
    (error: Error) => (state.is = error.message),
  )
  return state
}

describe('the journal', () => {
  it('writes the rows of a turn at its end, and reads them in order', async () => {
    const at = await opened()
    const first = at.journal.append(row('a'))
    const last = at.journal.append(['end', settle('a')])
    const written = stateOf(at.journal.written(first))
    await settleAll()
    expect([written.is, read(at.disk)]).toEqual(['pending', []])
    at.endTurn()
    await settleAll()
    expect([written.is, read(at.disk)]).toEqual(['resolved', ['a', 'a']])
    expect([first, last, at.journal.writtenRow]).toEqual([1, 2, 2])
  })

  it('acknowledges a row when a sync that began after its write has ended', async () => {
    const at = await opened()
    const first = turn(at, 'a')
    const a = stateOf(at.journal.acknowledged(first))
    const second = turn(at, 'b')
    const b = stateOf(at.journal.acknowledged(second))
    expect(at.disk.syncing).toBe(1)
    at.disk.endSync()
    await settleAll()
    expect([a.is, b.is, at.disk.syncing]).toEqual(['resolved', 'pending', 1])
    at.disk.endSync()
    await settleAll()
    expect([b.is, at.journal.acknowledged(second)]).toEqual(['resolved', undefined])
  })

  it('acknowledges a written row at once if only the end of the process may not lose it', async () => {
    const at = await opened()
    at.journal.setDurability('kill')
    const a = stateOf(at.journal.acknowledged(at.journal.append(row('a'))))
    at.endTurn()
    await settleAll()
    expect([a.is, at.disk.syncing]).toEqual(['resolved', 0])
  })

  it('changes what it acknowledges while it is open', async () => {
    const at = await opened()
    const a = stateOf(at.journal.acknowledged(turn(at, 'a')))
    at.journal.setDurability('kill')
    await settleAll()
    expect([a.is, at.disk.syncing]).toEqual(['resolved', 1])
    expect(at.journal.acknowledged(turn(at, 'b'))).toBeUndefined()
    at.journal.setDurability('power')
    expect(at.journal.acknowledged(turn(at, 'c'))).toBeDefined()
  })

  it('syncs soon what no caller waits for', async () => {
    const at = await opened()
    const last = turn(at, 'a')
    expect(at.disk.syncing).toBe(0)
    at.clock.advance(2)
    at.disk.endSync()
    await settleAll()
    expect(at.journal.acknowledged(last)).toBeUndefined()
  })

  it('makes no sync for what another one has taken along', async () => {
    const at = await opened()
    turn(at, 'a')
    at.clock.advance(1)
    void at.journal.acknowledged(turn(at, 'b'))
    at.disk.endSync()
    await settleAll()
    turn(at, 'c')
    at.clock.advance(1)
    expect(at.disk.syncing).toBe(0)
    at.clock.advance(2)
    expect(at.disk.syncing).toBe(1)
  })

  it('goes on in the next segment, which was prepared before, and is read across both', async () => {
    const at = await opened(undefined, { segmentBytes: 2_048 })
    const ids = Array.from({ length: 60 }, (_, index) => `req_${index}`)
    for (const id of ids) {
      turn(at, id)
      await settleAll()
    }
    expect(at.disk.list().length).toBeGreaterThan(2)
    expect(read(at.disk)).toEqual(ids)
    expect(read(at.disk, 31)).toEqual(ids.slice(30))
    expect(at.problems).toEqual([])
  })

  it('syncs an earlier segment before a later one', async () => {
    const at = await opened(undefined, { segmentBytes: 1_024 })
    for (let index = 0; index < 15; index++) {
      turn(at, `req_${index}`)
      await settleAll()
    }
    const all = stateOf(at.journal.acknowledged(15))
    at.disk.endSync()
    await settleAll()
    expect(all.is).toBe('pending')
    while (at.disk.syncing > 0) {
      at.disk.endSync()
      await settleAll()
    }
    expect(all.is).toBe('resolved')
  })

  it('uses released segments again, and what they had is not read', async () => {
    const at = await opened(undefined, { segmentBytes: 1_024 })
    const ids = Array.from({ length: 200 }, (_, index) => `req_${index}`)
    for (const [index, id] of ids.entries()) {
      turn(at, id)
      at.clock.advance(2)
      while (at.disk.syncing > 0) {
        at.disk.endSync()
        await settleAll()
      }
      // All but the last segments have been folded: the one in use, its spare and two more.
      if (index % 10 === 9) {
        at.journal.release(at.disk.list().slice(0, -4))
        await settleAll()
      }
    }
    expect(at.disk.list().length).toBeLessThan(20)
    const last = at.journal.writtenRow
    expect(read(at.disk, last - 5)).toEqual(ids.slice(-6))
  })

  it('rejects a row that cannot be stored, and keeps the others of its turn', async () => {
    const at = await opened()
    at.journal.append(row('a'))
    expect(() => at.journal.append(['hold', hold('b', { tokens: -1 })])).toThrow(RangeError)
    expect(() => at.journal.append(['hold', hold('c', { price: 'x'.repeat(300_000) })])).toThrow('too long')
    at.journal.append(row('d'))
    at.endTurn()
    expect(read(at.disk)).toEqual(['a', 'd'])
  })

  it('waits for the last rows when it closes, and says how many were lost', async () => {
    const at = await opened()
    turn(at, 'a')
    at.journal.append(row('b'))
    const closing = at.journal.close(1_000, false)
    await settleAll()
    at.disk.endSync()
    expect(await closing).toBe(0)

    const other = await opened()
    turn(other, 'a', 'b')
    const failing = other.journal.close(1_000, false)
    await settleAll()
    other.clock.advance(1_000)
    expect(await failing).toBe(2)
  })
})

describe('a journal whose disk fails', () => {
  it('writes what was not durable again, to another segment, after a failed sync', async () => {
    const at = await opened()
    at.disk.endSync()
    const first = turn(at, 'a')
    const a = stateOf(at.journal.acknowledged(first))
    at.disk.endSync()
    await settleAll()
    const b = stateOf(at.journal.acknowledged(turn(at, 'b', 'c')))
    at.disk.endSync(new Error('input/output error'))
    await settleAll()
    expect([a.is, b.is, at.journal.healthy]).toEqual(['resolved', 'pending', false])
    expect(at.problems).toEqual(['input/output error'])
    for (let times = 0; times < 5; times++) {
      at.clock.advance(1_000)
      await settleAll()
      at.disk.endSync()
      await settleAll()
    }
    expect([b.is, at.journal.healthy]).toEqual(['resolved', true])
    expect(at.problems).toEqual(['input/output error', 'recovered'])
    expect(read(at.disk)).toEqual(['a', 'b', 'c'])
    // Also if nothing survives that was not synced.
    expect(read(at.disk.cut(() => false))).toEqual(['a', 'b', 'c'])
  })

  it('rejects a hold whose write fails, keeps an end waiting, and writes both later', async () => {
    const at = await opened()
    const held = at.journal.append(row('a'))
    const written = stateOf(at.journal.written(held))
    const ended = stateOf(at.journal.acknowledged(at.journal.append(['end', settle('b')])))
    at.disk.failsToWrite = true
    at.endTurn()
    await settleAll()
    expect([written.is, ended.is, at.journal.healthy]).toEqual(['input/output error', 'pending', false])
    at.disk.failsToWrite = false
    for (let times = 0; times < 5; times++) {
      at.clock.advance(1_000)
      await settleAll()
      at.disk.endSync()
      await settleAll()
    }
    expect([ended.is, at.journal.healthy]).toEqual(['resolved', true])
    expect(read(at.disk)).toEqual(['a', 'b'])
  })

  it('takes no new holds when half of the last segment is used, and still has room for ends', async () => {
    const at = await opened(undefined, { segmentBytes: 4_096 })
    at.disk.failsToPrepare = true
    let count = 0
    while (at.journal.healthy) {
      turn(at, `req_${count++}`)
      await settleAll()
      at.clock.advance(1_000)
      at.disk.endSync()
      await settleAll()
    }
    // The sync of a row that was written before does not end the problem: there is no more room than before.
    expect(at.journal.acknowledged(count)).toBeUndefined()
    expect(at.problems).toEqual(['no space left on device'])
    for (let index = 0; index < count; index++) at.journal.append(['end', settle(`req_${index}`)])
    at.endTurn()
    expect(read(at.disk).length).toBe(2 * count)
    at.disk.failsToPrepare = false
    for (let times = 0; times < 8; times++) {
      at.clock.advance(10_000)
      await settleAll()
      at.disk.endSync()
      await settleAll()
    }
    expect(at.journal.healthy).toBe(true)
  })

  it('goes on within 5 seconds after an hour without a disk', async () => {
    const at = await opened()
    at.disk.failsToWrite = true
    turn(at, 'a')
    for (let seconds = 0; seconds < 3_590; seconds++) {
      at.clock.advance(1_000)
      await settleAll()
    }
    at.disk.failsToWrite = false
    at.clock.advance(5_000)
    await settleAll()
    at.disk.endSync()
    await settleAll()
    expect(at.journal.healthy).toBe(true)
  })
})

describe('a journal whose disk hangs', () => {
  it('writes again what a fault has stopped meanwhile, when the sync ends', async () => {
    const at = await opened()
    turn(at, 'a')
    at.clock.advance(2)
    at.disk.failsToWrite = true
    turn(at, 'b')
    at.disk.failsToWrite = false
    // Each retry waits for the sync in progress, which takes longer than all of them.
    for (let times = 0; times < 4; times++) {
      at.clock.advance(1_000)
      await settleAll()
    }
    for (let times = 0; times < 4; times++) {
      at.disk.endSync()
      await settleAll()
      at.clock.advance(30_000)
      await settleAll()
    }
    expect([at.journal.healthy, read(at.disk)]).toEqual([true, ['a', 'b']])
  })

  it('takes no new holds until the sync ends', async () => {
    const at = await opened()
    turn(at, 'a')
    at.clock.advance(2)
    at.clock.advance(5_000)
    expect([at.journal.healthy, at.problems]).toEqual([false, ['the disk has not answered for 5000 ms']])
    at.disk.endSync()
    await settleAll()
    expect([at.journal.healthy, at.problems[1]]).toEqual([true, 'recovered'])
  })
})

describe('a journal that is read', () => {
  async function synced(ids: readonly string[], segmentBytes = 4_096): Promise<Opened> {
    const at = await opened(undefined, { segmentBytes })
    for (const id of ids) {
      const ended = at.journal.acknowledged(turn(at, id))
      await settleAll()
      while (at.disk.syncing > 0) {
        at.disk.endSync()
        await settleAll()
      }
      await ended
    }
    return at
  }

  function readChanged(at: Opened, change: (segment: Buffer) => void): string[] {
    const folder = tempDir(onTestFinished).path
    at.disk.copyTo(folder)
    const path = segmentPath(folder, at.disk.list()[0] ?? 1)
    const bytes = readFileSync(path)
    change(bytes)
    writeFileSync(path, bytes)
    return idsOf(new JournalReader(folder, JOURNAL_ID, 1).read(100))
  }

  it('ends where a tail is torn that was never durable', async () => {
    const at = await synced(['a', 'b'])
    const { length } = writtenBytes(at)
    turn(at, 'c')
    expect(readChanged(at, bytes => bytes.fill(0, length + 30))).toEqual(['a', 'b'])
  })

  it('is damaged if a bit of a durable row has changed, and says which rows and where', async () => {
    const at = await synced(['a', 'b', 'c', 'd'])
    const flip = (bytes: Buffer) => {
      const offset = 64 + 40
      bytes[offset] = (bytes[offset] ?? 0) ^ 4
    }
    expect(() => readChanged(at, flip)).toThrow(JournalDamaged)
    expect(() => readChanged(at, flip)).toThrow(/rows 1 to 3 .*000000000001\.segment, byte 64/)
  })

  it('is damaged if its first segment is missing, but not if those rows are not wanted', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `req_${index}`)
    const at = await synced(ids, 1_024)
    await at.disk.remove(1)
    expect(() => read(at.disk)).toThrow(/rows 1 to/)
    expect(read(at.disk, 29)).toEqual(ids.slice(28))
  })

  it('is rejected from another store, and from a newer gw', async () => {
    const at = await synced(['a'])
    const folder = tempDir(onTestFinished).path
    at.disk.copyTo(folder)
    expect(() => new JournalReader(folder, 'ff'.repeat(16), 1).read(10)).toThrow('another store')
    const newer = (bytes: Buffer) => {
      bytes.writeUInt32LE(99, 8)
      bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60)
    }
    expect(() => readChanged(at, newer)).toThrow('newer gw')
  })

  it('is damaged if the header of a begun segment has changed', async () => {
    const at = await synced(['a', 'b'])
    const flip = (bytes: Buffer) => {
      bytes[40] = (bytes[40] ?? 0) ^ 4
    }
    expect(() => readChanged(at, flip)).toThrow(/the header of .*000000000001\.segment is damaged/)
  })

  it('loses no row if a part of it cannot be read for a moment', async () => {
    const at = await synced(
      Array.from({ length: 30 }, (_, index) => `req_${index}`),
      1_024,
    )
    const folder = tempDir(onTestFinished).path
    at.disk.copyTo(folder)
    const [, second = 2] = at.disk.list()
    const away = `${folder}/away`
    renameSync(segmentPath(folder, second), away)
    const reader = new JournalReader(folder, JOURNAL_ID, 1)
    const first = reader.read(100)
    expect(first.length).toBeGreaterThan(0)
    expect(() => reader.read(100)).toThrow(JournalDamaged)
    renameSync(away, segmentPath(folder, second))
    expect([...idsOf(first), ...idsOf(reader.read(100))]).toHaveLength(30)
  })

  it('ends in a moment behind a recycled segment, whose bytes look like many pieces', async () => {
    const at = await synced(['a'], 1_048_576)
    const scan = () =>
      readChanged(at, bytes => {
        // Each offset has a length that a piece could have.
        for (let offset = 4_096; offset < bytes.length; offset++) bytes[offset] = offset % 4 === 2 ? 8 : 0
      })
    // A scan that reads each of them as a piece takes longer than a test may.
    expect(scan()).toEqual(['a'])
  })

  it('is followed while it is written, up to the last written row', async () => {
    const at = await opened()
    const folder = tempDir(onTestFinished).path
    const reader = new JournalReader(folder, JOURNAL_ID, 1)
    const seen: string[] = []
    for (const id of ['a', 'b', 'c', 'd']) {
      turn(at, id)
      at.disk.copyTo(folder)
      seen.push(...idsOf(reader.read(10, at.journal.writtenRow)))
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd'])
    expect(() => reader.read(10, 9)).toThrow(/rows 5 to 9/)
  })
})

function writtenBytes(at: Opened): Buffer {
  const folder = tempDir(onTestFinished).path
  at.disk.copyTo(folder)
  const bytes = readFileSync(segmentPath(folder, 1))
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}
