import { describe, expect, test } from 'vitest'
import type { ScopeTerms, ShareRequest } from '../../../src/schema/shares.ts'
import {
  drained,
  freeOf,
  granted,
  grantOf,
  newScope,
  type ScopeState,
  withTerms,
} from '../../../src/store/shares/rules.ts'

const DAY_MS = 86_400_000
const BUDGET: ScopeTerms = { kind: 'sum', bound: 1_000n, perMinute: 0n, revision: 1, sinceMs: 0 }
const RATE: ScopeTerms = { kind: 'rate', bound: 60n, perMinute: 60n, revision: 1, sinceMs: 0 }

const scope = (terms: ScopeTerms, more: Partial<ScopeState> = {}) => ({ ...newScope(terms, 0), ...more })
const request = (terms: ScopeTerms, more: Partial<ShareRequest> = {}): ShareRequest => ({
  scope: { owner: 'key k', limit: 'any' },
  terms,
  used: 0n,
  corrected: 0n,
  returned: 0n,
  least: 0n,
  most: 0n,
  ...more,
})
const of = (live: number, wanted = 0n) => ({ live, wanted })

describe('a grant', () => {
  test('is everything for an instance that is alone', () => {
    expect(grantOf(1_000n, { least: 1n, most: 2n }, of(1))).toBe(1_000n)
  })

  test('shrinks with what is left: half of an even part, and at the end one call at a time', () => {
    let free = 1_000n
    const grants: bigint[] = []
    while (free > 0n) {
      const grant = grantOf(free, { least: 1n, most: 10_000n }, of(4))
      grants.push(grant)
      free -= grant
    }
    expect(grants.slice(0, 4)).toEqual([125n, 109n, 95n, 83n])
    expect(grants.slice(-8)).toEqual([1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n])
  })

  test('is never more than what is needed soon', () => {
    expect(grantOf(1_000n, { least: 1n, most: 7n }, of(4))).toBe(7n)
  })

  test('is what a call needs at once, however large', () => {
    expect(grantOf(1_000n, { least: 990n, most: 990n }, of(4))).toBe(990n)
    expect(grantOf(1_000n, { least: 1_001n, most: 1_001n }, of(4))).toBe(0n)
  })
})

describe('a rate', () => {
  test('drains by the clock of the store, and not at all while that is set back', () => {
    const full = scope(RATE, { level: 60n * 60_000n, atMs: 10_000 })
    expect(freeOf(drained(full, 15_000), 0n)).toBe(5n)
    const back = drained(full, 2_000)
    expect(freeOf(back, 0n)).toBe(0n)
    expect(freeOf(drained(back, 3_000), 0n)).toBe(1n)
  })

  test('says how long a call must wait at least', () => {
    const full = scope(RATE, { level: 60n * 60_000n })
    const { answer } = granted(full, 0n, request(RATE, { least: 3n, most: 3n }), {
      spent: 0n,
      live: 2,
      nowMs: 0,
    })
    expect(answer).toMatchObject({ granted: 0n, free: 0n, waitMs: 3_000 })
  })

  test('keeps the time until it is empty if its limit changes, so that no reload grants a burst', () => {
    const half = scope(RATE, { level: 30n * 60_000n })
    const lower = withTerms(half, { ...RATE, bound: 6n, perMinute: 6n, revision: 2 }, 0)
    expect([lower.level, freeOf(lower, 0n)]).toEqual([3n * 60_000n, 3n])
    expect(withTerms(lower, { ...RATE, revision: 3 }, 0).level).toBe(half.level)
    expect(withTerms(lower, { ...RATE, revision: 1 }, 0)).toEqual(lower)
  })

  test('takes debt, which delays what comes later', () => {
    const before = scope(RATE, { leased: 10n })
    const { scope: after, answer } = granted(before, 10n, request(RATE, { used: 10n, corrected: 80n }), {
      spent: 0n,
      live: 2,
      nowMs: 0,
    })
    expect([after.level, after.leased, answer.free]).toEqual([90n * 60_000n, 0n, -30n])
  })
})

describe('a sum', () => {
  test('counts in the latest window that has begun, whatever the clock of an instance says', () => {
    const from = (sinceMs: number) => ({ ...BUDGET, sinceMs })
    const after = (nowMs: number, ...asked: readonly number[]) =>
      asked.reduce((state, sinceMs) => withTerms(state, from(sinceMs), nowMs), scope(from(0))).sinceMs
    expect(after(DAY_MS, DAY_MS, 0)).toBe(DAY_MS)
    expect(after(DAY_MS - 1, DAY_MS)).toBe(0)
    expect(after(DAY_MS, DAY_MS, 2 * DAY_MS)).toBe(DAY_MS)
    // It was begun by the clock of the store, which was ahead at that time.
    expect(withTerms(scope(from(9 * DAY_MS)), from(DAY_MS), DAY_MS).sinceMs).toBe(DAY_MS)
  })

  test('lowered below what is leased, it recalls the rest', () => {
    const lower = { ...BUDGET, bound: 400n, revision: 2 }
    const { scope: after, answer } = granted(scope(BUDGET, { leased: 700n }), 500n, request(lower), {
      spent: 0n,
      live: 2,
      nowMs: 0,
    })
    expect([answer.free, after.wanted]).toEqual([-300n, 300n])
  })
})
