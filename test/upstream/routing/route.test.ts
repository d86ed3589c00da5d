import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GwError } from '../../../src/base/catalogue/wire.ts'
import { UpstreamFailure } from '../../../src/upstream/classify.ts'
import { NO_NODES, NodeTargets } from '../../../src/upstream/nodes.ts'
import { HealthRegistry } from '../../../src/upstream/routing/health-registry.ts'
import { RetryBudget, Route } from '../../../src/upstream/routing/route.ts'
import { snapshotOf } from '../../snapshot/configured.ts'
import { pathOf } from '../../support/paths.ts'
import { seeded } from '../../support/seeded.ts'
import { testClock } from '../../support/test-clock.ts'

interface Bound {
  readonly weight?: number
  readonly priority?: number
  readonly enabled?: boolean
  readonly maxConcurrency?: number
  readonly paths?: readonly string[]
}

/** The publication `m` over endpoints e0, e1, … of one protocol, and all that a route needs. */
async function scene(bindings: readonly Bound[], fractions: readonly number[] = [0]) {
  const snapshot = await snapshotOf(`
version: 1
endpoints:
${bindings
  .map(
    ({ enabled = true, maxConcurrency, paths }, index) =>
      `  e${index}: { protocol: openai, base_url: "http://x", served_model: m, enabled: ${enabled}${maxConcurrency ? `, max_concurrency: ${maxConcurrency}` : ''}${paths ? `, paths: [${paths.join(', ')}]` : ''} }`,
  )
  .join('\n')}
publications:
  m:
    bindings: [${bindings.map(({ weight = 1, priority = 0 }, index) => `{ endpoint: e${index}, weight: ${weight}, priority: ${priority} }`).join(', ')}]
`)
  const publication = snapshot.publications.get('m')
  if (!publication) throw new Error('no publication')
  const clock = testClock()
  const health = new HealthRegistry(clock)
  health.adopt(snapshot)
  let drawn = 0
  const random = {
    fraction: () => fractions[drawn++ % fractions.length] ?? 0,
    bytes: () => new Uint8Array(),
  }
  const budget = new RetryBudget(clock)
  const route = (source = 'key k', path = pathOf('/v1/chat/completions')) =>
    new Route(publication, path, { health, budget, random, clock, nodes: new NodeTargets(NO_NODES) }, source)
  const stateOf = (name: string) => {
    const endpoint = snapshot.endpoints.get(name)
    if (!endpoint) throw new Error(`no endpoint ${name}`)
    return health.of(endpoint)
  }
  return { publication, clock, health, budget, route, stateOf }
}

const ill = new UpstreamFailure('upstream_error', undefined, { countsAsFailure: true, reason: 'it broke' })
const limited = (cooldownMs?: number) =>
  new UpstreamFailure('upstream_rate_limited', undefined, { ...(cooldownMs !== undefined && { cooldownMs }) })
const nameOf = (route: Route) => route.target.endpoint.name

