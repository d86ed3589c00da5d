import { describe, expect, test } from 'vitest'
import type { GwError } from '../../src/base/catalogue/wire.ts'
import type { Budget, KeyEntry } from '../../src/snapshot/types.ts'
import { holding, keyEntry, Scene, tenantEntry } from './limits-scene.ts'

const DAILY: Budget = { amountNano: 1_000n, per: 'day', timezone: 'UTC' }

describe('a rejection', () => {
  const TENANT_LIMITS = { rpm: 50, tpm: 5_000, concurrency: 50 }
  const KEY_LIMITS = { rpm: 40, tpm: 4_000, concurrency: 40 }

  /** A key under every limit at once, of which one is too tight for a call of 100 tokens and 100 nano. */
  function tight(limit: string): { key: KeyEntry; balance: bigint } {
    const of = (owner: string, limits: typeof KEY_LIMITS) => ({
      ...limits,
      ...(limit === `${owner} rpm` && { rpm: 1 }),
      ...(limit === `${owner} tpm` && { tpm: 150 }),
      ...(limit === `${owner} concurrency` && { concurrency: 1 }),
    })
    const tenant = tenantEntry('acme', { limits: of('tenant', TENANT_LIMITS), billing: 'prepaid' })
    const key = keyEntry('app', {
      limits: of('key', KEY_LIMITS),
      quotaTokens: limit === 'quota' ? 150 : 1_000,
      budget: { ...DAILY, amountNano: limit === 'budget' ? 1_500_000_000n : 9_000_000_000n },
      tenant,
    })
    return { key, balance: limit === 'balance' ? 1_500_000_000n : 9_000_000_000n }
  }

  test.each([
    ['key concurrency', 'rate_limit_concurrency', 'at a time for key `app`: limit 1, held 1, needed 1'],
    [
      'tenant concurrency',
      'rate_limit_concurrency',
      'at a time for tenant `acme`: limit 1, held 1, needed 1',
    ],
    ['key rpm', 'rate_limit_requests', 'Requests per minute of key `app`: limit 1, remaining 0, needed 1'],
    [
      'tenant rpm',
      'rate_limit_requests',
      'Requests per minute of tenant `acme`: limit 1, remaining 0, needed 1',
    ],
    ['key tpm', 'rate_limit_tokens', 'Tokens per minute of key `app`: limit 150, remaining 50, needed 100'],
    [
      'tenant tpm',
      'rate_limit_tokens',
      'Tokens per minute of tenant `acme`: limit 150, remaining 50, needed 100',
    ],
    [
      'quota',
      'quota_exceeded',
      'token quota of key `app` does not cover this call: limit 150, spent 0, held 100, needed 100',
    ],
    [
      'budget',
      'budget_exceeded',
      'budget of key `app` per day (UTC) does not cover this call, in USD: limit 1.5, spent 0, held 1, needed 1',
    ],
    [
      'balance',
      'insufficient_balance',
      'balance of tenant `acme` does not cover this call, in USD: balance 1.5, held 1, needed 1',
    ],
  ])('by %s names the limit and its numbers, and takes nothing of any other', (limit, code, message) => {
    const { key, balance } = tight(limit)
    const scene = new Scene()
    scene.serve([key], { balances: [['acme', balance]] })
    const call = holding(60, 40, 1_000_000_000n)
    const first = scene.admit(key, call)
    const seen = () => [
      scene.limiter.limitStatus(key),
      scene.limiter.rateHeaders('openai', key),
      scene.limiter.openHolds,
      scene.limiter.openReservations,
    ]
    const before = seen()
    for (let count = 0; count < 100; count++) {
      expect(scene.try(key, call)).toMatchObject({ code, message: expect.stringContaining(message) })
    }
    expect(seen()).toEqual(before)
    first.release()
    first.leave()
    scene.clock.advance(60_000)
    expect(scene.outcome(key, call)).toBe('admitted')
  })

  test('names the first limit of the documented order where several reject', () => {
    const order = ['rate_limit_concurrency', 'rate_limit_requests', 'rate_limit_tokens', 'quota_exceeded']
    const all = [...order, 'budget_exceeded', 'insufficient_balance']
    const base = {
      limits: { concurrency: 1, rpm: 1, tpm: 100 },
      quotaTokens: 100,
      budget: { ...DAILY, amountNano: 100n },
    }
    const scene = new Scene()
    const tenant = tenantEntry('t', { billing: 'prepaid' })
    const key = (more: object) => keyEntry('k', { ...base, tenant, ...more })
    scene.serve([key({})], { balances: [['t', 100n]] })
    scene.admit(key({}), holding(100, 0, 100n))
    const tried = [
      key({}),
      key({ limits: { concurrency: 9, rpm: 1, tpm: 100 } }),
      key({ limits: { concurrency: 9, tpm: 100 } }),
      key({ limits: {} }),
      key({ limits: {}, quotaTokens: 1_000 }),
      key({ limits: {}, quotaTokens: 1_000, budget: { ...DAILY, amountNano: 1_000n } }),
    ]
    expect(tried.map(entry => scene.outcome(entry, holding(100, 0, 100n)))).toEqual(all)
  })

  test('by a rate waits at most a minute; by a quota, a budget or a balance it names no wait', () => {
    const waits = ['key rpm', 'key tpm', 'key concurrency', 'quota', 'budget', 'balance'].map(limit => {
      const { key, balance } = tight(limit)
      const scene = new Scene()
      scene.serve([key], { balances: [['acme', balance]] })
      scene.admit(key, holding(60, 40, 1_000_000_000n))
      return (scene.try(key, holding(60, 40, 1_000_000_000n)) as GwError).retryAfterMs
    })
    expect(waits).toEqual([60_000, 20_000, 1_000, undefined, undefined, undefined])
  })
})
