import { expect, test } from 'vitest'
import { LedgerRows, RowRejected } from '../../../src/store/ledger/ledger-rows.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import { inMemory } from './in-memory.ts'
import { call, hold, NOON_MS, release, settle } from './rows.ts'

const CALLS = 100
const id = (at: number) => `req_${String(at).padStart(24, '0')}`

/** A batch whose calls end in it, each with its line of the log: every third is one of a rarer kind. */
function batchOf(count: number, first = 0): Row[] {
  return Array.from({ length: count }, (_, index) => first + index).flatMap((at): Row[] => {
    const isRare = at % 3 === 0
    const end = isRare ? release(id(at)) : settle(id(at), { amountNano: BigInt(at) })
    const line = isRare
      ? call(id(at), {
          outcome: 'failed',
          errorCode: 'upstream_error',
          usage: undefined,
          firstByteMs: undefined,
        })
      : call(id(at), { amountNano: BigInt(at) })
    return [
      ['hold', hold(id(at))],
      ['end', end],
      ['log', line],
    ]
  })
}

function opened() {
  const at = inMemory(() => NOON_MS)
  const count = (table: string) =>
    (at.raw.prepare(`select count(*) as rows from ${table}`).get() as { rows: number }).rows
  const requests = (table: string) =>
    at.raw.prepare(`select lower(hex(request)) from ${table} order by id`).pluck().all() as string[]
  return { ...at, count, requests }
}

test('entries and lines of the log have ids in the order of the rows, whatever their kind', () => {
  const { book, requests } = opened()
  book.write(batchOf(CALLS))
  const expected = Array.from({ length: CALLS }, (_, at) => id(at).slice(4))
  expect(requests('ledger')).toEqual(expected)
  expect(requests('call_logs')).toEqual(expected)
})

test('a batch that ends earlier holds and opens new ones keeps exactly the open ones', () => {
  const { book, raw, count } = opened()
  const holds = Array.from({ length: CALLS }, (_, at): Row => ['hold', hold(id(at))])
  book.write(holds)
  const ends = Array.from({ length: CALLS / 2 }, (_, at): Row => ['end', settle(id(at))])
  const more = Array.from({ length: 10 }, (_, at): Row => ['hold', hold(id(CALLS + at))])
  expect(book.write([...more, ...ends])).toEqual(new Map())
  expect(count('open_holds')).toBe(60)
  expect(raw.prepare('select open_holds from ledger_head').pluck().get()).toBe(60)
  // A writer that begins anew finds them, each with its own row.
  const again = new LedgerRows(raw)
  const others = Array.from({ length: 60 }, (_, at): Row => ['end', settle(id(CALLS / 2 + at))])
  expect(again.write(others)).toEqual(new Map())
  expect(count('open_holds')).toBe(0)
  expect(count('ledger')).toBe(110)
})

test('rows that contradict the ledger are left out of a batch, and no other row of it', () => {
  const { book, count } = opened()
  book.write(batchOf(10))
  const batch = batchOf(CALLS, 10)
  // A hold that ended in the batch before, with and without a second end; one that ended in this batch; an end of no hold.
  const wrong: Row[] = [
    ['hold', hold(id(1))],
    ['hold', hold(id(2))],
    ['end', settle(id(2), { amountNano: 2n })],
    ['end', settle(id(4), { amountNano: 5n })],
    ['end', settle(id(9_999))],
  ]
  const late: Row[] = [
    ['hold', hold(id(20))],
    ['end', settle(id(20), { amountNano: 20n })],
  ]
  const faults = book.write([...batch.slice(0, 150), ...wrong, ...batch.slice(150), ...late])
  expect(faults).toEqual(
    new Map([
      [150, 'held_twice'],
      [151, 'held_twice'],
      [153, 'ended_differently'],
      [154, 'never_held'],
      [3 * CALLS + 5, 'held_twice'],
    ]),
  )
  expect(count('ledger')).toBe(110)
  expect(count('call_logs')).toBe(110)
  expect(count('open_holds')).toBe(0)
})

test('a hold that ended before and does not end again is not opened', () => {
  const { book, count } = opened()
  book.write(batchOf(10))
  const faults = book.write([...batchOf(20, 10), ['hold', hold(id(3))]])
  expect(faults).toEqual(new Map([[60, 'held_twice']]))
  expect(count('open_holds')).toBe(0)
  expect(count('ledger')).toBe(30)
})

test('a row that SQLite rejects is named by its place in the batch, which leaves no trace', () => {
  const { book, count } = opened()
  const batch = batchOf(CALLS)
  const place = 3 * 40 + 1
  const bad = settle(id(40), { usage: { ...settle('').usage, inputTokens: 2e12 } })
  const write = () => book.write(batch.with(place, ['end', bad]))
  expect(write).toThrow(RowRejected)
  expect(write).toThrow(expect.objectContaining({ index: place }))
  expect(count('ledger')).toBe(0)
  expect(book.write(batch)).toEqual(new Map())
  expect(count('ledger')).toBe(CALLS)
})
