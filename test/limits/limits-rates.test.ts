import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { GwError } from '../../src/base/catalogue/wire.ts'
import { RateBucket } from '../../src/limits/gcra.ts'
import type { Reservation } from '../../src/limits/reservation.ts'
import { holding, keyEntry, rejectionOf, Scene, tenantEntry, used } from './limits-scene.ts'

const rates = (max: number) =>
  fc.record({ limit: fc.integer({ min: 1, max }), burst: fc.integer({ min: 1, max }) })

describe('requests per minute', () => {
  test('lets exactly N through at once, and one more each time that one has drained', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), limit => {
        const scene = new Scene()
        const key = keyEntry('k', { limits: { rpm: limit } })
        for (let count = 0; count < limit; count++) expect(scene.outcome(key)).toBe('admitted')
        const rejection = scene.try(key) as GwError
        expect(rejection.code).toBe('rate_limit_requests')
        expect(rejection.retryAfterMs).toBe(Math.ceil(60_000 / limit))
        scene.clock.advance(Math.ceil(60_000 / limit) - 1)
        expect(scene.outcome(key)).toBe('rate_limit_requests')
        scene.clock.advance(1)
        expect(scene.outcome(key)).toBe('admitted')
        expect(scene.outcome(key)).toBe('rate_limit_requests')
      }),
      { numRuns: 200 },
    )
  })

  test('the wait that a rejection names is the shortest that helps', () => {
    const steps = fc.array(fc.record({ afterMs: fc.nat(5_000), units: fc.integer({ min: 1, max: 40 }) }), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(rates(30), steps, (rate, taken) => {
        const bucket = new RateBucket()
        let nowMs = 1_000
        for (const { afterMs, units } of taken) {
          nowMs += afterMs
          const waitMs = bucket.waitMs(rate, units, nowMs)
          if (waitMs > 1) expect(bucket.waitMs(rate, units, nowMs + waitMs - 1)).toBeGreaterThan(0)
          nowMs += waitMs
          expect(bucket.waitMs(rate, units, nowMs)).toBe(0)
          bucket.take(rate, units, nowMs)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('any window of t seconds admits at most burst + limit × t / 60, whatever the burst', {
    timeout: 60_000,
  }, () => {
    const gaps = fc.array(fc.nat(3_000), { minLength: 50, maxLength: 200 })
    fc.assert(
      fc.property(rates(100), gaps, (rate, waits) => {
        const bucket = new RateBucket()
        let nowMs = 0
        const passedMs: number[] = []
        for (const wait of waits) {
          nowMs += wait
          if (bucket.waitMs(rate, 1, nowMs) > 0) continue
          bucket.take(rate, 1, nowMs)
          passedMs.push(nowMs)
        }
        for (const [from, fromMs] of passedMs.entries())
          for (let to = from; to < passedMs.length; to++)
            expect(to - from + 1).toBeLessThanOrEqual(
              rate.burst + (((passedMs[to] ?? 0) - fromMs) * rate.limit) / 60_000,
            )
      }),
      { numRuns: 200 },
    )
  })

  test('a burst of 6 lets 6 through at once, and 60 a minute after them', () => {
    const scene = new Scene()
    const tenant = tenantEntry('t', { limits: { rpm: { limit: 600, burst: 60 } } })
    const key = keyEntry('k', { limits: { rpm: { limit: 60, burst: 6 } }, tenant })
    for (let count = 0; count < 6; count++) expect(scene.outcome(key)).toBe('admitted')
    const rejection = scene.try(key) as GwError
    expect(rejection.message).toContain('limit 60, burst 6, remaining 0, needed 1')
    expect(rejection.retryAfterMs).toBe(1_000)
    let admitted = 6
    for (let ms = 0; ms < 60_000; ms += 100) {
      scene.clock.advance(100)
      if (scene.outcome(key) === 'admitted') admitted++
    }
    expect(admitted).toBe(66)
  })

  test('tokens have a burst, too: a call that is dearer waits for a full bucket and leaves a debt', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { tpm: { limit: 6_000, burst: 100 } } })
    expect(scene.outcome(key, holding(100))).toBe('admitted')
    expect(scene.try(key, holding(300))).toMatchObject({ code: 'rate_limit_tokens', retryAfterMs: 1_000 })
    scene.clock.advance(1_000)
    expect(scene.outcome(key, holding(300))).toBe('admitted')
    expect(scene.try(key, holding(1))).toMatchObject({ retryAfterMs: 2_010 })
  })

  test('a released request was a request all the same', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { rpm: 1 } })
    scene.admit(key).release()
    expect(scene.outcome(key)).toBe('rate_limit_requests')
  })

  test('a wall clock that is set back freezes no key', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { rpm: 1 } })
    scene.admit(key)
    scene.clock.advance(60_000)
    scene.clock.setNowMs(0)
    expect(scene.outcome(key)).toBe('admitted')
  })

  test('count_tokens has a bucket of its own, of the same size, for key and tenant', () => {
    const scene = new Scene()
    const tenant = tenantEntry('t', { limits: { rpm: 3 } })
    const [one, other] = [keyEntry('a', { limits: { rpm: 2 }, tenant }), keyEntry('b', { tenant })]
    for (let count = 0; count < 2; count++) scene.limiter.countTokens(one)
    expect(rejectionOf(() => scene.limiter.countTokens(one))).toMatchObject({
      code: 'rate_limit_requests',
      message: expect.stringContaining('count_tokens per minute of key `a`: limit 2, remaining 0, needed 1'),
    })
    scene.limiter.countTokens(other)
    expect(rejectionOf(() => scene.limiter.countTokens(other))).toMatchObject({
      message: expect.stringContaining('tenant `t`'),
    })
    expect([scene.outcome(one), scene.outcome(one), scene.outcome(one)]).toEqual([
      'admitted',
      'admitted',
      'rate_limit_requests',
    ])
  })
})

