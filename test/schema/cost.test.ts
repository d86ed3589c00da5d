import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cost } from '../../src/schema/cost.ts'
import { type Price, usageOf } from '../../src/schema/ledger.ts'

const FREE: Price = {
  inputNanoPerMtok: 0n,
  outputNanoPerMtok: 0n,
  cachedInputNanoPerMtok: 0n,
  cacheWriteNanoPerMtok: 0n,
  requestNano: 0n,
  searchUnitNano: 0n,
  secondNano: 0n,
  characterNano: 0n,
  imageNano: 0n,
}
const NOTHING = usageOf({})

describe('cost', () => {
  test('prices cached and cache-write tokens once, at their own price, and only the rest as input', () => {
    const price: Price = {
      ...FREE,
      inputNanoPerMtok: 3_000_000n,
      cachedInputNanoPerMtok: 300_000n,
      cacheWriteNanoPerMtok: 3_750_000n,
      outputNanoPerMtok: 15_000_000n,
    }
    const usage = {
      ...NOTHING,
      inputTokens: 100,
      cachedInputTokens: 60,
      cacheWriteTokens: 30,
      outputTokens: 10,
    }
    // 10 × 3 + 60 × 0.3 + 30 × 3.75 + 10 × 15 = 310.5
    expect(cost(price, usage)).toBe(311n)
  })

  test('rounds up once over the whole sum, not once for each class', () => {
    const price = { ...FREE, inputNanoPerMtok: 1n, outputNanoPerMtok: 1n }
    expect(cost(price, { ...NOTHING, inputTokens: 1, outputTokens: 1 })).toBe(1n)
  })

  test('adds the request and the search units, whatever the tokens are', () => {
    const price = { ...FREE, requestNano: 5n, searchUnitNano: 7n }
    expect(cost(price, NOTHING)).toBe(5n)
    expect(cost(price, { ...NOTHING, searchUnits: 3 })).toBe(26n)
  })

  test('charges seconds for exact milliseconds, and each character and image', () => {
    const price = { ...FREE, secondNano: 100_000n, characterNano: 15_000n, imageNano: 40_000_000n }
    expect(cost(price, usageOf({ durationMs: 12_345 }))).toBe(1_234_500n)
    expect(cost(price, usageOf({ characters: 3 }))).toBe(45_000n)
    expect(cost(price, usageOf({ images: 2 }))).toBe(80_000_000n)
    expect(cost(price, usageOf({ durationMs: 1, characters: 1, images: 1 }))).toBe(40_015_100n)
  })

  test('is at most what a ledger entry can hold, however large price and usage are', () => {
    const price = { ...FREE, requestNano: 10n ** 21n, searchUnitNano: 10n ** 21n }
    expect(cost(price, usageOf({ searchUnits: 1_000_000 }))).toBe(2n ** 63n - 1n)
  })

  test('rounds seconds up together with tokens, once', () => {
    const price = { ...FREE, inputNanoPerMtok: 500_000n, secondNano: 1n }
    expect(cost(price, usageOf({ durationMs: 1 }))).toBe(1n)
    expect(cost(price, usageOf({ inputTokens: 1, durationMs: 500 }))).toBe(1n)
    expect(cost(price, usageOf({ inputTokens: 1, durationMs: 501 }))).toBe(2n)
    expect(cost(price, usageOf({ durationMs: 1_000_000_000_000 }))).toBe(1_000_000_000n)
  })

  test('is exact beyond what a double holds', () => {
    const price = { ...FREE, inputNanoPerMtok: 8n * 10n ** 18n }
    expect(cost(price, { ...NOTHING, inputTokens: 1_000_003 })).toBe(8n * 1_000_003n * 10n ** 12n)
  })

  test('cuts parts that claim more than the whole, so that no token is priced twice', () => {
    const price = {
      ...FREE,
      inputNanoPerMtok: 10n ** 9n,
      cachedInputNanoPerMtok: 10n ** 6n,
      cacheWriteNanoPerMtok: 1n,
    }
    const usage = { ...NOTHING, inputTokens: 10, cachedInputTokens: 8, cacheWriteTokens: 8 }
    expect(cost(price, usage)).toBe(cost(price, { ...usage, cacheWriteTokens: 2 }))
  })

  test('never charges less for more, nor anything for nothing', () => {
    const nano = fc.bigInt({ min: 0n, max: 10n ** 12n })
    const prices = fc.record({
      inputNanoPerMtok: nano,
      outputNanoPerMtok: nano,
      cachedInputNanoPerMtok: nano,
      cacheWriteNanoPerMtok: nano,
      requestNano: fc.constant(0n),
      searchUnitNano: nano,
      secondNano: nano,
      characterNano: nano,
      imageNano: nano,
    })
    const tokens = fc.nat(1_000_000)
    fc.assert(
      fc.property(prices, tokens, tokens, tokens, (price, inputTokens, outputTokens, more) => {
        const usage = { ...NOTHING, inputTokens, outputTokens }
        expect(cost(price, NOTHING)).toBe(0n)
        expect(cost(price, { ...usage, outputTokens: outputTokens + more }) >= cost(price, usage)).toBe(true)
      }),
    )
  })
})