describe('the first endpoint', () => {
  it('is of the lowest tier that has a usable one', async () => {
    const { route } = await scene([
      { priority: 2 },
      { weight: 0, priority: 0 },
      { priority: 0, enabled: false },
      { priority: 1 },
    ])
    expect(nameOf(route())).toBe('e3')
  })

  it('is shared by weight while every endpoint is idle', async () => {
    const at = async (fraction: number) => {
      const { route } = await scene(
        [{ weight: 1 }, { weight: 3 }, { weight: 0 }, { weight: 9, priority: 1 }],
        [fraction],
      )
      return nameOf(route())
    }
    expect(await Promise.all([0, 0.24, 0.26, 0.999].map(at))).toEqual(['e0', 'e0', 'e1', 'e1'])
  })

  it('is the less loaded of two that are drawn, by what each may bear', async () => {
    const { route } = await scene([{ weight: 1 }, { weight: 2 }], [0, 0.99])
    // e0 is drawn first each time, and e1 second: e0 serves where it has not more to do for its weight.
    expect([route(), route(), route(), route(), route(), route()].map(nameOf)).toEqual([
      'e0', // 0/1 and 0/2
      'e1', // 1/1 and 0/2
      'e1', // 1/1 and 1/2
      'e0', // 1/1 and 2/2
      'e1', // 2/1 and 2/2
      'e1', // 2/1 and 3/2
    ])
  })

  it('follows the weights in the long run, whatever they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 5 }),
        async weights => {
          const steps = 500
          const { route } = await scene(
            weights.map(weight => ({ weight })),
            // Each route draws twice; the second draw counts for nothing where all are idle.
            Array.from({ length: steps }, (_, step) => [(step + 0.5) / steps, 0]).flat(),
          )
          const served = weights.map(() => 0)
          for (let step = 0; step < steps; step++) {
            const one = route()
            const index = Number(nameOf(one).slice(1))
            served[index] = (served[index] ?? 0) + 1
            one.leave()
          }
          const sum = weights.reduce((total, weight) => total + weight, 0)
          weights.forEach((weight, index) => {
            expect(Math.abs((served[index] ?? 0) - (steps * weight) / sum)).toBeLessThanOrEqual(2)
          })
        },
      ),
      { numRuns: 20 },
    )
  })

  it('is not one that has as many requests as it may, until one of them has ended', async () => {
    const { route } = await scene([{ maxConcurrency: 1 }, { priority: 1, maxConcurrency: 1 }])
    const first = route()
    const second = route()
    expect([nameOf(first), nameOf(second)]).toEqual(['e0', 'e1'])
    expect(route).toThrow(
      expect.objectContaining({
        code: 'no_healthy_endpoint',
        retryAfterMs: 1_000,
        reason: 'e0 is full, e1 is full',
      }),
    )
    first.leave()
    first.leave()
    expect(nameOf(route())).toBe('e0')
    expect(route).toThrow(expect.objectContaining({ code: 'no_healthy_endpoint' }))
  })

  it('is a usable one among many, each as often as the others', async () => {
    const random = seeded(7)
    const bindings = Array.from({ length: 10 }, (_, index) => ({ enabled: index !== 3, maxConcurrency: 1 }))
    const { route } = await scene(bindings, Array.from({ length: 20_000 }, random))
    const first = route()
    const served = new Map<string, number>()
    for (let step = 0; step < 4_000; step++) {
      const one = route()
      served.set(nameOf(one), (served.get(nameOf(one)) ?? 0) + 1)
      one.leave()
    }
    expect([...served.keys()]).not.toContain('e3')
    expect([...served.keys()]).not.toContain(nameOf(first))
    expect(served.size).toBe(8)
    for (const count of served.values()) expect(Math.abs(count - 500)).toBeLessThan(100)
  })

  it('is none of another protocol: the error names the path that serves the model', async () => {
    const { publication, health, budget, clock } = await scene([{}])
    const random = { fraction: () => 0, bytes: () => new Uint8Array() }
    expect(
      () =>
        new Route(
          publication,
          pathOf('/v1/messages'),
          { health, budget, random, clock, nodes: new NodeTargets(NO_NODES) },
          'key k',
        ),
    ).toThrow('The model `m` is served at /v1/chat/completions, not at this path.')
  })

  it('is one that serves the path of the call', async () => {
    const embeds = { priority: 1, paths: ['/v1/embeddings'] }
    const { route } = await scene([{ paths: ['/v1/chat/completions', '/v1/completions'] }, embeds])
    expect(nameOf(route())).toBe('e0')
    expect(nameOf(route('key k', pathOf('/v1/embeddings')))).toBe('e1')
    expect(() => route('key k', pathOf('/v1/rerank'))).toThrow(
      'The model `m` is served at /v1/chat/completions, /v1/completions and /v1/embeddings, not at this path.',
    )
    expect(() => route('key k', pathOf('/v1/messages'))).toThrow(/\/v1\/embeddings, not at this path/)
  })

  it.each<[string, readonly Bound[], RegExp]>([
    ['every one is disabled', [{ enabled: false }], /e0 is disabled/],
    ['no binding has a weight', [{ weight: 0 }], /no binding has a weight/],
  ])(
    'is none where %s: no_healthy_endpoint, with the reason for the log',
    async (_title, bindings, reason) => {
      const { route } = await scene(bindings)
      expect(route).toThrow(
        expect.objectContaining({ code: 'no_healthy_endpoint', reason: expect.stringMatching(reason) }),
      )
    },
  )
})

