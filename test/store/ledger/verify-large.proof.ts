import Database from 'better-sqlite3'
import { afterEach, expect, test, vi } from 'vitest'
import { inMemory } from './in-memory.ts'
import { NOON_MS } from './rows.ts'

afterEach(() => void vi.restoreAllMocks())

/** A ledger of so many calls by ten keys, spread over so many days in an order of no kind. */
function ledgerOf({ calls, days, step }: { calls: number; days: number; step: number }) {
  const { raw, accounting } = inMemory(() => NOON_MS)
  const rows = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${calls})`
  const names = `'many-' || i, 1, 'key-' || (i % 10), 'acme', 'gpt', 'endpoint-' || (i % 3)`
  const atMs = `${NOON_MS} + (i * ${step} % ${days * 96}) * 900000`
  const columns = 'request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano'
  const usage = 'input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units, flags'
  raw.exec(`
    ${rows} insert into ledger (kind, ${columns}) select 'hold', ${names}, ${atMs}, 1 from n;
    ${rows} insert into ledger (kind, ${columns}, ${usage})
    select 'settle', ${names}, ${atMs}, i, i, 1, 2, 3, 0, iif(i % 7, '', 'estimated') from n;
    insert into usage_quarters (key_name, quarter, tenant, publication, endpoint, requests, input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_units, amount_nano, estimated,
      unpriced)
    select key_name, at_ms / 900000, tenant, publication, endpoint, count(*), sum(input_tokens),
      sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(search_units),
      sum(amount_nano) / 1000000000, sum(amount_nano) % 1000000000, sum(flags = 'estimated'), 0
    from ledger where kind = 'settle' group by 1, 2, 3, 4, 5;
    insert into key_totals
    select key_name, sum(input_tokens + output_tokens), 0, sum(amount_nano) from ledger where kind = 'settle' group by 1;
    insert into wallets select 'acme', 0, -sum(amount_nano) from ledger where kind = 'settle'`)
  return { raw, accounting }
}

test('entries in any order of time add up, and of them the row that does not fit is named', async () => {
  const { raw, accounting } = ledgerOf({ calls: 9_000, days: 60, step: 7_919 })
  expect(await accounting.verify()).toEqual({ entries: 18_000, openHolds: 0, findings: [] })
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
  // An entry each, a row of usage for each call, a look at each page, key and span.
  expect(small.rows).toBeLessThan(10_000 + 5_000 + 1_500)
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
