import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NO_NODES, NodeTargets } from '../../../src/upstream/nodes.ts'
import { inspect } from '../../../src/upstream/routing/candidates.ts'
import { HealthRegistry } from '../../../src/upstream/routing/health-registry.ts'
import { RetryBudget, Route } from '../../../src/upstream/routing/route.ts'
import { snapshotOf } from '../../snapshot/configured.ts'
import { pathOf } from '../../support/paths.ts'
import { testClock } from '../../support/test-clock.ts'

const CHAT = pathOf('/v1/chat/completions')

describe('a survey of candidates', () => {
  it('gives each endpoint the share of requests that a route begins there with', async () => {
    const bound = fc.record({
      weight: fc.integer({ min: 0, max: 4 }),
      priority: fc.constantFrom(0, 0, 1),
      inFlight: fc.integer({ min: 0, max: 3 }),
    })
    const few = fc.array(bound, { minLength: 1, maxLength: 4 })
    const many = fc.array(bound, { minLength: 8, maxLength: 12 })
    const unweightedFirst = Array.from({ length: 8 }, (_, i) =>
      i < 6 ? { weight: 0, priority: 0, inFlight: 0 } : { weight: 1, priority: 1, inFlight: 0 },
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(few, many), async bindings => {
        const { publication, ports, stateOf } = await scene(bindings)
        for (const [index, { inFlight }] of bindings.entries()) stateOf(`e${index}`).load.inFlight = inFlight
        const shown = inspect(publication.targets.openai, ports)
        // Every pair of draws, each as likely as the others: all flags of the summed weights, twice.
        const tier = shown.filter(({ share }) => share > 0)
        const sum = tier.reduce((weights, { target }) => weights + target.weight, 0)
        const begun = new Map<string, number>()
        for (let one = 0; one < sum; one++) {
          for (let other = 0; other < sum; other++) {
            const flags = [(one + 0.5) / sum, (other + 0.5) / sum]
            const random = { fraction: () => flags.shift() ?? 0, bytes: () => new Uint8Array() }
            const route = new Route(publication, CHAT, { ...ports, random }, 'key k')
            const { name } = route.target.endpoint
            begun.set(name, (begun.get(name) ?? 0) + 1)
            route.leave()
          }
        }
        for (const { target, share } of shown)
          expect(share).toBeCloseTo((begun.get(target.endpoint.name) ?? 0) / (sum * sum || 1), 12)
      }),
      { numRuns: 60, examples: [[unweightedFirst]] },
    )
  })

  it('enters no request, and leaves a trial to one', async () => {
    const { publication, ports, stateOf } = await scene([{ weight: 1, priority: 0, inFlight: 0 }])
    const state = stateOf('e0')
    for (let failures = 0; failures < 3; failures++)
      state.failed(
        {
          countsAsFailure: true,
          wasSent: false,
          hasAnswered: false,
          cooldownMs: undefined,
          reason: 'rejected',
        },
        'key k',
      )
    state.startHalfOpen(0)
    for (let again = 0; again < 3; again++) {
      const [shown] = inspect(publication.targets.openai, ports)
      expect(shown).toMatchObject({ share: 1, health: { state: 'unhealthy', inFlight: 0 } })
      expect(shown?.obstacle).toBeUndefined()
    }
  })
})

async function scene(
  bindings: readonly { readonly weight: number; readonly priority: number; readonly inFlight: number }[],
) {
  const snapshot = await snapshotOf(
    JSON.stringify({
      version: 1,
      endpoints: Object.fromEntries(
        bindings.map((_, index) => [
          `e${index}`,
          { protocol: 'openai', base_url: 'http://x/v1', served_model: 'm' },
        ]),
      ),
      publications: {
        m: {
          bindings: bindings.map(({ weight, priority }, index) => ({
            endpoint: `e${index}`,
            weight,
            priority,
          })),
        },
      },
    }),
  )
  const publication = snapshot.publications.get('m')
  if (!publication) throw new Error('no publication')
  const clock = testClock()
  const health = new HealthRegistry(clock)
  health.adopt(snapshot)
  const stateOf = (name: string) => {
    const endpoint = snapshot.endpoints.get(name)
    if (!endpoint) throw new Error(`no endpoint ${name}`)
    return health.of(endpoint)
  }
  return {
    publication,
    stateOf,
    ports: { health, clock, nodes: new NodeTargets(NO_NODES), budget: new RetryBudget(clock) },
  }
}