describe('the next endpoint', () => {
  it('is one that was not asked before, the lower tiers’ turn coming last; at most three are asked', async () => {
    const { route } = await scene([{}, {}, { priority: 1 }, { priority: 2 }])
    const way = route()
    expect(nameOf(way)).toBe('e0')
    expect(way.tryNext(ill)).toBe(true)
    expect(nameOf(way)).toBe('e1')
    expect(way.tryNext(ill)).toBe(true)
    expect(nameOf(way)).toBe('e2')
    expect(way.tryNext(ill)).toBe(false)
  })

  it('is none where the fault is the request’s', async () => {
    const { route, stateOf } = await scene([{}, {}])
    const way = route()
    expect(way.tryNext(new UpstreamFailure('upstream_error', undefined, { mayTryNext: false }))).toBe(false)
    expect(stateOf('e1').inFlight).toBe(0)
  })

  it('counts the request where it is, and nowhere else', async () => {
    const { route, stateOf } = await scene([{}, {}])
    const way = route()
    expect([stateOf('e0').inFlight, stateOf('e1').inFlight]).toEqual([1, 0])
    way.tryNext(ill)
    expect([stateOf('e0').inFlight, stateOf('e1').inFlight]).toEqual([0, 1])
    way.leave()
    expect([stateOf('e0').inFlight, stateOf('e1').inFlight]).toEqual([0, 0])
  })

  it('is none once second attempts have grown to a fifth of the traffic', async () => {
    const { route } = await scene([{}, {}])
    let moved = 0
    for (let request = 0; request < 1_000; request++) {
      const way = route()
      way.dispatched()
      // 429 without a hint: neither unhealthy nor cooling down, so that only the budget is in the way.
      if (way.tryNext(limited())) moved++
      way.leave()
    }
    // Ten are free, and each request adds a fifth of one.
    expect(moved).toBeGreaterThanOrEqual(205)
    expect(moved).toBeLessThanOrEqual(210)
  })

  it('of one tenant takes nothing of what the requests of another have earned', async () => {
    const { route } = await scene([{}, {}])
    const attempts = (source: string, count: number) => {
      let moved = 0
      for (let request = 0; request < count; request++) {
        const way = route(source)
        way.dispatched()
        if (way.tryNext(limited())) moved++
        way.leave()
      }
      return moved
    }
    for (let request = 0; request < 50; request++) {
      const way = route('tenant blue')
      way.dispatched()
      way.leave()
    }
    attempts('tenant red', 500)
    expect(attempts('tenant blue', 10)).toBe(10)
  })

  it('is earned by requests that are sent, not by those that a limit rejects', async () => {
    const { route } = await scene([{}, {}])
    for (let request = 0; request < 500; request++) route().leave()
    let moved = 0
    while (moved < 500 && route().tryNext(limited())) moved++
    expect(moved).toBe(10)
  })

  it('may be asked for again in a quiet gateway after a while', async () => {
    const { route, clock } = await scene([{}, {}])
    const retry = () => {
      const way = route()
      const moved = way.tryNext(limited())
      way.leave()
      return moved
    }
    while (retry()) {
      // until the budget is spent
    }
    clock.advance(5_000)
    expect([retry(), retry(), retry()]).toEqual([true, true, true])
  })
})

