import { describe, expect, test } from 'vitest'
import { inMemory } from './in-memory.ts'
import { hold, NOON_MS, release, settle } from './rows.ts'
import { verified } from './verified.ts'

/** A ledger with something in every table. */
async function setUp() {
  let nowMs = NOON_MS
  const { raw, book, accounting } = inMemory(() => nowMs)
  await accounting.credit({ tenant: 'acme', amountNano: 10_000n, reference: 'inv-1' })
  book.write([
    ['hold', hold('a')],
    ['end', settle('a')],
    ['hold', hold('b')],
    ['end', release('b')],
    ['hold', hold('c')],
  ])
  return {
    raw,
    accounting,
    findings: async () =>
      (await accounting.verify()).findings.map(one => `${one.table} ${one.row}: ${one.problem}`),
    /** As a user with a database client would. */
    tamper: (statement: string) => {
      for (const trigger of [
        'ledger_is_not_updated',
        'ledger_is_not_deleted',
        'ledger_is_appended',
        'adjustments_is_not_deleted',
      ]) {
        raw.exec(`drop trigger ${trigger}`)
      }
      raw.exec('drop index ledger_once')
      raw.exec(statement)
    },
    passes: (ms: number) => {
      nowMs += ms
    },
  }
}

test('a ledger that adds up has no findings', async () => {
  const { accounting } = await setUp()
  expect(await accounting.verify()).toEqual(verified({ entries: 3, openHolds: 1 }))
})

test.each([
  'update ledger set amount_nano = 1',
  'delete from ledger where id = 2',
  `insert or replace into ledger (id, kind, at_ms, amount_nano, tenant_id, flags) values (1, 2, 0, 1, 1, 0)`,
  `update adjustments set reference = 'x'`,
  `delete from ledger_names where id = 1`,
])('entries cannot be changed: %s', async statement => {
  const { raw } = await setUp()
  expect(() => raw.exec(statement)).toThrow('append-only')
})

test('one attempt has one end, whichever process writes it', async () => {
  const { raw } = await setUp()
  const second = `insert into ledger (kind, at_ms, request, attempt, key_id, publication_id, endpoint_id, amount_nano, flags)
    values (1, 0, 'a', 1, 1, 1, 1, 0, 0)`
  expect(() => raw.exec(second)).toThrow('UNIQUE')
})

