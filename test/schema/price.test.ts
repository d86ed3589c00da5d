import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, encode, KINDS } from '../../src/schema/kinds.ts'
import { effectivePrice, priceFromText, pricesOf, priceText } from '../../src/schema/price.ts'
import { priceAt } from '../../src/snapshot/price-at.ts'

const canonical = (price: unknown) =>
  encode('publication', KINDS.publication.parse({ price }))['price'] as unknown
const faults = (price: unknown) =>
  KINDS.publication.safeParse({ price }).error?.issues.map(({ path, message }) => [path.join('.'), message])

describe('a price with dates', () => {
  test('is one text however it is written: sorted, a day as its midnight in UTC, a price that is alone without a list', () => {
    expect(
      canonical([
        { from: '2026-12-01T01:00:00+01:00', input: '2.0' },
        { input: 1 },
        { from: '2027-01-01', input: 3 },
      ]),
    ).toEqual([
      { input: '1' },
      { from: '2026-12-01T00:00:00.000Z', input: '2' },
      { from: '2027-01-01T00:00:00.000Z', input: '3' },
    ])
    expect(canonical([{ input: 1 }])).toEqual({ input: '1' })
    expect(canonical([{ from: '2026-12-01', input: 1 }])).toEqual([
      { from: '2026-12-01T00:00:00.000Z', input: '1' },
    ])
  })

  test('comes back from its canonical text as it went', () => {
    const spec = KINDS.publication.parse({ price: [{ input: 1 }, { from: '2026-12-01', input: 2 }] })
    expect(decode('publication', encode('publication', spec))).toEqual(spec)
  })

  test('is rejected where two begin at once, where none is there, and where a day does not exist', () => {
    expect(faults([{ input: 1 }, { input: 2 }])).toEqual([
      ['price.1', 'only one price may be without `from`'],
    ])
    expect(faults([{ from: '2026-12-01' }, { from: '2026-12-01T00:00:00Z' }])).toEqual([
      ['price.1.from', 'another price also begins then'],
    ])
    expect(faults([])).toEqual([['price', 'at least one price']])
    expect(KINDS.publication.safeParse({ price: [{ from: '2026-02-30' }] }).success).toBe(false)
  })
})

const money = fc.bigInt({ min: 0n, max: 10n ** 12n })
const terms = fc.record(
  {
    input: money,
    output: money,
    cached_input: money,
    cache_write: money,
    per_request: money,
    per_search_unit: money,
    per_second: money,
    per_character: money,
    per_image: money,
  },
  { requiredKeys: [] },
)

test('the text that the ledger keeps of a price says what the price says', () => {
  fc.assert(
    fc.property(terms, written => {
      const price = effectivePrice(written)
      expect(priceFromText(priceText(price))).toEqual(price)
    }),
  )
})

test('in force is the price with the latest start that has come; before the first there is none', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      fc.integer({ min: -5, max: 60 }),
      (starts, always, nowMs) => {
        const written = starts.map(from => ({ from, input: BigInt(from) }))
        const spec = decode('publication', {
          price: [...(always ? [{}] : []), ...written].map(
            ({ from, input }: { from?: number; input?: bigint }) => ({
              ...(from !== undefined && { from: new Date(from).toISOString() }),
              ...(input !== undefined && { input: String(input) }),
            }),
          ),
        })
        const prices = pricesOf(spec.price).map(({ fromMs, terms }) => ({
          fromMs,
          price: effectivePrice(terms),
          text: '',
        }))
        const latest = starts.filter(from => from <= nowMs).sort((a, b) => b - a)[0]
        const expected = latest ?? (always ? Number.NEGATIVE_INFINITY : undefined)
        expect(priceAt({ prices }, nowMs)?.fromMs).toBe(expected)
      },
    ),
  )
})
