import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { UsageQuery, UsageRow } from '../../../src/store/ledger/types.ts'
import { NO_SUMS, plusUsage, QUARTER_MS, SUM_COLUMNS } from '../../../src/store/ledger/usage-sums.ts'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { put } from '../samples.ts'
import { LEDGERS } from './ledgers.ts'
import { call, hold, NOON_MS, settle } from './rows.ts'
import { tenant } from './tenants.ts'

const BEYOND_DOUBLES = 2n ** 53n + 1n

/** Fills a table of sums of days from `usage_days`. */
function sumsWithout(table: string, place: string): string {
  const sums = SUM_COLUMNS.map(column => `sum(${column})`).join(', ')
  return `insert into ${table} (${place}, ${SUM_COLUMNS.join(', ')}) select ${place}, ${sums} from usage_days group by ${place}`
}

/** The sum of the rows of each label and split. */
function byName(rows: readonly UsageRow[]): ReadonlyMap<string, UsageRow> {
  const sums = new Map<string, UsageRow>()
  for (const row of rows) {
    const name = JSON.stringify([row.label, row.split])
    const sum = sums.get(name)
    sums.set(name, sum ? plusUsage(sum, row) : row)
  }
  return sums
}

describe.each(LEDGERS)('on %s', (_, createLedger) => {
  async function setUp() {
    const ledger = await createLedger(() => NOON_MS)
    let next = 0
    return {
      ...ledger,
      /** Holds and settles, as one request does. */
      spend: (more: Parameters<typeof settle>[1] = {}) => {
        const requestId = `req_${next++}`
        return ledger.write(['hold', hold(requestId, more)], ['end', settle(requestId, more)])
      },
    }
  }

  describe('a wallet', () => {
    test('of a tenant that has none is empty', async () => {
      const { accounting } = await setUp()
      expect(await accounting.wallet('acme')).toEqual({ tenant: 'acme', balanceNano: 0n, heldNano: 0n })
      expect(await accounting.wallets()).toEqual([])
    })

    test('is exact beyond the numbers of JavaScript, and beyond 64 bits', async () => {
      const { accounting, spend, write } = await setUp()
      const most = 2n ** 63n - 1n
      for (const reference of ['a', 'b', 'c'])
        await accounting.credit({ tenant: 'acme', amountNano: most, reference })
      await spend({ amountNano: BEYOND_DOUBLES })
      await write(['hold', hold('x', { amountNano: most })], ['hold', hold('y', { amountNano: most })])
      expect(await accounting.wallet('acme')).toEqual({
        tenant: 'acme',
        balanceNano: 3n * most - BEYOND_DOUBLES,
        heldNano: 2n * most,
      })
      expect(await accounting.walletEntries('acme', { limit: 1 })).toMatchObject([
        { amountNano: -BEYOND_DOUBLES },
      ])
    })

    test('lists its own entries, newest first, by pages and kinds; holds and releases are none', async () => {
      const { accounting, spend, write } = await setUp()
      const credit = { tenant: 'acme', amountNano: 900n, reference: 'inv-1', note: 'January', author: 'Ada' }
      await accounting.credit(credit)
      await spend()
      await spend({ tenant: 'beta' })
      await write(['hold', hold('open')])
      await accounting.debit({ tenant: 'acme', amountNano: 100n, reference: 'back' })
      const all = await accounting.walletEntries('acme')
      expect(all.map(({ kind, amountNano }) => [kind, amountNano])).toEqual([
        ['debit', -100n],
        ['settle', -400n],
        ['credit', 900n],
      ])
      expect(all[1]).toMatchObject({ key: 'app', publication: 'gpt', requestId: 'req_0', flags: [] })
      expect(all[2]).toEqual({
        id: 1,
        kind: 'credit',
        atMs: NOON_MS,
        amountNano: 900n,
        reference: 'inv-1',
        note: 'January',
        author: 'Ada',
        flags: [],
      })
      expect(await accounting.walletEntries('acme', { before: all[0]!.id, limit: 1 })).toEqual([all[1]])
      expect(await accounting.walletEntries('acme', { kinds: ['credit', 'debit'] })).toEqual([all[0], all[2]])
      expect(await accounting.wallets()).toEqual([
        { tenant: 'acme', balanceNano: 400n, heldNano: 900n },
        { tenant: 'beta', balanceNano: -400n, heldNano: 0n },
      ])
    })
  })

  describe('a credit', () => {
    test('happens once for each reference of a tenant', async () => {
      const { accounting } = await setUp()
      const payment = { tenant: 'acme', amountNano: 500n, reference: 'inv-1' }
      const first = await accounting.credit(payment)
      expect(first).toMatchObject({ isNew: true, balanceNano: 500n })
      expect(await accounting.credit({ ...payment, note: 'again' })).toEqual({ ...first, isNew: false })
      expect(await accounting.credit({ ...payment, tenant: 'beta' })).toMatchObject({ isNew: true })
      await expect(accounting.credit({ ...payment, amountNano: 501n })).rejects.toMatchObject({
        code: 'reference_taken',
      })
      await expect(accounting.debit(payment)).rejects.toMatchObject({ code: 'reference_taken' })
      expect(await accounting.wallet('acme')).toMatchObject({ balanceNano: 500n })
    })

    test('needs a tenant and an amount', async () => {
      const { accounting } = await setUp()
      const none = accounting.credit({ tenant: 'absent', amountNano: 1n, reference: 'r' })
      await expect(none).rejects.toMatchObject({ code: 'not_found' })
      const nothing = accounting.credit({ tenant: 'acme', amountNano: 0n, reference: 'r' })
      await expect(nothing).rejects.toThrow(RangeError)
    })
  })

  describe('a debit', () => {
    test('of a prepaid tenant leaves what open calls hold, or is not booked', async () => {
      const { accounting, write, prepaid } = await setUp()
      await prepaid('acme')
      await accounting.credit({ tenant: 'acme', amountNano: 1_000n, reference: 'in' })
      await write(['hold', hold('a', { amountNano: 900n })])
      const debit = (amountNano: bigint) =>
        accounting.debit({ tenant: 'acme', amountNano, reference: `out ${amountNano}` })
      await expect(debit(101n)).rejects.toMatchObject({
        code: 'balance_too_low',
        message: expect.stringContaining('balance 0.000001, held 0.0000009'),
      })
      expect(await debit(100n)).toMatchObject({ isNew: true, balanceNano: 900n })
    })

    test('of a postpaid tenant may leave a debt', async () => {
      const { accounting } = await setUp()
      const debit = { tenant: 'acme', amountNano: 100n, reference: 'out' }
      expect(await accounting.debit(debit)).toMatchObject({ balanceNano: -100n })
    })
  })

  test.each([
    { by: 'key' },
    { by: 'model' },
    { by: 'tenant' },
    { by: 'endpoint' },
    { by: 'day' },
    { by: 'day', split: 'model' },
    { by: 'key', split: 'tenant' },
    { by: 'key', split: 'model' },
    { by: 'model', split: 'endpoint' },
    { by: 'model', tenant: 't1' },
    { by: 'key', tenant: 't1' },
    { by: 'key', publication: 'm2' },
    { by: 'endpoint', key: 'key-1' },
  ] as const)(
    'usage %j adds up the same rows, whatever its span is and whichever sums it reads',
    async query => {
      const { execute, accounting } = await setUp()
      await execute(`
      insert into key_totals select 'key-' || i, 0, 0, 0 from (select 0 as i union select 1 union select 2) n;
      with recursive n (i) as (select 0 union all select i + 1 from n where i < 399)
      insert into usage_quarters (key_name, quarter, tenant, publication, endpoint, requests, input_tokens, cached_input_tokens,
        cache_write_tokens, output_tokens, search_units, duration_ms, characters, images, amount_units, amount_nano, estimated, unpriced)
      select 'key-' || (i % 3), 1000 + i, 't' || (i % 2), 'm' || (i % 5), 'e', 1, i, i % 7, i / 380, 1, i / 300, i % 11, i / 390, 0,
        i % 2, i, i % 2, i / 399 from n;
      insert into usage_days
      select key_name, quarter / 96, tenant, publication, endpoint, sum(requests), sum(input_tokens), sum(cached_input_tokens),
        sum(cache_write_tokens), sum(output_tokens), sum(search_units), sum(duration_ms), sum(characters), sum(images),
        sum(amount_units), sum(amount_nano), sum(estimated), sum(unpriced)
      from usage_quarters group by 1, 2, 3, 4, 5;
      ${sumsWithout('usage_key_days', 'key_name, day, tenant')};
      ${sumsWithout('usage_model_days', 'day, tenant, publication, endpoint')}`)
      const usage = (from: number, to: number) =>
        accounting.usage({ ...query, sinceMs: from * QUARTER_MS, untilMs: to * QUARTER_MS })
      // So short a span is added up from its quarters.
      const parts = new Map<number, readonly UsageRow[]>()
      for (let at = 1_000; at < 1_400; at += 20) parts.set(at, await usage(at, at + 20))
      const spans = [
        [1_000, 1_400],
        [0, 9_999],
        [1_060, 1_340],
        [1_100, 1_320],
        [1_120, 1_300],
        [1_020, 1_380],
        [1_300, 1_400],
      ] as const
      for (const [from, to] of spans) {
        const whole = await usage(from, to)
        const within = [...parts].flatMap(([at, rows]) => (at >= from && at < to ? rows : []))
        expect(byName(whole), `${from} to ${to}`).toEqual(byName(within))
        expect(whole.every(({ requests }) => requests > 0)).toBe(true)
      }
      const total = (await usage(0, 9_999)).reduce(plusUsage, { ...NO_SUMS, label: 'total' })
      if (Object.keys(query).every(name => name === 'by' || name === 'split'))
        expect(total).toMatchObject({
          requests: 400,
          inputTokens: 79_800,
          cacheWriteTokens: 20,
          searchUnits: 100,
          characters: 10,
          images: 0,
          amountNano: 200_000_079_800n,
          unpriced: 1,
        })
    },
  )

  describe('usage', () => {
    const ALL: Omit<UsageQuery, 'by'> = { sinceMs: 0, untilMs: NOON_MS * 2 }

    test('is added up by two dimensions: a row for each pair, the dearest first, and of days in order', async () => {
      const { accounting, spend } = await setUp()
      await spend({ key: 'app', publication: 'a' })
      await spend({ key: 'app', publication: 'a' })
      await spend({ key: 'app', publication: 'b', amountNano: 500n })
      await spend({ key: 'admin', publication: 'a', tenant: undefined as never, amountNano: 0n })
      const pairs = async (by: UsageQuery['by'], split: NonNullable<UsageQuery['split']>) =>
        (await accounting.usage({ ...ALL, by, split })).map(row => [row.label, row.split, row.requests])
      expect(await pairs('key', 'model')).toEqual([
        ['app', 'a', 2],
        ['app', 'b', 1],
        ['admin', 'a', 1],
      ])
      expect(await pairs('model', 'tenant')).toEqual([
        ['a', 'acme', 2],
        ['b', 'acme', 1],
        ['a', '', 1],
      ])
      expect((await pairs('day', 'key')).map(([, name, requests]) => [name, requests])).toEqual([
        ['admin', 1],
        ['app', 3],
      ])
    })

    test('is added up by key, tenant, model and endpoint, the dearest first', async () => {
      const { accounting, spend } = await setUp()
      await spend({ key: 'app', publication: 'a', flags: ['estimated'] })
      await spend({ key: 'app', publication: 'b', endpoint: 'west', amountNano: BEYOND_DOUBLES })
      await spend({
        key: 'admin',
        publication: 'a',
        tenant: undefined as never,
        amountNano: 0n,
        flags: ['unpriced'],
      })
      const by = async (what: UsageQuery['by'], more: Partial<UsageQuery> = {}) =>
        (await accounting.usage({ ...ALL, by: what, ...more })).map(row => [
          row.label,
          row.requests,
          row.amountNano,
        ])
      expect(await by('key')).toEqual([
        ['app', 2, BEYOND_DOUBLES + 400n],
        ['admin', 1, 0n],
      ])
      expect(await by('tenant')).toEqual([
        ['acme', 2, BEYOND_DOUBLES + 400n],
        ['', 1, 0n],
      ])
      expect(await by('model')).toEqual([
        ['b', 1, BEYOND_DOUBLES],
        ['a', 2, 400n],
      ])
      expect(await by('endpoint', { key: 'app', publication: 'b' })).toEqual([['west', 1, BEYOND_DOUBLES]])
      expect(await accounting.usage({ ...ALL, by: 'model', publication: 'a' })).toEqual([
        {
          label: 'a',
          requests: 2,
          inputTokens: 200,
          cachedInputTokens: 40,
          cacheWriteTokens: 10,
          outputTokens: 600,
          searchUnits: 0,
          durationMs: 0,
          characters: 0,
          images: 0,
          amountNano: 400n,
          estimated: 1,
          unpriced: 1,
        },
      ])
    })

    test('counts the quarters that the span touches', async () => {
      const { accounting, spend } = await setUp()
      for (const quarter of [0, 1, 2]) await spend({ endedAtMs: NOON_MS + quarter * QUARTER_MS })
      const requests = async (sinceMs: number, untilMs: number) =>
        (await accounting.usage({ by: 'key', sinceMs, untilMs }))[0]?.requests
      expect(await requests(NOON_MS, NOON_MS)).toBeUndefined()
      expect(await requests(NOON_MS, NOON_MS + QUARTER_MS)).toBe(1)
      expect(await requests(NOON_MS + QUARTER_MS - 1, NOON_MS + QUARTER_MS + 1)).toBe(3 - 1)
      expect(await requests(NOON_MS + QUARTER_MS, NOON_MS + 9 * QUARTER_MS)).toBe(2)
    })

    test.each([
      // Clocks go forward in the night of the 29th: that day has 23 hours.
      ['Europe/Berlin', ['2026-03-28', 92], ['2026-03-29', 92], ['2026-03-30', 8]],
      ['Asia/Kolkata', ['2026-03-28', 74], ['2026-03-29', 96], ['2026-03-30', 22]],
      ['UTC', ['2026-03-28', 96], ['2026-03-29', 96]],
    ])('by day follows the days of %s', async (timezone, ...days) => {
      const { accounting, spend } = await setUp()
      const start = Date.UTC(2026, 2, 28)
      for (let quarter = 0; quarter < 192; quarter++) await spend({ endedAtMs: start + quarter * QUARTER_MS })
      const rows = await accounting.usage({
        by: 'day',
        sinceMs: start,
        untilMs: start + 192 * QUARTER_MS,
        timezone,
      })
      expect(rows.map(({ label, requests }) => [label, requests])).toEqual(days)
    })
  })

  describe('call logs', () => {
    test('come back as they were written', async () => {
      const { accounting, write } = await setUp()
      const bare = call('b', { status: 502, outcome: 'failed', errorCode: 'upstream_error', stream: false })
      for (const field of ['tenant', 'endpoint', 'usage', 'firstByteMs'] as const)
        delete (bare as never)[field]
      await write(
        ['log', call('a', { flags: ['partial', 'estimated'], amountNano: BEYOND_DOUBLES })],
        ['log', bare],
      )
      expect(await accounting.callLogs()).toEqual([
        { id: 2, ...bare },
        { id: 1, ...call('a', { flags: ['partial', 'estimated'], amountNano: BEYOND_DOUBLES }) },
      ])
    })

    test('are filtered, paged from the newest, and followed from an id', async () => {
      const { accounting, write } = await setUp()
      const key = (i: number) => (i % 2 ? 'odd' : 'even')
      for (let i = 1; i <= 10; i++)
        await write(['log', call(`r${i}`, { key: key(i), status: 199 + i, atMs: NOON_MS + i })])
      const ids = async (query: Parameters<typeof accounting.callLogs>[0]) =>
        (await accounting.callLogs(query)).map(({ id }) => id)
      expect(await ids({ limit: 3 })).toEqual([10, 9, 8])
      expect(await ids({ limit: 3, before: 8 })).toEqual([7, 6, 5])
      expect(await ids({ after: 8 })).toEqual([9, 10])
      expect(await ids({ after: 10 })).toEqual([])
      expect(await ids({ key: 'odd', minStatus: 206 })).toEqual([9, 7])
      expect(await ids({ requestId: 'r4' })).toEqual([4])
      expect(await ids({ sinceMs: NOON_MS + 4, untilMs: NOON_MS + 6 })).toEqual([5, 4])
      expect(await ids({ tenant: 'absent' })).toEqual([])
      expect(await ids({ outcome: 'answered', publication: 'gpt', endpoint: 'east', limit: 1 })).toEqual([10])
    })
  })
})

test('a credit of several processes with one reference at once is booked once', async () => {
  const folder = tempDir(onTestFinished).path
  const open = async () => {
    const store = await openStore('sqlite:gw.db', { mode: 'create', clock: systemClock, folder })
    onTestFinished(() => store.close())
    return store
  }
  const stores = await Promise.all([1, 2, 3, 4].map(open))
  await put(stores[0]!, tenant('acme'))
  const payment = { tenant: 'acme', amountNano: 5n, reference: 'r' }
  const results = await Promise.all(stores.map(store => store.accounting.credit(payment)))
  expect(results.filter(({ isNew }) => isNew)).toHaveLength(1)
  expect(await stores[0]!.accounting.wallet('acme')).toMatchObject({ balanceNano: 5n })
  // None of this is for a gateway to reload.
  await stores[1]!.readState()
  await stores[0]!.accounting.credit({ ...payment, reference: 's' })
  expect(stores[1]!.changed()).toBe(false)
})