describe('names the row that does not fit', () => {
  test.each([
    [
      'a changed balance',
      'update wallets set balance_nano = 9',
      /^wallets tenant acme: is 9, .* come to 9600$/,
    ],
    ['a lost wallet', 'delete from wallets', /^wallets tenant acme: is 0, .* come to 9600$/],
    [
      'a wallet without entries',
      `insert into wallets values ('ghost', 1, 0)`,
      /^wallets tenant ghost: is 1000000000/,
    ],
    ['a lost credit', 'update ledger_head set wallet_version = 0', /^wallets version: is 0, .* entry 1$/],
    [
      'changed tokens',
      'update key_totals set tokens = 1',
      /^key_totals tokens of key app: is 1, .* come to 400$/,
    ],
    ['changed spending', 'update key_totals set amount_units = 1', /^key_totals key app: is 1000000400/],
    [
      'a changed quarter',
      'update usage_quarters set estimated = 1',
      /^usage_quarters app, gpt, east, quarter 2026-01-15T12:00Z: has 1 requests.* 1 estimated.*, but .* 0 estimated/,
    ],
    [
      'a lost quarter',
      'delete from usage_quarters',
      /^usage_quarters app, .*: has nothing, but the entries come to 1 req/,
    ],
    [
      'a quarter too many',
      'insert into usage_quarters select key_name, quarter + 1, tenant, publication, endpoint, 1,1,1,1,1,1,1,1,1,1,1,1,1 from usage_quarters',
      /^usage_quarters app, .*12:15Z: has 1 requests.* come to nothing$/,
    ],
    [
      'a changed day',
      'update usage_days set output_tokens = 299',
      /^usage_days app, gpt, east, day 2026-01-15: has 1 requests, .*299 tokens.* but its quarters come to .*300 tokens/,
    ],
    [
      'a lost day',
      'delete from usage_days',
      /^usage_days app, .*: has 0 requests, .*, but its quarters come to 1 req/,
    ],
    [
      'a day too many',
      'insert into usage_days select key_name, day + 1, tenant, publication, endpoint, 1,1,1,1,1,1,1,1,1,1,1,1,1 from usage_days',
      /^usage_days app, .*2026-01-16: has 1 requests.*, but its quarters come to 0 requests/,
    ],
    [
      'a changed day of a key',
      'update usage_key_days set requests = 2',
      /^usage_key_days app of acme, day 2026-01-15: has 2 requests, .*, but its quarters come to 1 req/,
    ],
    [
      'a lost day of a key',
      'delete from usage_key_days',
      /^usage_key_days app of acme, .*: has 0 requests, .*, but its quarters come to 1 req/,
    ],
    [
      'a changed day of a model',
      'update usage_model_days set output_tokens = output_tokens - 1',
      /^usage_model_days gpt, east, day 2026-01-15: its quarters come to more by 0 requests, 0.0.0.1 tokens/,
    ],
    [
      'a day of a model too many',
      'insert into usage_model_days select day + 1, tenant, publication, endpoint, 1,1,1,1,1,1,1,1,1,1,1,1,1 from usage_model_days',
      /^usage_model_days gpt, east, day 2026-01-16: its quarters come to more by -1 requests/,
    ],
    [
      'a share that was dropped',
      `insert into scopes (owner, limit_name, kind, bound, per_minute, revision, since_ms, level, at_ms, leased, wanted)
        values ('key app', 'quota', 'sum', '900', '0', 1, 0, '0', 0, '500', '0')`,
      /^shares key app, quota: 500 is leased, but the shares of the gateways come to 0$/,
    ],
    ['a hold that was dropped', 'delete from open_holds', /^open_holds count: is 0, but 1 are open$/],
    [
      'a hold too many',
      `insert into open_holds (request_id, attempt, key_name, publication, endpoint, opened_at_ms, deadline_ms, amount_nano, tokens,
        input_tokens, input_amount_nano) values ('d', 1, 'app', 'gpt', 'east', ${NOON_MS}, ${NOON_MS}, 0, 0, 0, 0)`,
      /^open_holds count: is 2, but 1 are open$/,
    ],
    [
      'a hold whose call has ended',
      `update open_holds set request_id = 'a'`,
      /^open_holds request a, attempt 1: is open, but entry 2 has ended it$/,
    ],
  ])('%s', async (_, statement, expected) => {
    const { raw, findings } = await setUp()
    raw.exec(statement)
    const found = await findings()
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(expected)
  })

  test.each([
    [
      'a changed amount',
      'update ledger set amount_nano = 1 where id = 2',
      /^wallets tenant acme: is 9600, .* 9999$/,
    ],
    ['a lost entry', 'delete from ledger where id = 2', /^ledger id 2: no longer there/],
    ['lost entries', 'delete from ledger where id in (1, 2)', /^ledger ids 1 to 2: no longer there/],
    [
      'a second end',
      `insert into ledger (kind, at_ms, request, attempt, key_id, publication_id, endpoint_id, amount_nano, flags)
        select kind, at_ms, request, attempt, key_id, publication_id, endpoint_id, 0, 0 from ledger where id = 3`,
      /^ledger id 4: request b, attempt 1, has ended more than once$/,
    ],
    [
      'a charge of another tenant',
      'update ledger set tenant_id = key_id where id = 2',
      /^wallets tenant acme: is 9600, .* 10000$/,
    ],
    [
      'a lost name',
      `update ledger set key_id = 99 where id = 2`,
      /^ledger id 2: has the name 99, which is not there/,
    ],
    [
      'a credit of another tenant',
      'update ledger set tenant_id = 99 where id = 1',
      /^adjustments entry 1: there is no such entry of its tenant$/,
    ],
    ['a lost adjustment', 'delete from adjustments', /^adjustments count: is 0, but there are 1 entries$/],
  ])('%s', async (_, statement, expected) => {
    const { tamper, findings } = await setUp()
    tamper(statement)
    expect(await findings()).toContainEqual(expect.stringMatching(expected))
  })

  test('a hold that is open long after its deadline', async () => {
    const { passes, findings } = await setUp()
    passes(180_000)
    expect(await findings()).toEqual([])
    passes(1_000)
    expect(await findings()).toEqual(['open_holds request c, attempt 1: is open 121 s after its deadline'])
  })
})