describe('a request that fails', () => {
  const answered = (code: 'upstream_error' | 'upstream_credentials') =>
    new UpstreamFailure(code, undefined, { countsAsFailure: true, hasAnswered: true })

  it('counts against the first of two endpoints that answer it alike, and never against both', async () => {
    const { route, stateOf } = await scene([{}, { priority: 1 }])
    for (const source of ['a', 'b', 'a']) {
      const way = route(source)
      expect(way.tryNext(answered('upstream_error'))).toBe(true)
      expect(way.tryNext(answered('upstream_error'))).toBe(false)
      way.leave()
    }
    expect([stateOf('e0').healthy, stateOf('e1').healthy]).toEqual([false, true])
  })

  it('counts against each of two endpoints that fail it in different ways', async () => {
    const { route, stateOf } = await scene([{}, { priority: 1 }])
    for (const source of ['a', 'b', 'a']) {
      const way = route(source)
      way.tryNext(answered('upstream_error'))
      way.tryNext(answered('upstream_credentials'))
      way.leave()
    }
    expect([stateOf('e0').healthy, stateOf('e1').healthy]).toEqual([false, false])
  })

  it('goes to endpoints that are unhealthy but answer, where no other is usable, tier by tier', async () => {
    const { route, stateOf } = await scene([{ priority: 1 }, { priority: 0 }, { priority: 2 }])
    for (const name of ['e0', 'e1'])
      for (const source of ['a', 'b', 'a']) stateOf(name).failed(answered('upstream_error'), source)
    for (let time = 0; time < 3; time++) stateOf('e2').failed(ill, 'a')
    const way = route()
    expect(nameOf(way)).toBe('e1')
    expect(way.tryNext(answered('upstream_error'))).toBe(true)
    expect(nameOf(way)).toBe('e0')
    expect(way.tryNext(answered('upstream_error'))).toBe(false)
  })
})

describe('an endpoint that asks to be left alone', () => {
  it('is passed over for as long as it asked', async () => {
    const { route, clock } = await scene([{}, { priority: 1 }])
    const first = route()
    expect(first.tryNext(limited(7_000))).toBe(true)
    expect(nameOf(first)).toBe('e1')
    expect(nameOf(route())).toBe('e1')
    clock.advance(6_999)
    expect(nameOf(route())).toBe('e1')
    clock.advance(1)
    expect(nameOf(route())).toBe('e0')
  })

  it('is reported with its own words and what is left to wait, where all of them do', async () => {
    const { route, clock } = await scene([{}, {}])
    const way = route()
    way.tryNext(limited(30_000))
    way.tryNext(limited(10_000))
    clock.advance(4_000)
    const thrown = caught(route)
    expect(thrown).toMatchObject({ code: 'upstream_rate_limited', retryAfterMs: 6_000 })
    expect(thrown.reason).toBe('e0 is cooling down, e1 is cooling down')
  })
})

function caught(task: () => unknown): GwError {
  try {
    task()
  } catch (error) {
    return error as GwError
  }
  throw new Error('nothing was thrown')
}

describe('an endpoint that has too much to do', () => {
  const busy = new UpstreamFailure('upstream_rate_limited', undefined, { isOverload: true })

  it('and does not say for how long rests while another one is usable', async () => {
    const { route, clock } = await scene([{}, {}])
    const first = route()
    const name = nameOf(first)
    expect(first.tryNext(busy)).toBe(true)
    first.leave()
    for (let request = 0; request < 20; request++) expect(nameOf(route())).not.toBe(name)
    clock.advance(1_000)
    const names = new Set(Array.from({ length: 20 }, () => nameOf(route())))
    expect(names).toContain(name)
  })

  it('and is the only one is asked all the same', async () => {
    const { route } = await scene([{}])
    const first = route()
    expect(first.tryNext(busy)).toBe(false)
    first.leave()
    expect(nameOf(route())).toBe('e0')
  })
})

describe('a half-open request', () => {
  it('that a limit rejects gives its place to the next one at once', async () => {
    const { route, stateOf, health } = await scene([{}])
    const state = stateOf('e0')
    for (const source of ['key a', 'key b', 'key c']) {
      const way = route(source)
      way.dispatched()
      way.failed(
        new UpstreamFailure('upstream_error', undefined, { countsAsFailure: true, reason: 'it broke' }),
      )
      way.leave()
    }
    expect(state.healthy).toBe(false)
    let changes = 0
    health.onChange = () => changes++
    state.startHalfOpen(0)
    route('key poor').leave()
    route('key poor').leave()
    expect(changes).toBe(0)
    const way = route('key rich')
    way.dispatched()
    way.succeeded()
    expect(state.healthy).toBe(true)
  })
})
