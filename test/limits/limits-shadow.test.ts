import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import type { Reservation } from '../../src/limits/reservation.ts'
import type { KeyEntry } from '../../src/snapshot/types.ts'
import { holding, keyEntry, Scene, snapshotOf, tenantEntry, used } from './limits-scene.ts'

const BUDGET = { amountNano: 100n, per: 'day', timezone: 'UTC' } as const

type Step =
  | { readonly do: 'admit'; readonly tokens: number }
  | { readonly do: 'settle' | 'leave'; readonly which: number; readonly tokens: number }
  | { readonly do: 'wait'; readonly ms: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('admit' as const), tokens: fc.integer({ min: 1, max: 60 }) }),
    fc.record({
      do: fc.constantFrom('settle' as const, 'leave' as const),
      which: fc.nat(40),
      tokens: fc.nat(80),
    }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.nat(20_000) }),
  ),
  { minLength: 20, maxLength: 50 },
)

/** Which of the requests of a script a key's limit rejects, or would reject. */
function rejectedIn(script: readonly Step[], key: KeyEntry): boolean[] {
  const scene = new Scene()
  scene.serve([key])
  const requests: (Reservation | undefined)[] = []
  const rejected: boolean[] = []
  for (const step of script) {
    if (step.do === 'wait') scene.clock.advance(step.ms)
    else if (step.do === 'admit') {
      const result = scene.try(key, holding(step.tokens))
      const reservation = result instanceof GwError ? undefined : result
      requests.push(reservation)
      rejected.push(!reservation || reservation.shadowRejections !== undefined)
    } else {
      const reservation = requests[step.which % Math.max(requests.length, 1)]
      if (step.do === 'settle') reservation?.settle(used(step.tokens), 0n)
      else reservation?.leave()
    }
  }
  return rejected
}

describe('a limit in shadow mode', () => {
  it.each([
    ['rpm', { rpm: 3 }],
    ['tpm', { tpm: 100 }],
    ['concurrency', { concurrency: 2 }],
  ])('of %s would reject exactly the requests that the enforced limit rejects', (name, limits) => {
    let rejections = 0
    fc.assert(
      fc.property(steps, script => {
        const enforced = rejectedIn(script, keyEntry('k', { limits }))
        expect(rejectedIn(script, keyEntry('k', { limits, shadow: [name] }))).toEqual(enforced)
        rejections += enforced.filter(Boolean).length
      }),
      { numRuns: 300 },
    )
    expect(rejections).toBeGreaterThan(100)
  })

  it('of tokens or money counts what is really spent, and goes on', () => {
    const key = keyEntry('k', { quotaTokens: 100, budget: BUDGET, shadow: ['quota', 'budget'] })
    const scene = new Scene()
    scene.serve([key])
    scene.admit(key, holding(80, 0, 80n)).settle(used(80), 80n)
    const second = scene.admit(key, holding(30, 0, 30n))
    expect(second.shadowRejections).toEqual(['key_quota', 'key_budget'])
    expect(scene.limiter.limitStatus(key)).toMatchObject({
      quota: { spent: 80, held: 30 },
      budget: { spentNano: 80n, heldNano: 30n },
    })
    second.settle(used(30), 30n)
    expect(scene.limiter.limitStatus(key)).toMatchObject({
      quota: { spent: 110, held: 0 },
      budget: { spentNano: 110n, heldNano: 0n },
    })
  })

  it('does not wait for spending that is not loaded yet', () => {
    const key = keyEntry('k', { quotaTokens: 100, budget: BUDGET, shadow: ['quota', 'budget'] })
    const scene = new Scene()
    scene.limiter.adopt(snapshotOf(key))
    expect(scene.admit(key, holding(1_000, 0, 1_000n)).shadowRejections).toBeUndefined()
  })

  it('leaves a rejection to the enforced limit behind it, which then counts nothing', () => {
    const limits = { rpm: 1, concurrency: 1 }
    const key = keyEntry('k', { limits, shadow: ['concurrency'] })
    const scene = new Scene()
    scene.serve([key])
    scene.admit(key)
    expect(scene.outcome(key)).toBe('rate_limit_requests')
    scene.clock.advance(60_000)
    expect(scene.admit(key).shadowRejections).toEqual(['key_concurrency'])
  })

  it('of the tenant counts for each of its keys', () => {
    const tenant = tenantEntry('t', { limits: { rpm: 1 }, shadow: ['rpm'] })
    const keys = ['a', 'b'].map(name => keyEntry(name, { tenant, limits: { rpm: 5 } }))
    const scene = new Scene()
    scene.serve(keys)
    expect(keys.map(key => scene.admit(key).shadowRejections)).toEqual([undefined, ['tenant_rpm']])
  })

  it('is in no header, and shortens no answer', () => {
    const limits = { rpm: 60, tpm: 6_000 }
    const scene = new Scene()
    const key = keyEntry('k', { limits, quotaTokens: 400, shadow: ['rpm', 'quota'] })
    scene.serve([key])
    expect(scene.limiter.rateHeaders('openai', key).filter(line => line.startsWith('x-'))).toEqual([
      'x-ratelimit-limit-tokens',
      'x-ratelimit-remaining-tokens',
      'x-ratelimit-reset-tokens',
    ])
    const cap = { answers: 1, price: undefined }
    const { hold, capTokens } = scene.admit(key, { ...holding(10, 1_000), cap })
    expect([hold.tokens, capTokens]).toEqual([1_010, 1_000])
  })

  it('is reported as what it would reject', () => {
    const key = keyEntry('k', { limits: { rpm: 1, concurrency: 9 }, shadow: ['rpm'] })
    const scene = new Scene()
    scene.serve([key])
    scene.admit(key)
    const reports = scene.limiter.inspect(key)
    expect(reports.map(({ info, isShadow, rejection }) => [info.name, isShadow, rejection?.code])).toEqual([
      ['rpm', true, undefined],
    ])
    scene.limiter.countTokens(key)
    const [report] = scene.limiter.inspect(key)
    expect([report?.isShadow, report?.rejection?.code]).toEqual([true, 'rate_limit_requests'])
    expect(scene.limiter.countTokens(key)).toEqual(['key_rpm'])
  })
})
