import Database from 'better-sqlite3'
import { afterEach, expect, test, vi } from 'vitest'
import { type Flag, usageOf } from '../../../src/schema/ledger.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import { QUARTER_MS } from '../../../src/store/ledger/usage-sums.ts'
import { inMemory } from './in-memory.ts'
import { hold, NOON_MS, settle } from './rows.ts'
import { verified } from './verified.ts'

afterEach(() => void vi.restoreAllMocks())

/** A ledger of so many calls by ten keys, spread over so many days in an order of no kind. */
function ledgerOf({ calls, days, step }: { calls: number; days: number; step: number }) {
  const { raw, book, accounting } = inMemory(() => NOON_MS)
  const rows = Array.from({ length: calls }, (_, at): Row[] => {
    const i = at + 1
    const claim = { key: `key-${i % 10}`, endpoint: `endpoint-${i % 3}` }
    const endedAtMs = NOON_MS + ((i * step) % (days * 96)) * QUARTER_MS
    const usage = usageOf({ inputTokens: i, cachedInputTokens: 1, cacheWriteTokens: 2, outputTokens: 3 })
    const flags: Flag[] = i % 7 ? [] : ['estimated']
    return [
      ['hold', hold(`many-${i}`, claim)],
      ['end', settle(`many-${i}`, { ...claim, endedAtMs, amountNano: BigInt(i), usage, flags })],
    ]
  })
  book.write(rows.flat())
  return { raw, accounting }
}

test('entries in any order of time add up, and of them the row that does not fit is named', async () => {
  const { raw, accounting } = ledgerOf({ calls: 9_000, days: 60, step: 7_919 })
  expect(await accounting.verify()).toEqual(verified({ entries: 9_000 }))
  raw.exec(`update usage_quarters set output_tokens = 4, amount_nano = amount_nano - 1
    where key_name = 'key-3' and quarter = (select min(quarter) from usage_quarters where key_name = 'key-3')`)
  const { findings } = await accounting.verify()
  expect(findings).toEqual([
    {
      table: 'usage_quarters',
      row: expect.stringMatching(/^key-3, gpt, endpoint-\d, quarter 2026-01-15T/),
      problem: expect.stringMatching(
        /^has 2 requests, \d+\/2\/4\/4 tokens, .* but the entries come to 2 requests, \d+\/2\/4\/6 tokens, /,
      ),
    },
  ])
})

test('of a ledger whose sums are lost a hundred rows are named, the oldest first, and nothing is left behind', async () => {
  const { raw, accounting } = ledgerOf({ calls: 30_000, days: 400, step: 1 })
  raw.exec('delete from usage_quarters')
  for (const _ of [1, 2]) {
    const { findings } = await accounting.verify()
    expect(findings).toHaveLength(100)
    expect(findings[0]).toEqual({
      table: 'usage_quarters',
      row: 'key-1, gpt, endpoint-1, quarter 2026-01-15T12:15Z',
      problem:
        'has nothing, but the entries come to 1 requests, 1/1/2/3 tokens, 0 search units, 0 + 1 nano, 0 estimated, 0 unpriced',
    })
    expect(findings[99]?.row).toBe('key-0, gpt, endpoint-1, quarter 2026-01-16T13:00Z')
  }
  expect(raw.prepare('select name from sqlite_temp_schema').all()).toEqual([])
})

/** How many rows SQLite hands out for a verification, and what it plans for each statement. */
async function workOf({ raw, accounting }: ReturnType<typeof ledgerOf>) {
  const statements: string[] = []
  let rows = 0
  const proto = Object.getPrototypeOf(raw.prepare('select 1')) as Pick<Database.Statement, 'all' | 'get'>
  const { all, get } = proto
  const prepare = vi.spyOn(Database.prototype, 'prepare')
  vi.spyOn(proto, 'all').mockImplementation(function (this: Database.Statement, ...values: unknown[]) {
    const found = all.apply(this, values)
    rows += found.length
    return found
  })
  vi.spyOn(proto, 'get').mockImplementation(function (this: Database.Statement, ...values: unknown[]) {
    rows += 1
    return get.apply(this, values)
  })
  expect((await accounting.verify()).findings).toEqual([])
  statements.push(...prepare.mock.calls.map(([text]) => text))
  vi.restoreAllMocks()
  const plans = statements
    .filter(text => /^\s*select/i.test(text))
    // Gone by now.
    .filter(text => !text.includes('from temp.'))
    .map(text => {
      const values = Array.from({ length: text.split('?').length - 1 }, () => 0)
      const steps = raw.prepare(`explain query plan ${text}`).all(...values) as { detail: string }[]
      return { text, steps: steps.map(({ detail }) => detail) }
    })
  return { rows, plans }
}

test('twice the ledger is twice the work: each row is read once, and no table is gone through for each row of another', async () => {
  const small = await workOf(ledgerOf({ calls: 5_000, days: 60, step: 1 }))
  const large = await workOf(ledgerOf({ calls: 10_000, days: 120, step: 1 }))
  // An entry each, a row of usage for each call, a look at each page, key and span; of the 30 places, each day twice.
  expect(small.rows).toBeLessThan(5_000 + 5_000 + 1_500 + 2 * 30 * 60)
  expect(large.rows / small.rows).toBeLessThan(2.1)
  expect(large.plans.length).toBe(small.plans.length)
  for (const { text, steps } of large.plans) {
    const loops = steps.filter(step => /^(SCAN|SEARCH) (?!\(subquery)/.test(step))
    const scansWithin = loops.slice(1).filter(step => step.startsWith('SCAN'))
    expect(scansWithin, `${steps.join(' | ')} of ${text}`).toEqual([])
    // By the page, by key and span: with all that it is asked by, and never from the beginning.
    const asked = text.split('?').length - 1
    if (asked > 0) expect(loops[0]?.split('?').length, `${steps.join(' | ')} of ${text}`).toBe(asked + 1)
  }
})
