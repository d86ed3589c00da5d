import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import type { Reservation } from '../../src/limits/reservation.ts'
import type { Budget } from '../../src/snapshot/types.ts'
import { holding, keyEntry, Scene, snapshotOf, tenantEntry, used } from './limits-scene.ts'

const DAILY: Budget = { amountNano: 1_000n, per: 'day', timezone: 'UTC' }

describe('strict limits', () => {
  test('a quota of N calls lets exactly N of 500 at once through, in each of 50 rounds', async () => {
    const n = 137
    for (let round = 0; round < 50; round++) {
      const scene = new Scene()
      const key = keyEntry('k', { quotaTokens: n * 10 + (round % 10) })
      scene.serve([key])
      const reached: Reservation[] = []
      const call = async (index: number) => {
        await (index % 3 === 0 ? new Promise(resolve => setImmediate(resolve)) : Promise.resolve())
        const admitted = scene.try(key, holding(4, 6))
        if (admitted instanceof GwError) return
        reached.push(admitted)
        await new Promise(resolve => setImmediate(resolve))
        admitted.settle(used(4, 6), 0n)
        const { spent, held, limit } = scene.limiter.limitStatus(key).quota!
        expect(spent + held).toBeLessThanOrEqual(limit)
      }
      await Promise.all(Array.from({ length: 500 }, (_, index) => call(index)))
      expect(reached).toHaveLength(n)
      expect(scene.limiter.limitStatus(key).quota).toMatchObject({ spent: n * 10, held: 0 })
    }
  })

  test('what a hold took too much can be spent at once, and what a bill came to beyond it counts', () => {
    const scene = new Scene()
    const key = keyEntry('k', { quotaTokens: 100 })
    scene.serve([key])
    scene.admit(key, holding(100)).settle(used(10), 0n)
    scene.admit(key, holding(90)).settle(used(120), 0n)
    expect(scene.limiter.limitStatus(key).quota).toEqual({ limit: 100, spent: 130, held: 0 })
    expect(scene.outcome(key)).toBe('quota_exceeded')
  })

  test('a prepaid balance covers held calls of all keys of the tenant, and a credit counts as soon as it is reported', () => {
    const scene = new Scene()
    const tenant = tenantEntry('t', { billing: 'prepaid' })
    const [one, other] = [keyEntry('a', { tenant }), keyEntry('b', { tenant })]
    scene.serve([one, other], { balances: [['t', 100n]] })
    const reservation = scene.admit(one, holding(1, 0, 70n))
    expect(scene.outcome(other, holding(1, 0, 31n))).toBe('insufficient_balance')
    const question = scene.limiter.walletQuery(['t', 'foreign'])
    expect(question.tenants).toEqual(['t'])
    reservation.settle(used(1), 60n)
    question.answerBalances(new Map([['t', 150n]]))
    expect(scene.limiter.limitStatus(one).balance).toEqual({ balanceNano: 90n, heldNano: 0n })
    expect(scene.outcome(other, holding(1, 0, 90n))).toBe('admitted')
  })

  test('a debit from elsewhere below what is held rejects what comes next and leaves what is under way', () => {
    const scene = new Scene()
    const key = keyEntry('k', { tenant: tenantEntry('t', { billing: 'prepaid' }) })
    scene.serve([key], { balances: [['t', 100n]] })
    const reservation = scene.admit(key, holding(1, 0, 80n))
    scene.limiter.walletQuery(['t']).answerBalances(new Map([['t', 10n]]))
    expect(scene.outcome(key, holding(1, 0, 1n))).toBe('insufficient_balance')
    expect(scene.outcome(key, holding(1, 0, 0n))).toBe('admitted')
    reservation.settle(used(1), 5n)
    expect(scene.limiter.limitStatus(key).balance).toEqual({ balanceNano: 5n, heldNano: 0n })
  })

  test('a tenant that is postpaid needs no balance, and one that becomes prepaid is asked for', () => {
    const scene = new Scene()
    const postpaid = keyEntry('k', { tenant: tenantEntry('t') })
    const prepaid = keyEntry('k', { tenant: tenantEntry('t', { billing: 'prepaid' }) })
    scene.serve([postpaid])
    const reservation = scene.admit(postpaid, holding(1, 0, 80n))
    expect(scene.outcome(prepaid)).toBe('unavailable')
    scene.serve([prepaid], { balances: [['t', 100n]] })
    expect(scene.limiter.limitStatus(prepaid).balance).toEqual({ balanceNano: 100n, heldNano: 80n })
    reservation.settle(used(1), 80n)
    expect(scene.limiter.limitStatus(prepaid).balance).toEqual({ balanceNano: 20n, heldNano: 0n })
  })
})

