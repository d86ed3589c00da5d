import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Content } from '../../src/limits/content.ts'
import { estimate } from '../../src/limits/estimate.ts'
import { cost } from '../../src/schema/cost.ts'
import { type Price, usageOf } from '../../src/schema/ledger.ts'

const PRICE: Price = {
  inputNanoPerMtok: 3_000_000n,
  outputNanoPerMtok: 15_000_000n,
  cachedInputNanoPerMtok: 300_000n,
  cacheWriteNanoPerMtok: 3_750_000n,
  requestNano: 1_000n,
  searchUnitNano: 2_000n,
  secondNano: 0n,
  characterNano: 0n,
  imageNano: 0n,
}
const UNPRICED = { price: undefined, maxOutputTokens: undefined }
const text = { produces: 'text', content: weighing(300) } as const

function weighing(textBytes: number, media = { bound: 0, likely: 0 }): Content {
  return { textBytes, media }
}

describe('the size of a hold', () => {
  test('takes a third of the body for input, rounded up', () => {
    expect(estimate({ ...text, content: weighing(301) }, UNPRICED).inputTokens).toBe(101)
  })

  test('adds what the media of the body can come to', () => {
    const content = weighing(300, { bound: 5_000, likely: 1_000 })
    expect(estimate({ ...text, content }, UNPRICED)).toMatchObject({
      inputTokens: 5_100,
      likelyInputTokens: 1_075,
    })
  })

  test('caps input at two million tokens: no model reads more', () => {
    expect(estimate({ ...text, content: weighing(30_000_000) }, UNPRICED).inputTokens).toBe(2_000_000)
    const media = { bound: Number.MAX_SAFE_INTEGER, likely: 0 }
    expect(estimate({ ...text, content: weighing(300, media) }, UNPRICED).inputTokens).toBe(2_000_000)
  })

  test('caps input at the context window of the publication: no vendor bills more than its model reads', () => {
    const windowed = { ...UNPRICED, maxInputTokens: 128_000 }
    const content = weighing(300, { bound: 1_048_576, likely: 200_000 })
    expect(estimate({ ...text, content }, windowed)).toMatchObject({
      inputTokens: 128_000,
      likelyInputTokens: 128_000,
    })
    expect(estimate(text, windowed).inputTokens).toBe(100)
  })

  test('takes the client’s limit, else the publication’s, else 4,096', () => {
    const limited = { price: undefined, maxOutputTokens: 777 }
    expect(estimate({ ...text, outputLimit: 30 }, limited).outputTokens).toBe(30)
    expect(estimate(text, limited).outputTokens).toBe(777)
    expect(estimate(text, UNPRICED).outputTokens).toBe(4_096)
  })

  test('takes a max field of 0 for none: some servers read it as "unlimited"', () => {
    expect(estimate({ ...text, outputLimit: 0 }, UNPRICED).outputTokens).toBe(4_096)
  })

  test('counts every answer to every prompt', () => {
    expect(estimate({ ...text, outputLimit: 100, answers: 5 }, UNPRICED).outputTokens).toBe(500)
    const content = { ...text.content, prompts: 3 }
    expect(estimate({ ...text, content, outputLimit: 100, answers: 2 }, UNPRICED).outputTokens).toBe(600)
  })

  test('stays an exact integer for a client that asks for everything', () => {
    const most = { ...text, outputLimit: Number.MAX_SAFE_INTEGER, answers: Number.MAX_SAFE_INTEGER }
    expect(estimate(most, UNPRICED).outputTokens).toBe(1_000_000_000)
  })

  test('holds no output for embeddings and rerank', () => {
    expect(
      estimate({ produces: 'embeddings', content: weighing(300), outputLimit: 9 }, UNPRICED).outputTokens,
    ).toBe(0)
    expect(estimate({ produces: 'ranking', content: weighing(300) }, UNPRICED).outputTokens).toBe(0)
  })

  test('bounds search units by one for each hundred documents of a token', () => {
    const { amountNano } = estimate(
      { produces: 'ranking', content: weighing(30_003) },
      {
        price: { ...PRICE, inputNanoPerMtok: 0n, cachedInputNanoPerMtok: 0n, cacheWriteNanoPerMtok: 0n },
        maxOutputTokens: undefined,
      },
    )
    expect(amountNano).toBe(1_000n + 101n * 2_000n)
  })

  test('prices input at its dearest class, and apart from it what the input probably costs', () => {
    const { amountNano, likelyInputTokens, likelyInputNano } = estimate(
      { ...text, outputLimit: 10 },
      { price: PRICE, maxOutputTokens: undefined },
    )
    expect(amountNano).toBe(375n + 150n + 1_000n)
    expect(likelyInputTokens).toBe(75)
    expect(likelyInputNano).toBe(225n + 1_000n)
  })

  test.each([
    ['fresh', 'inputNanoPerMtok'],
    ['cached', 'cachedInputNanoPerMtok'],
    ['cache-write', 'cacheWriteNanoPerMtok'],
  ])('takes the price of %s input where that is the dearest', (_, dearest) => {
    const price = { ...PRICE, requestNano: 0n, [dearest]: 9_000_000n }
    const { amountNano } = estimate(
      { ...text, produces: 'embeddings' },
      { price, maxOutputTokens: undefined },
    )
    expect(amountNano).toBe(900n)
  })

  test('is free without a price', () => {
    expect(estimate(text, UNPRICED)).toMatchObject({ amountNano: 0n, likelyInputNano: 0n })
  })

  test('covers whatever usage stays within the estimated tokens, in any mix of classes', () => {
    const nano = fc.bigInt({ min: 0n, max: 10n ** 10n })
    const prices = fc.record({
      inputNanoPerMtok: nano,
      outputNanoPerMtok: nano,
      cachedInputNanoPerMtok: nano,
      cacheWriteNanoPerMtok: nano,
      requestNano: nano,
      searchUnitNano: nano,
      secondNano: fc.constant(0n),
      characterNano: fc.constant(0n),
      imageNano: fc.constant(0n),
    })
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(
        prices,
        fc.nat(100_000),
        fc.nat(10_000),
        share,
        share,
        share,
        (price, bytes, max, a, b, c) => {
          const held = estimate(
            { ...text, content: weighing(bytes), outputLimit: max },
            { price, maxOutputTokens: 1 },
          )
          const inputTokens = Math.floor(held.inputTokens * a)
          const cachedInputTokens = Math.floor(inputTokens * b)
          const cacheWriteTokens = Math.floor((inputTokens - cachedInputTokens) * c)
          const outputTokens = Math.floor(held.outputTokens * c)
          const usage = usageOf({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens })
          expect(cost(price, usage) <= held.amountNano).toBe(true)
          // What is billed without reported usage, and what a crash leaves: never more than was held.
          expect(held.likelyInputTokens).toBeLessThanOrEqual(held.inputTokens)
          expect(held.likelyInputNano <= held.amountNano).toBe(true)
        },
      ),
      { numRuns: 500 },
    )
  })
})
