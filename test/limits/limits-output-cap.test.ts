import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { estimate } from '../../src/limits/estimate.ts'
import { cost } from '../../src/schema/cost.ts'
import type { Price } from '../../src/schema/ledger.ts'
import { keyEntry, MODEL, rejectionOf, Scene, tenantEntry, used } from './limits-scene.ts'

const PRICE: Price = {
  inputNanoPerMtok: 1_000_000_000n,
  outputNanoPerMtok: 10_000_000_007n,
  cachedInputNanoPerMtok: 500_000_000n,
  cacheWriteNanoPerMtok: 2_000_000_000n,
  requestNano: 17n,
  searchUnitNano: 0n,
  secondNano: 0n,
  characterNano: 0n,
  imageNano: 0n,
}

interface Asked {
  readonly bytes: number
  readonly n?: number | undefined
  readonly maxTokens?: number | undefined
  readonly isCapped?: boolean
  readonly price?: Price | undefined
}

const wanted = ({ bytes, n, maxTokens, isCapped = true, price = PRICE }: Asked) =>
  estimate(
    {
      content: { textBytes: bytes, media: { bound: 0, likely: 0 } },
      produces: 'text',
      answers: n,
      outputLimit: maxTokens,
      isCapped,
    },
    { price, maxOutputTokens: 16_384 },
  )

describe('with output_cap, a call without a limit of its own', () => {
  test('of a fresh key with a quota of 10,000 is admitted, bounded by what the quota leaves', () => {
    const scene = new Scene()
    const key = keyEntry('k', { quotaTokens: 10_000 })
    scene.serve([key])
    const plain = rejectionOf(() => scene.admit(key, wanted({ bytes: 75, isCapped: false })))
    expect(plain).toMatchObject({ code: 'quota_exceeded', message: expect.stringContaining('needed 16409') })
    const reservation = scene.admit(key, wanted({ bytes: 75 }))
    expect(reservation.capTokens).toBe(9_975)
    expect(reservation.hold.tokens).toBe(10_000)
    expect(scene.limiter.limitStatus(key).quota).toEqual({ limit: 10_000, spent: 0, held: 10_000 })
  })

  test('keeps the whole reservation where there is room for it', () => {
    const scene = new Scene()
    const key = keyEntry('k', { quotaTokens: 1_000_000 })
    scene.serve([key])
    expect(scene.admit(key, wanted({ bytes: 75 })).capTokens).toBe(16_384)
    expect(scene.admit(key, wanted({ bytes: 75, n: 3 })).capTokens).toBe(16_384)
  })

  test('is rejected where less than 256 tokens are left for each answer: such an answer is of no use', () => {
    const scene = new Scene()
    const key = keyEntry('k', { quotaTokens: 25 + 2 * 256 })
    scene.serve([key])
    expect(scene.try(key, wanted({ bytes: 78, n: 2 }))).toMatchObject({ code: 'quota_exceeded' })
    expect(scene.admit(key, wanted({ bytes: 75, n: 2 })).capTokens).toBe(256)
  })

  test('shares what is left among its answers', () => {
    const scene = new Scene()
    const key = keyEntry('k', { quotaTokens: 10_000 })
    scene.serve([key])
    const { capTokens, hold } = scene.admit(key, wanted({ bytes: 75, n: 4 }))
    expect(capTokens).toBe(2_493)
    expect(hold.tokens).toBe(25 + 4 * 2_493)
  })

  test('that has a limit of its own keeps it: what does not fit is rejected', () => {
    const scene = new Scene()
    const key = keyEntry('k', { quotaTokens: 10_000 })
    scene.serve([key])
    for (const maxTokens of [16_384, 0])
      expect(scene.try(key, wanted({ bytes: 75, maxTokens }))).toMatchObject({ code: 'quota_exceeded' })
    const { capTokens } = scene.admit(key, wanted({ bytes: 75, maxTokens: 500 }))
    expect(capTokens).toBe(undefined)
  })

  test('never passes a quota, a budget or a balance, however much its upstream writes within its bound', () => {
    const calls = fc.array(
      fc.record({
        bytes: fc.nat(3_000),
        n: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
        share: fc.constantFrom(0, 50, 100, 100),
        ends: fc.boolean(),
        isFree: fc.boolean(),
      }),
      { maxLength: 30 },
    )
    const limits = fc.record({
      quota: fc.integer({ min: 1, max: 80_000 }),
      budget: fc.integer({ min: 1, max: 500_000_000 }),
      balance: fc.integer({ min: 1, max: 500_000_000 }),
    })
    let shrunk = 0
    fc.assert(
      fc.property(limits, calls, ({ quota, budget, balance }, made) => {
        const scene = new Scene()
        const tenant = tenantEntry('t', { billing: 'prepaid' })
        const key = keyEntry('k', {
          quotaTokens: quota,
          budget: { amountNano: BigInt(budget), per: 'total', timezone: 'UTC' },
          tenant,
        })
        scene.serve([key], { balances: [['t', BigInt(balance)]] })
        const open: (() => void)[] = []
        const within = () => {
          const { quota: q, budget: b, balance: w } = scene.limiter.limitStatus(key)
          expect(q && q.spent + q.held <= q.limit).toBe(true)
          expect(b && b.spentNano + b.heldNano <= b.limitNano).toBe(true)
          expect(w && w.heldNano <= w.balanceNano).toBe(true)
        }
        for (const { bytes, n, share, ends, isFree } of made) {
          const price = isFree ? undefined : PRICE
          const asked = isFree
            ? { ...wanted({ bytes, n }), amountNano: 0n, cap: { answers: n ?? 1, price } }
            : wanted({ bytes, n, price })
          const got = scene.try(key, asked)
          if (got instanceof GwError) continue
          const { capTokens = 0, hold } = got
          if (capTokens < 16_384) shrunk++
          const outputTokens = Math.floor((capTokens * (n ?? 1) * share) / 100)
          const inputTokens = hold.tokens - capTokens * (n ?? 1)
          const usage = used(inputTokens, outputTokens)
          open.push(() => void got.settle(usage, price ? cost(price, usage) : 0n))
          if (ends) open.shift()?.()
          within()
        }
        for (const end of open) {
          end()
          within()
        }
      }),
      { numRuns: 500 },
    )
    expect(shrunk).toBeGreaterThan(100)
  })
})

test('a survey tells of a call what its admission would take', () => {
  const scene = new Scene()
  const key = keyEntry('k', { quotaTokens: 10_000 })
  scene.serve([key])
  const read = scene.limiter.inspect(key, {
    publication: MODEL,
    estimate: wanted({ bytes: 75 }),
  })
  expect(read.find(({ info }) => info.name === 'quota')).toMatchObject({ usage: { needed: 10_000 } })
  expect(read.every(({ rejection }) => rejection === undefined)).toBe(true)
})
