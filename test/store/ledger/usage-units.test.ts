import { expect, test } from 'vitest'
import { usageOf } from '../../../src/schema/ledger.ts'
import { execute } from '../../support/past-the-store.ts'
import { ON_POSTGRES } from '../../support/test-engine.ts'
import { openBoth } from './opened.ts'
import { call, hold, NOON_MS, settle } from './rows.ts'
import { verified } from './verified.ts'

const UNITS = { durationMs: 12_345, characters: 67, images: 8 }
const USAGE = usageOf(UNITS)
const PRICE = '{"per_second":"0.0001","per_character":"0.000015","per_image":"0.04"}'
/** 12.345 × 100,000 + 67 × 15,000 + 8 × 40,000,000. */
const AMOUNT_NANO = 322_239_500n
const ALL = { sinceMs: NOON_MS, untilMs: NOON_MS + 1_000 }

async function settled(amountNano = AMOUNT_NANO) {
  const opened = await openBoth()
  const { ledger } = opened
  await ledger.open(hold('a', { price: PRICE }))
  await ledger.end(settle('a', { usage: USAGE, amountNano }))
  await ledger.flush()
  return opened
}

test('audio, characters and images are in the sums of usage, by name and by day, and in the call log', async () => {
  const { ledger, store } = await settled()
  await ledger.open(hold('b', { price: PRICE }))
  await ledger.end(settle('b', { usage: USAGE, amountNano: AMOUNT_NANO, endedAtMs: NOON_MS + 900_000 }))
  ledger.log(call('a', { usage: USAGE }))
  await ledger.flush()
  const twice = { durationMs: 24_690, characters: 134, images: 16, inputTokens: 0 }
  const all = { ...ALL, untilMs: NOON_MS + 86_400_000 }
  for (const by of ['key', 'day'] as const) {
    expect(await store.accounting.usage({ by, ...all })).toMatchObject([{ requests: 2, ...twice }])
  }
  expect((await store.accounting.callLogs())[0]?.usage).toEqual(USAGE)
})

test('a charge of them is their price, exactly', async () => {
  const { store } = await settled()
  expect(await store.accounting.verify()).toEqual(verified({ entries: 1 }))
})

test('a charge that differs from their price is found', async () => {
  const { store } = await settled(AMOUNT_NANO - 1n)
  expect((await store.accounting.verify()).findings).toEqual([
    {
      table: 'ledger',
      row: 'id 1',
      problem: `was billed ${AMOUNT_NANO - 1n}, but its price and usage come to ${AMOUNT_NANO}`,
    },
  ])
})

test.each(['duration_ms', 'characters', 'images'])(
  'a sum of %s that the entries do not come to is found',
  async column => {
    const { url, store } = await settled()
    await execute(url, `update usage_quarters set ${column} = ${column} + 1`)
    expect((await store.accounting.verify()).findings).toEqual([
      {
        table: 'usage_quarters',
        row: ON_POSTGRES ? 'app, 1964976, acme, gpt, east' : 'app, gpt, east, quarter 2026-01-15T12:00Z',
        problem: expect.stringContaining(
          ON_POSTGRES
            ? 'counts differ from the entries'
            : 'come to 1 requests, 0/0/0/0 tokens, 0 search units, 12345 ms of audio, 67 characters, 8 images, 0 + 322239500',
        ),
      },
    ])
  },
)

// A gateway on PostgreSQL whose process lives is not dead: see `settles what a gateway left` in store/postgres/ledger.test.ts.
test.skipIf(ON_POSTGRES)(
  'a hold that a crash leaves is settled at the input that it was opened for, whatever its unit',
  async () => {
    const { ledger, open, store } = await openBoth()
    const inputAmountNano = AMOUNT_NANO
    const input = { price: PRICE, inputTokens: 0, inputAmountNano, inputUnits: UNITS }
    await ledger.open(hold('crashed', { ...input, call: { path: '/v1/chat/completions', stream: false } }))
    await ledger.close()
    const next = await open()
    await next.open(hold('swept', input))
    expect(await next.recover(NOON_MS)).toBe(1)
    expect(await next.sweep(NOON_MS + 120_000)).toBe(1)
    await next.flush()
    expect(await store.accounting.usage({ by: 'key', ...ALL })).toMatchObject([
      {
        requests: 2,
        estimated: 2,
        durationMs: 24_690,
        characters: 134,
        images: 16,
        amountNano: 2n * AMOUNT_NANO,
      },
    ])
    expect(await store.accounting.callLogs()).toMatchObject([{ requestId: 'crashed', usage: UNITS }])
    expect(await store.accounting.verify()).toEqual(verified({ entries: 2 }))
  },
)

test('a settlement of more than any answer can have is rejected, before it spoils a sum', async () => {
  const { ledger, said } = await openBoth()
  await ledger.open(hold('a'))
  const usage = usageOf({ characters: 1_000_000_000_001 })
  await expect(ledger.end(settle('a', { usage }))).rejects.toThrow('cannot be written')
  expect(said).toHaveLength(1)
})