describe('tokens per minute', () => {
  const key = keyEntry('k', { limits: { tpm: 1_000 } })

  test('gives back what a hold took too much as soon as it is settled', () => {
    const scene = new Scene()
    const reservation = scene.admit(key, holding(1_000))
    expect(scene.outcome(key, holding(900))).toBe('rate_limit_tokens')
    reservation.settle(used(60, 40), 0n)
    expect(scene.outcome(key, holding(900))).toBe('admitted')
  })

  test('carries what a hold took too little as debt, which delays the next request and is not lost', () => {
    const scene = new Scene()
    scene.clock.advance(3_600_000)
    scene.admit(key, holding(100)).settle(used(100, 2_900), 0n)
    const rejection = scene.try(key, holding(1)) as GwError
    expect(rejection.code).toBe('rate_limit_tokens')
    // 2,001 tokens must drain at a thousand a minute; the wire caps the wait (`retryAfterSeconds`).
    expect(rejection.message).toContain('possible again in 121 s')
    expect(rejection.retryAfterMs).toBe(120_060)
    scene.clock.advance(120_059)
    expect(scene.outcome(key, holding(1))).toBe('rate_limit_tokens')
    scene.clock.advance(1)
    expect(scene.outcome(key, holding(1))).toBe('admitted')
  })

  test('a debt is not wiped out by the idle time before it was known', () => {
    const scene = new Scene()
    const reservation = scene.admit(key, holding(10))
    scene.clock.advance(3_600_000)
    reservation.settle(used(10, 2_000), 0n)
    expect(scene.outcome(key, holding(1))).toBe('rate_limit_tokens')
  })

  test('a request dearer than the whole bucket waits for a full one and leaves it in debt', () => {
    const scene = new Scene()
    scene.admit(key, holding(1)).settle(used(1), 0n)
    expect(scene.try(key, holding(5_000))).toMatchObject({ code: 'rate_limit_tokens', retryAfterMs: 60 })
    scene.clock.advance(60)
    expect(scene.outcome(key, holding(5_000))).toBe('admitted')
    scene.clock.advance(240_059)
    expect(scene.outcome(key, holding(1))).toBe('rate_limit_tokens')
    scene.clock.advance(1)
    expect(scene.outcome(key, holding(1))).toBe('admitted')
  })

  test('gives all of a released hold back', () => {
    const scene = new Scene()
    scene.admit(key, holding(1_000)).release()
    expect(scene.outcome(key, holding(1_000))).toBe('admitted')
  })
})