describe('loading', () => {
  test.each([
    ['a quota', keyEntry('k', { quotaTokens: 1_000 })],
    ['a budget', keyEntry('k', { budget: DAILY })],
    ['a prepaid tenant', keyEntry('k', { tenant: tenantEntry('t', { billing: 'prepaid' }) })],
  ])('a key with %s is unavailable until the ledger has answered', (_, key) => {
    const scene = new Scene()
    const question = scene.limiter.balanceQuery(snapshotOf(key))
    expect(scene.try(key)).toMatchObject({ code: 'unavailable', retryAfterMs: 1_000 })
    expect(scene.limiter.openReservations).toBe(0)
    question.answerSums([{ key: 'k', totalTokens: 0, totalNano: 0n, windowNano: 0n }])
    question.answerBalances(new Map([['t', 5n]]))
    expect(scene.outcome(key)).toBe('admitted')
  })

  test('asks for each key once, since its window began, and for nothing that is known', () => {
    const scene = new Scene()
    const tenant = tenantEntry('t', { billing: 'prepaid' })
    const keys = [
      keyEntry('day', { budget: DAILY, quotaTokens: 5, tenant }),
      keyEntry('month', { budget: { ...DAILY, per: 'month', timezone: 'Asia/Kolkata' } }),
      keyEntry('quota', { quotaTokens: 5 }),
      keyEntry('free', { tenant: tenantEntry('postpaid') }),
    ]
    scene.clock.advance(60_000)
    const { queries, tenants } = scene.limiter.balanceQuery(snapshotOf(...keys))
    expect(queries).toEqual([
      { key: 'day', sinceMs: Date.UTC(2026, 0, 15) },
      { key: 'month', sinceMs: Date.UTC(2025, 11, 31, 18, 30) },
      { key: 'quota', sinceMs: Date.UTC(2026, 0, 15, 12) },
    ])
    expect(tenants).toEqual(['t'])
    scene.serve(keys)
    expect(scene.limiter.balanceQuery(snapshotOf(...keys))).toMatchObject({ queries: [], tenants: [] })
  })

  test('counts each bill once, whether it falls before, between or after question and answer', () => {
    const tenant = tenantEntry('t', { billing: 'prepaid' })
    const key = keyEntry('k', { quotaTokens: 1e6, budget: { ...DAILY, amountNano: 10n ** 9n }, tenant })
    const steps = fc.array(fc.constantFrom('bill', 'ask', 'answer', 'swapped'), { maxLength: 40 })
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 50 }), (acts, tokens) => {
        const scene = new Scene()
        // The ledger: what it says is true at the moment of the question, and heard at that of the answer.
        const ledger = { tokens: 500, nano: 900n, balance: 10n ** 8n }
        const unheard: (() => void)[] = []
        const ask = () => {
          const { answerSums } = scene.limiter.balanceQuery(snapshotOf(key))
          const { answerBalances } = scene.limiter.walletQuery(['t'])
          const sums = {
            key: 'k',
            totalTokens: ledger.tokens,
            totalNano: ledger.nano,
            windowNano: ledger.nano,
          }
          const balances = new Map([['t', ledger.balance]])
          unheard.push(() => {
            answerSums([sums])
            answerBalances(balances)
          })
        }
        const unlimited = keyEntry('k', { tenant: tenantEntry('t') })
        const hear = (answer: (() => void) | undefined) => {
          if (!answer) return
          answer()
          expect(scene.limiter.limitStatus(key)).toEqual({
            quota: { limit: 1e6, spent: ledger.tokens, held: 0 },
            budget: { limitNano: 10n ** 9n, spentNano: ledger.nano, heldNano: 0n },
            balance: { balanceNano: ledger.balance, heldNano: 0n },
          })
        }
        for (const act of acts) {
          if (act === 'bill') {
            scene.admit(unlimited, holding(tokens, 0, 3n)).settle(used(tokens), 2n)
            ledger.tokens += tokens
            ledger.nano += 2n
            ledger.balance -= 2n
          } else if (act === 'ask') ask()
          else hear(act === 'answer' ? unheard.shift() : unheard.pop())
        }
        ask()
        for (const answer of unheard) hear(answer)
      }),
      { numRuns: 1_000 },
    )
  })

  test('an answer that comes after midnight does not carry yesterday’s spending into today', () => {
    const scene = new Scene()
    const key = keyEntry('k', { budget: DAILY })
    const question = scene.limiter.balanceQuery(snapshotOf(key))
    scene.clock.advance(12 * 3_600_000)
    expect(scene.outcome(key, holding(1, 0, 10n))).toBe('admitted')
    question.answerSums([{ key: 'k', totalTokens: 0, totalNano: 999n, windowNano: 999n }])
    expect(scene.limiter.limitStatus(key).budget).toEqual({ limitNano: 1_000n, spentNano: 0n, heldNano: 10n })
  })

  test('what was loaded for a snapshot survives a sweep before it is served', () => {
    const scene = new Scene()
    const key = keyEntry('k', { quotaTokens: 10 })
    const question = scene.limiter.balanceQuery(snapshotOf(key))
    scene.sweep()
    question.answerSums([{ key: 'k', totalTokens: 3, totalNano: 0n, windowNano: 0n }])
    scene.sweep()
    scene.limiter.adopt(snapshotOf(key))
    scene.sweep()
    expect(scene.limiter.limitStatus(key).quota).toEqual({ limit: 10, spent: 3, held: 0 })
  })
})
