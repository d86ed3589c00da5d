import { describe, expect, test } from 'vitest'
import { Share } from '../../src/limits/shares/share.ts'
import { ShareExchange, ShareShort } from '../../src/limits/shares/share-exchange.ts'
import { ShareHolder } from '../../src/limits/shares/share-holder.ts'
import { BalanceShort } from '../../src/schema/ledger.ts'
import type { ScopeTerms, ShareAnswer } from '../../src/schema/shares.ts'
import { holding, keyEntry, Scene, tenantEntry } from './limits-scene.ts'

const SCOPE = { owner: 'key k', limit: 'rpm' }
const RATE: ScopeTerms = { kind: 'rate', bound: 60n, perMinute: 60n, revision: 1, sinceMs: 0 }
const BUDGET: ScopeTerms = { kind: 'sum', bound: 1_000n, perMinute: 0n, revision: 1, sinceMs: 0 }
const answer = (amount: bigint, more: Partial<ShareAnswer> = {}): ShareAnswer => ({
  amount,
  granted: amount,
  free: 0n,
  spent: 0n,
  leased: amount,
  waitMs: 0,
  ...more,
})

describe('a share', () => {
  test('asks for what its calls wait for, and for as much as they took before', () => {
    const share = new Share(SCOPE, BUDGET)
    share.need(30n)
    share.need(20n)
    expect(share.request()).toMatchObject({ least: 20n, most: 50n })
    share.answer(answer(100n), 0)
    share.take(30n)
    share.take(50n)
    share.need(40n)
    expect(share.request()).toMatchObject({ least: 20n, most: 120n })
  })

  test('asks early: when less is left than half of what was taken between two requests', () => {
    const share = new Share(SCOPE, RATE)
    share.need(1n)
    share.request()
    share.answer(answer(20n), 0)
    for (let count = 0; count < 10; count++) share.take(1n)
    expect(share.request()).toMatchObject({ used: 10n, least: 0n, most: 0n })
    share.answer(answer(10n, { granted: 0n }), 0)
    expect(share.isDue).toBe(false)
    for (let count = 0; count < 6; count++) share.take(1n)
    expect(share.request()).toMatchObject({ used: 6n, least: 0n, most: 10n })
  })

  test('asks nothing before the grantor can have more', () => {
    const share = new Share(SCOPE, RATE)
    share.need(2n)
    share.request()
    share.answer(answer(0n, { free: 1n, waitMs: 1_000 }), 5_000)
    expect([share.isExhausted(2n, 5_999), share.waitMs(5_400)]).toEqual([true, 600])
    expect(share.isExhausted(1n, 5_000)).toBe(false)
    expect([share.isExhausted(2n, 6_000), share.waitMs(6_000)]).toEqual([false, 0])
  })

  test('asks for nothing that came while the call waited', () => {
    const share = new Share(SCOPE, BUDGET)
    share.need(10n)
    share.request()
    share.need(20n)
    share.answer(answer(1_000n), 0)
    expect(share.request()).toMatchObject({ least: 0n, most: 0n })
    share.answer(answer(1_000n, { granted: 0n }), 0)
    expect([share.isExhausted(20n, 0), share.fits(20n)]).toEqual([false, true])
  })

  test('a request above the burst waits for a full bucket, and leaves a debt', () => {
    const share = new Share(SCOPE, RATE)
    expect(share.fits(500n)).toBe(false)
    share.need(500n)
    expect(share.request()).toMatchObject({ least: 60n })
    share.answer(answer(60n), 0)
    expect(share.fits(500n)).toBe(true)
    share.take(500n)
    share.end(500n, 100n)
    expect(share.request()).toMatchObject({ used: 60n, corrected: 40n })
  })

  test('keeps what is held if it is recalled', () => {
    const share = new Share(SCOPE, BUDGET)
    share.need(10n)
    share.request()
    share.answer(answer(100n), 0)
    share.take(30n)
    share.recall()
    expect(share.request()).toMatchObject({ returned: 70n, least: 0n, most: 0n })
    expect(share.available).toBe(0n)
  })
})

describe('a holder of shares', () => {
  test('counts its lease from before the message, and uses nine tenths of it', () => {
    const holder = new ShareHolder({ instance: 'i', leaseMs: 1_000 }, 0)
    expect([holder.isValid(899), holder.isValid(900)]).toEqual([true, false])
    const { number } = holder.message(5_000)
    holder.repeat()
    holder.reply(number, { is: 'granted', answers: [], recalled: [] }, 5_800)
    expect([holder.isValid(5_899), holder.isValid(5_900)]).toEqual([true, false])
  })

  test('without a lease it holds its shares until it is fenced; then it admits nothing more', () => {
    const holder = new ShareHolder({ instance: 'i', leaseMs: undefined }, 0)
    const share = holder.share(SCOPE, BUDGET)
    share.need(1n)
    holder.reply(holder.message(0).number, { is: 'granted', answers: [answer(9n)], recalled: [] }, 0)
    expect([share.available, holder.isValid(1e12)]).toEqual([9n, true])
    holder.reply(holder.message(0).number, { is: 'fenced' }, 0)
    expect([share.available, holder.isValid(1), holder.isFenced]).toEqual([0n, false, true])
  })
})

test('a balance that a debit lowered before shares were used: what the store rejects, no other call takes', () => {
  const { clock, limiter, ...scene } = prepaidScene(100n)
  const [covered, rejected] = [scene.admit(40n), scene.admit(40n)]
  const holder = new ShareHolder({ instance: 'i', leaseMs: undefined }, 0)
  const send = () => Promise.reject(new Error('no grantor'))
  const declared = limiter.share(
    new ShareExchange({ holder, clock, answerWithinMs: 2_000, isReachable: () => true, send }),
  )
  expect(declared).toMatchObject([{ scope: { owner: 'tenant acme', limit: 'balance' }, amount: 80n }])
  // Elsewhere 50 were debited: the first hold is covered, the second one is not.
  rejected.uncovered(new BalanceShort({ balanceNano: 50n, heldNano: 40n }))
  expect(() => scene.admit(1n)).toThrow(ShareShort)
  covered.release()
  expect([...holder.shares].map(({ available }) => available)).toEqual([40n])
  expect(holder.message(0).requests).toMatchObject([{ used: 40n, returned: 0n }])
})

function prepaidScene(balanceNano: bigint) {
  const scene = new Scene()
  const key = keyEntry('app', { tenant: tenantEntry('acme', { billing: 'prepaid' }) })
  scene.serve([key], { balances: [['acme', balanceNano]] })
  const { clock, limiter } = scene
  return { clock, limiter, admit: (amountNano: bigint) => scene.admit(key, holding(1, 0, amountNano)) }
}