describe('what is given back', () => {
  test('is what a request took too much, as if it had taken less from the beginning', () => {
    const steps = fc.array(
      fc.record({
        afterMs: fc.oneof(fc.constant(0), fc.nat(100), fc.nat(3_000)),
        units: fc.integer({ min: 1, max: 40 }),
        corrected: fc.option(fc.record({ which: fc.nat(10), units: fc.integer({ min: 1, max: 40 }) })),
      }),
      { maxLength: 30 },
    )
    fc.assert(
      fc.property(rates(3_000), steps, (rate, script) => {
        const bucket = new RateBucket()
        const taken: { readonly atMs: number; units: number }[] = []
        const levelOf = (nowMs: number) => {
          let [level, at] = [0, 0]
          for (const { atMs, units } of taken) {
            level = Math.max(0, level - (atMs - at) * rate.limit) + units * 60_000
            at = atMs
          }
          return Math.max(0, level - (nowMs - at) * rate.limit)
        }
        let nowMs = 0
        for (const { afterMs, units, corrected } of script) {
          nowMs += afterMs
          bucket.take(rate, units, nowMs)
          taken.push({ atMs: nowMs, units })
          expect(bucket.level(rate, nowMs)).toBe(levelOf(nowMs))
          const request = corrected && taken[corrected.which]
          if (!request) continue
          const less = Math.min(corrected.units, request.units)
          bucket.correct(-less, request.atMs, nowMs)
          request.units -= less
          expect(bucket.level(rate, nowMs)).toBe(levelOf(nowMs))
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('is not what has drained: that is not used a second time', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { rpm: 6, tpm: { limit: 6_000, burst: 1_000 } } })
    const first = scene.admit(key, holding(1_000))
    scene.clock.advance(10_000)
    scene.admit(key, holding(1_000))
    first.withdraw()
    expect(scene.outcome(key, holding(1))).toBe('rate_limit_tokens')
    const requests = keyEntry('r', { limits: { rpm: 6 } })
    const withdrawn = scene.admit(requests)
    scene.clock.advance(10_000)
    for (let count = 0; count < 6; count++) expect(scene.outcome(requests)).toBe('admitted')
    withdrawn.withdraw()
    expect(scene.outcome(requests)).toBe('rate_limit_requests')
  })

  test('is nearly all of it, and never more, while very many requests are open', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { tpm: 600_000 } })
    const open: Reservation[] = []
    for (let count = 0; count < 1_000; count++) {
      open.push(scene.admit(key, holding(500)))
      scene.clock.advance(1)
    }
    for (const reservation of open) reservation.settle(used(0, 100), 0n)
    // 100,000 are used, of which 10,000 have drained.
    expect(scene.outcome(key, holding(510_001))).toBe('rate_limit_tokens')
    expect(scene.outcome(key, holding(490_000))).toBe('admitted')
  })
})

describe('a reload', () => {
  test('keeps the window', () => {
    const scene = new Scene()
    const before = keyEntry('k', { limits: { rpm: 2, tpm: 100 } })
    scene.serve([before])
    scene.admit(before, holding(100))
    scene.serve([keyEntry('k', { limits: { rpm: 2, tpm: 100 } })])
    expect(scene.outcome(keyEntry('k', { limits: { rpm: 2, tpm: 100 } }))).toBe('rate_limit_tokens')
  })

  test('that lowers a limit and raises it again hands out no burst', () => {
    const scene = new Scene()
    const many = keyEntry('k', { limits: { rpm: 60 } })
    const few = keyEntry('k', { limits: { rpm: 2 } })
    for (let count = 0; count < 60; count++) scene.admit(many)
    expect([scene.outcome(few), scene.outcome(many), scene.outcome(few)]).toEqual(
      Array(3).fill('rate_limit_requests'),
    )
  })

  test('that raises a limit takes effect at once: what is used drains faster', () => {
    const scene = new Scene()
    const few = keyEntry('k', { limits: { rpm: 1 } })
    const many = keyEntry('k', { limits: { rpm: 600 } })
    scene.admit(few)
    expect(scene.try(many)).toMatchObject({ retryAfterMs: 100 })
    scene.clock.advance(100)
    expect(scene.outcome(many)).toBe('admitted')
  })

  test('forgets a key that is gone, but not before its windows have run out and its requests have ended', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { rpm: 1, concurrency: 1 } })
    scene.serve([key])
    const reservation = scene.admit(key)
    scene.serve([])
    scene.clock.advance(30_000)
    scene.sweep()
    expect(scene.limiter.counted).toBe(1)
    scene.clock.advance(29_999)
    expect(scene.outcome(key)).toBe('rate_limit_concurrency')
    reservation.release()
    reservation.leave()
    scene.sweep()
    expect(scene.limiter.counted).toBe(1)
    scene.clock.advance(1)
    scene.sweep()
    expect(scene.limiter.counted).toBe(0)
  })

  test('does not forget a key that comes back while it is looked for', () => {
    const scene = new Scene()
    const key = keyEntry('k', { limits: { rpm: 1 } })
    scene.serve([key])
    const reservation = scene.admit(key)
    reservation.release()
    reservation.leave()
    scene.serve([keyEntry('other', {})])
    scene.clock.advance(60_000)
    const forgetting = scene.limiter.forgetting()
    expect(forgetting.next().done).toBe(false)
    scene.serve([key])
    for (const _ of forgetting);
    expect(scene.limiter.counted).toBe(1)
  })

  test.each(['hold', 'permit'])('forgets no key and no tenant of which a %s is open', open => {
    const scene = new Scene()
    const tenant = tenantEntry('t', { billing: 'prepaid', limits: { concurrency: 1 } })
    const key = keyEntry('k', { quotaTokens: 10, tenant, limits: { concurrency: 1 } })
    scene.serve([key], { balances: [['t', 100n]] })
    const reservation = scene.admit(key, holding(5, 0, 5n), { holdForMs: 600_000 })
    if (open === 'hold') reservation.leave()
    else reservation.settle(used(5), 5n)
    scene.serve([])
    scene.clock.advance(120_000)
    scene.sweep()
    expect(scene.limiter.counted).toBe(2)
    reservation.leave()
    reservation.release()
    scene.sweep()
    expect(scene.limiter.counted).toBe(0)
  })
})
