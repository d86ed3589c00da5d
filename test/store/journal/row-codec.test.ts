import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CallRecord,
  type Claim,
  type Flag,
  type Hold,
  type HoldEnd,
  type Usage,
  usageOf,
} from '../../../src/schema/ledger.ts'
import { ByteReader, ByteWriter, TextCache } from '../../../src/store/journal/bytes.ts'
import { decodeRow, encodeRow } from '../../../src/store/journal/row-codec.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import { call, hold } from '../ledger/rows.ts'

const count = fc.oneof(fc.nat(300), fc.maxSafeNat())
const units = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 1_000_000_000_000 }))
const amount = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
const name = fc.oneof(
  fc.string({ minLength: 1, maxLength: 80 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
)
const absent = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const flags = fc.array(
  fc.constantFrom<Flag>('estimated', 'client_gone', 'partial', 'interrupted', 'unpriced', 'swept'),
  { maxLength: 6 },
)

const claim: fc.Arbitrary<Claim> = fc.record({
  requestId: name,
  attempt: fc.integer({ min: 1, max: 300 }),
  key: name,
  tenant: absent(name),
  publication: name,
  endpoint: name,
})
const usage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: units,
  cachedInputTokens: units,
  cacheWriteTokens: units,
  outputTokens: units,
  searchUnits: fc.oneof(fc.constant(0), units),
  durationMs: fc.oneof(fc.constant(0), units),
  characters: fc.oneof(fc.constant(0), units),
  images: fc.oneof(fc.constant(0), units),
})
const holds: fc.Arbitrary<Hold> = fc
  .tuple(
    claim,
    fc.record({
      openedAtMs: count,
      deadlineMs: count,
      amountNano: amount,
      tokens: count,
      inputTokens: count,
      inputAmountNano: amount,
      prepaid: fc.boolean(),
      call: absent(fc.record({ path: name, stream: fc.boolean() })),
      price: absent(name),
      inputUnits: absent(fc.record({ durationMs: count, characters: count, images: count })),
    }),
  )
  .map(([of, rest]) => ({ ...of, ...rest }))
const stored = fc.record({
  ids: fc.array(name, { maxLength: 5 }),
  tokens: count,
  outputTokens: count,
  expiresAtMs: count,
})
const ends: fc.Arbitrary<HoldEnd> = fc.oneof(
  fc
    .tuple(claim, fc.record({ endedAtMs: count, reason: name }))
    .map(([of, rest]): HoldEnd => ({ kind: 'release', ...of, ...rest })),
  fc
    .tuple(claim, fc.record({ endedAtMs: count, amountNano: amount, usage, flags, stored: absent(stored) }))
    .map(([of, rest]): HoldEnd => ({ kind: 'settle', ...of, ...rest })),
)
const calls: fc.Arbitrary<CallRecord> = fc.record({
  requestId: name,
  atMs: count,
  key: name,
  tenant: absent(name),
  publication: name,
  endpoint: absent(name),
  node: absent(name),
  protocol: fc.constantFrom<CallRecord['protocol']>('openai', 'anthropic'),
  path: name,
  status: fc.nat(600),
  stream: fc.boolean(),
  outcome: name,
  errorCode: absent(name),
  usage: absent(usage),
  amountNano: amount,
  flags,
  latencyMs: count,
  firstByteMs: absent(count),
  attempts: fc.nat(10),
  reason: absent(name),
  failedAttempts: absent(fc.array(name, { maxLength: 3 })),
})
const rows: fc.Arbitrary<Row> = fc.oneof(
  holds.map((of): Row => ['hold', of]),
  ends.map((of): Row => ['end', of]),
  calls.map((of): Row => ['log', of]),
)

function encoded(all: readonly Row[]): Buffer {
  const to = new ByteWriter(16)
  for (const row of all) encodeRow(to, row)
  return Buffer.from(to.bytes)
}

describe('a row of the journal', () => {
  it('is read as it was written, one after the other', () => {
    fc.assert(
      fc.property(fc.array(rows, { minLength: 1, maxLength: 5 }), all => {
        const bytes = encoded(all)
        const from = new ByteReader(bytes, 0, bytes.length, new TextCache())
        for (const row of all) expect(decodeRow(from)).toEqual(row)
        expect(from.done).toBe(true)
      }),
    )
  })

  it('is not read from bytes that end too early', () => {
    fc.assert(
      fc.property(rows, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (row, part) => {
        const bytes = encoded([row])
        const end = Math.floor(bytes.length * part)
        expect(() => decodeRow(new ByteReader(bytes, 0, end, new TextCache()))).toThrow(RangeError)
      }),
    )
  })

  it.each<[string, Row]>([
    ['a negative count', ['hold', hold('a', { tokens: -1 })]],
    ['a fraction', ['hold', hold('a', { tokens: 1.5 })]],
    ['a count that is no number', ['hold', hold('a', { deadlineMs: Number.NaN })]],
    ['a count of more than 53 bits', ['log', call('a', { atMs: 2 ** 60 })]],
    ['more tokens than any answer has', ['log', call('a', { usage: usageOf({ inputTokens: 1e12 + 1 }) })]],
    ['a negative amount', ['hold', hold('a', { amountNano: -1n })]],
    ['an amount of more than 64 bits', ['hold', hold('a', { amountNano: 2n ** 63n })]],
  ])('is rejected with %s', (_, row) => {
    expect(() => encoded([row])).toThrow(RangeError)
  })

  it('takes some 150 bytes for a hold and 150 for its settlement', () => {
    const of = hold('req_0123456789abcdefghij', { price: 'USD 1/M in, 2/M out' })
    expect(encoded([['hold', of]]).length).toBeLessThan(150)
  })
})