test('lists a hundred findings at most', async () => {
  const { raw, findings } = await setUp()
  raw.exec(
    `insert into wallets select 'ghost' || value, 1, 1 from json_each('${JSON.stringify([...Array(500).keys()])}')`,
  )
  expect(await findings()).toHaveLength(100)
})

test('a long ledger is gone through in steps: others get their turns, it tells how far it is, and it can be ended', async () => {
  const { raw, accounting } = await setUp()
  const rows = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 40000)'
  raw.exec(`
    ${rows} insert into ledger (kind, at_ms, request, attempt, key_id, publication_id, endpoint_id, amount_nano, flags)
    select 1, ${NOON_MS}, 'many-' || i, 1, 1, 1, 1, 0, 0 from n`)
  let turns = 0
  const others = setInterval(() => turns++, 0)
  const progress: number[][] = []
  const found = await accounting.verify({ onProgress: (...shown) => progress.push(shown) })
  clearInterval(others)
  expect(found).toEqual(verified({ entries: 40_003, openHolds: 1 }))
  expect(turns).toBeGreaterThan(5)
  expect(progress.length).toBeGreaterThan(15)
  expect(progress[0]).toEqual([2_000, 40_003])
  expect(progress.at(-1)).toEqual([40_003, 40_003])

  const ending = new AbortController()
  const ended = accounting.verify({
    onProgress: () => ending.abort(new Error('enough')),
    signal: ending.signal,
  })
  await expect(ended).rejects.toThrow('enough')
  // And it can be gone through again.
  expect(await accounting.verify()).toMatchObject({ findings: [] })
})

describe('a bill keeps its price', () => {
  const price = '{"input":"1","output":"2"}'
  const usage = {
    inputTokens: 100,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 50,
    searchUnits: 0,
    durationMs: 0,
    characters: 0,
    images: 0,
  }

  test('from the hold on, once for all bills of that price, and shows it', async () => {
    const { raw, book, accounting } = inMemory(() => NOON_MS)
    book.write([
      ['hold', hold('a', { price })],
      ['hold', hold('b', { price })],
      ['end', settle('a', { usage, amountNano: 200_000n })],
      ['end', settle('b', { usage, amountNano: 200_000n })],
    ])
    expect(raw.prepare('select * from ledger_prices').all()).toEqual([{ id: 1, price }])
    expect((await accounting.walletEntries('acme')).map(entry => entry.price)).toEqual([price, price])
    expect((await accounting.verify()).findings).toEqual([])
  })

  test('and is found where price and usage come to something else', async () => {
    const { raw, book, accounting } = inMemory(() => NOON_MS)
    book.write([
      ['hold', hold('a', { price })],
      ['end', settle('a', { usage, amountNano: 199_999n })],
    ])
    expect((await accounting.verify()).findings).toEqual([
      {
        table: 'ledger',
        row: 'id 1',
        problem: 'was billed 199999, but its price and usage come to 200000',
      },
    ])
    expect(() => raw.exec(`update ledger_prices set price = '{}'`)).toThrow('append-only')
  })

  test('also where a batch before was not committed', () => {
    const { raw, book } = inMemory(() => NOON_MS)
    const rejected = hold('a', { price, amountNano: 2n ** 64n })
    expect(() =>
      book.write([
        ['hold', hold('b', { price })],
        ['hold', rejected],
      ]),
    ).toThrow()
    book.write([['hold', hold('c', { price })]])
    expect(
      raw.prepare('select price from ledger_prices join open_holds on price_id = ledger_prices.id').all(),
    ).toEqual([{ price }])
  })
})
