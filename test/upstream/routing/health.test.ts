import { describe, expect, it } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import type { Snapshot } from '../../../src/snapshot/types.ts'
import { UpstreamFailure } from '../../../src/upstream/classify.ts'
import type { ProbeOutcome } from '../../../src/upstream/probe.ts'
import type { EndpointState } from '../../../src/upstream/routing/endpoint-state.ts'
import { HealthChecker } from '../../../src/upstream/routing/health-checker.ts'
import { HealthRegistry } from '../../../src/upstream/routing/health-registry.ts'
import { snapshotOf } from '../../snapshot/configured.ts'
import { testClock } from '../../support/test-clock.ts'

const config = (more = '', settings = '') => `
version: 1
settings: { health: { ${settings} } }
endpoints:
  e: { protocol: openai, base_url: "http://x/v1", served_model: m ${more} }
`

/** One endpoint, what heals it, and the probes that were asked for, each to be answered by the test. */
async function scene(more = '', settings = '', fraction = 0) {
  const clock = testClock()
  const health = new HealthRegistry(clock)
  const probes: {
    answer(outcome: ProbeOutcome): Promise<void>
    hasAnswered: boolean
    aborted: () => boolean
  }[] = []
  const lines: { msg: string }[] = []
  const healthChecker = new HealthChecker({
    health,
    clock,
    random: { fraction: () => fraction, bytes: () => new Uint8Array() },
    log: createLog(
      { write: line => lines.push(JSON.parse(line) as { msg: string }) },
      { level: 'info', pretty: false, colour: false },
    ),
    probe: {
      check: (_target, hasAnswered, { signal }) =>
        new Promise(resolve => {
          probes.push({
            hasAnswered,
            aborted: () => signal?.aborted ?? false,
            answer: async outcome => {
              resolve(outcome)
              await new Promise(setImmediate)
            },
          })
        }),
    },
  })
  let snapshot = await snapshotOf(config(more, settings))
  const adopt = async (text: string) => {
    snapshot = await snapshotOf(text)
    healthChecker.forget(health.adopt(snapshot))
  }
  healthChecker.forget(health.adopt(snapshot))
  const state = () => health.of(entryOf(snapshot))
  return {
    clock,
    health,
    healthChecker,
    probes,
    lines,
    adopt,
    state,
    obstacle: () => state().obstacle(entryOf(snapshot), clock.monotonicMs()),
  }
}

function entryOf(snapshot: Snapshot) {
  const entry = snapshot.endpoints.get('e')
  if (!entry) throw new Error('no endpoint')
  return entry
}

const rejected = new UpstreamFailure('upstream_error', undefined, {
  countsAsFailure: true,
  reason: 'e: ECONNREFUSED',
})
const answered500 = new UpstreamFailure('upstream_error', undefined, {
  countsAsFailure: true,
  hasAnswered: true,
  reason: 'e answered 500',
})
const silent = new UpstreamFailure('upstream_timeout', undefined, { countsAsFailure: true, wasSent: true })
const limited = new UpstreamFailure('upstream_rate_limited', undefined, {})
const WELL: ProbeOutcome = { ok: true, latencyMs: 1, service: 'chat', rateLimited: false }
const ILL = {
  ok: false,
  latencyMs: 1,
  diagnosis: { fault: 'rejected', cause: 'Nothing listens there.', hint: 'Start it.' },
} as const satisfies ProbeOutcome

describe('an endpoint', () => {
  it('is unknown until it has answered, and healthy from then on', async () => {
    const { health, state, clock } = await scene()
    expect(health.report()).toEqual([
      { endpoint: 'e', state: 'unknown', sinceMs: clock.nowMs(), inFlight: 0 },
    ])
    clock.advance(5)
    state().succeeded()
    expect(health.report()).toEqual([
      { endpoint: 'e', state: 'healthy', sinceMs: clock.nowMs(), inFlight: 0 },
    ])
  })

  it('is out after three failures in a row, and says since when and why', async () => {
    const { health, state, clock, obstacle, lines } = await scene()
    state().failed(rejected, 'key k')
    state().failed(rejected, 'key k')
    state().succeeded()
    state().failed(rejected, 'key k')
    state().failed(rejected, 'key k')
    expect(obstacle()).toBe(undefined)
    clock.advance(7)
    state().failed(answered500, 'key k')
    expect(obstacle()).toBe('unhealthy')
    expect(health.report()).toEqual([
      { endpoint: 'e', state: 'unhealthy', sinceMs: clock.nowMs(), reason: 'e answered 500', inFlight: 0 },
    ])
    expect(lines).toMatchObject([{ msg: 'endpoint is unhealthy', endpoint: 'e', reason: 'e answered 500' }])
  })

  it('stays in however often it answers that it has enough to do', async () => {
    const { state, obstacle } = await scene()
    for (let time = 0; time < 10; time++) state().failed(limited, 'key k')
    expect(obstacle()).toBe(undefined)
  })

  it('is out after as many failures as the settings say', async () => {
    const { state, obstacle } = await scene('', 'unhealthy_after: 1')
    state().failed(rejected, 'key k')
    expect(obstacle()).toBe('unhealthy')
  })
})

describe('an endpoint that answers, however wrongly', () => {
  const A = 'tenant a'
  const B = 'tenant b'
  const asLastResort = ({ state, clock }: Awaited<ReturnType<typeof scene>>) => {
    const endpoint = state().endpoint
    return state().obstacle(endpoint, clock.monotonicMs(), true)
  }

  it('is passed over, and still asked where there is no other', async () => {
    const own = await scene()
    for (const source of [A, B, A]) own.state().failed(answered500, source)
    expect(own.obstacle()).toBe('unhealthy')
    expect(asLastResort(own)).toBe(undefined)
    own.state().enter()
    own.state().succeeded(B)
    expect(own.obstacle()).toBe(undefined)
  })

  it('is out once it has been silent as often in a row to more than one, and no more once it answers', async () => {
    const own = await scene()
    for (const source of [A, B, A]) own.state().failed(answered500, source)
    for (const source of [A, A]) own.state().failed(silent, source)
    expect(asLastResort(own)).toBe(undefined)
    own.state().failed(silent, B)
    expect(asLastResort(own)).toBe('unhealthy')
    own.state().failed(answered500, B)
    expect(asLastResort(own)).toBe(undefined)
  })

  it('stays in though one client alone fails there, for a minute from when another was answered', async () => {
    const { state, obstacle, clock } = await scene()
    state().succeeded(B)
    state().succeeded(A)
    const fail = (times: number) => {
      for (let time = 0; time < times; time++) state().failed(answered500, A)
    }
    fail(100)
    clock.advance(60_000)
    fail(1)
    expect(obstacle()).toBe(undefined)
    clock.advance(1)
    fail(1)
    expect(obstacle()).toBe('unhealthy')
  })

  it('is passed over with the third failure, whichever client was answered lately, once two clients fail', async () => {
    const { state, obstacle } = await scene()
    state().succeeded('tenant c')
    for (const source of [A, A, B]) state().failed(answered500, source)
    expect(obstacle()).toBe('unhealthy')
  })

  it('to one client alone is asked by a probe at once, with a chat: if that is answered it stays in for a minute', async () => {
    const { state, probes, obstacle, clock } = await scene()
    for (let time = 0; time < 3; time++) state().failed(answered500, A)
    expect(obstacle()).toBe('unhealthy')
    expect(probes).toMatchObject([{ hasAnswered: true }])
    await probes[0]?.answer(WELL)
    expect(obstacle()).toBe(undefined)
    for (let time = 0; time < 100; time++) state().failed(answered500, A)
    clock.advance(60_000)
    state().failed(answered500, A)
    expect(obstacle()).toBe(undefined)
    expect(probes).toHaveLength(1)
  })

  it('is out where it was silent to one client, and then to the probe', async () => {
    const own = await scene()
    for (let time = 0; time < 3; time++) own.state().failed(silent, A)
    expect(asLastResort(own)).toBe(undefined)
    await own.probes[0]?.answer(ILL)
    expect(asLastResort(own)).toBe('unhealthy')
    own.clock.advance(5_000)
    await own.probes[1]?.answer({ ...ILL, diagnosis: { ...ILL.diagnosis, status: 500 } })
    expect(asLastResort(own)).toBe(undefined)
  })

  it('with skip_probe is tried after pauses, however many ask it as the last resort', async () => {
    const { state, clock, obstacle } = await scene(', skip_probe: true')
    for (const source of [A, B, A]) state().failed(answered500, source)
    for (let time = 0; time < 50; time++) {
      const isHalfOpen = state().enter()
      state().failed(answered500, B)
      state().leave(isHalfOpen, true)
    }
    clock.advance(4_999)
    expect(obstacle()).toBe('unhealthy')
    clock.advance(1)
    expect(obstacle()).toBe(undefined)
  })
})

describe('a reload', () => {
  it('keeps what is known of an endpoint that leads to the same place and is asked alike', async () => {
    const { state, adopt, obstacle } = await scene('', 'unhealthy_after: 1')
    state().failed(rejected, 'key k')
    state().enter()
    await adopt(config(', timeouts: { idle: 9s }, labels: { a: b }, max_concurrency: 4'))
    expect(obstacle()).toBe('unhealthy')
    expect(state().inFlight).toBe(1)
  })

  it.each([
    ['another base_url', config().replace('x/v1', 'y/v1')],
    ['another model', config().replace('served_model: m', 'served_model: n')],
    ['another header', config(', headers: { a: b }')],
    ['another protocol', config().replace('openai', 'anthropic')],
  ])('forgets it with %s, and asks for nothing more', async (_title, changed) => {
    const { state, adopt, obstacle, probes, clock } = await scene('', 'unhealthy_after: 1')
    state().failed(rejected, 'key k')
    clock.advance(5_000)
    expect(probes).toHaveLength(1)
    await adopt(changed)
    expect(obstacle()).toBe(undefined)
    expect(probes[0]?.aborted()).toBe(true)
    expect(clock.pending).toBe(0)
  })
})

describe('an unhealthy endpoint', () => {
  it('is asked by one probe at a time, after pauses that double from 5 s to 2 min', async () => {
    const { state, probes, clock, obstacle } = await scene()
    for (let time = 0; time < 3; time++) state().failed(rejected, 'key k')
    for (const pauseMs of [5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 120_000]) {
      const before = probes.length
      clock.advance(pauseMs - 1)
      expect(probes).toHaveLength(before)
      clock.advance(1)
      expect(probes).toHaveLength(before + 1)
      // What is still on its way fails, too: that asks for no second probe.
      state().failed(rejected, 'key k')
      clock.advance(300_000)
      expect(probes).toHaveLength(before + 1)
      await probes.at(-1)?.answer(ILL)
    }
    expect(obstacle()).toBe('unhealthy')
    expect(state().report().reason).toBe('Nothing listens there.')
  })

  it('shortens each pause by chance, so that many gateways do not knock in step', async () => {
    const { state, probes, clock } = await scene('', '', 0.5)
    for (let time = 0; time < 3; time++) state().failed(rejected, 'key k')
    clock.advance(4_249)
    expect(probes).toHaveLength(0)
    clock.advance(1)
    expect(probes).toHaveLength(1)
  })

  it('is in again when a probe succeeds, and its next illness begins with a short pause', async () => {
    const { state, probes, clock, obstacle, lines } = await scene()
    const fallIll = () => {
      for (let time = 0; time < 3; time++) state().failed(rejected, 'key k')
    }
    fallIll()
    clock.advance(5_000)
    await probes.at(-1)?.answer(ILL)
    clock.advance(10_000)
    await probes.at(-1)?.answer(WELL)
    expect(obstacle()).toBe(undefined)
    expect(state().report()).toMatchObject({ state: 'healthy' })
    expect(lines.map(({ msg }) => msg)).toEqual(['endpoint is unhealthy', 'endpoint is healthy again'])
    fallIll()
    clock.advance(5_000)
    expect(probes).toHaveLength(3)
  })

  it('is in again when a request succeeds that was on its way', async () => {
    const { state, clock, obstacle } = await scene()
    for (let time = 0; time < 3; time++) state().failed(rejected, 'key k')
    state().succeeded()
    expect(obstacle()).toBe(undefined)
    expect(clock.pending).toBe(0)
  })

  it('tells its probe whether it had answered, wrongly, or was not there', async () => {
    const { state, probes, clock } = await scene('', 'unhealthy_after: 1')
    state().failed(answered500, 'key k')
    clock.advance(5_000)
    expect(probes[0]?.hasAnswered).toBe(true)
    await probes[0]?.answer(WELL)
    state().failed(rejected, 'key k')
    clock.advance(5_000)
    expect(probes[1]?.hasAnswered).toBe(false)
  })

  it('is asked for nothing more once the healthChecker has stopped', async () => {
    const { state, healthChecker, clock } = await scene()
    for (let time = 0; time < 3; time++) state().failed(rejected, 'key k')
    healthChecker.stop()
    expect(clock.pending).toBe(0)
    state().succeeded()
    for (let time = 0; time < 3; time++) state().failed(rejected, 'key k')
    expect(clock.pending).toBe(0)
  })
})

describe('an endpoint with skip_probe', () => {
  const skipping = () => scene(', skip_probe: true', 'unhealthy_after: 1')

  it('is never probed: one request of the traffic tries it after each pause', async () => {
    const { state, probes, clock, obstacle } = await skipping()
    state().failed(rejected, 'key k')
    for (const pauseMs of [5_000, 10_000, 20_000]) {
      clock.advance(pauseMs - 1)
      expect(obstacle()).toBe('unhealthy')
      clock.advance(1)
      expect(obstacle()).toBe(undefined)
      const isTrial = state().enter()
      expect(obstacle()).toBe('unhealthy')
      state().failed(rejected, 'key k')
      state().leave(isTrial, true)
      expect(obstacle()).toBe('unhealthy')
    }
    expect(probes).toEqual([])
  })

  it('is in again when that request succeeds', async () => {
    const { state, clock, obstacle } = await skipping()
    state().failed(rejected, 'key k')
    clock.advance(5_000)
    const isTrial = state().enter()
    state().succeeded()
    state().leave(isTrial, true)
    expect(obstacle()).toBe(undefined)
  })

  it('is tried by another request where the first one showed nothing', async () => {
    const { state, clock, obstacle } = await skipping()
    state().failed(rejected, 'key k')
    clock.advance(5_000)
    state().leave(state().enter(), true)
    expect(obstacle()).toBe('unhealthy')
    clock.advance(10_000)
    expect(obstacle()).toBe(undefined)
  })

  it('is tried by no other request when an older one ends without an outcome', async () => {
    const { state, clock, obstacle } = await skipping()
    const older = state().enter()
    state().failed(rejected, 'key k')
    clock.advance(5_000)
    const trial = state().enter()
    expect([older, trial]).toEqual([false, true])
    state().leave(older, true)
    clock.advance(60_000)
    expect(obstacle()).toBe('unhealthy')
    state().leave(trial, true)
    clock.advance(60_000)
    expect(obstacle()).toBe(undefined)
  })
})

describe('after a change of the configuration', () => {
  const broken = new UpstreamFailure('upstream_error', undefined, {
    countsAsFailure: true,
    reason: 'it broke',
  })
  const failThrice = (state: EndpointState) => {
    for (const source of ['a', 'b', 'c']) state.failed(broken, source)
  }

  it('a request of before brings no deleted endpoint back, and no probe', async () => {
    const { adopt, health, probes, clock, state } = await scene()
    const before = state().endpoint
    await adopt('version: 1\nendpoints: {}\n')
    const former = health.of(before)
    former.enter()
    failThrice(former)
    clock.advance(600_000)
    expect(probes).toEqual([])
    expect(health.report()).toEqual([])
    expect(health.counts()).toEqual({ healthy: 0, unhealthy: 0, unknown: 0 })
  })

  it('failures of an endpoint as it was say nothing of what it is', async () => {
    const { adopt, health, state } = await scene(', headers: { x-v: "1" }')
    const before = state().endpoint
    await adopt(config(', headers: { x-v: "2" }'))
    failThrice(health.of(before))
    expect(state().healthy).toBe(true)
  })

  it('its requests still count where the server is the same', async () => {
    const { adopt, health, state } = await scene(', max_concurrency: 2, headers: { x-v: "1" }')
    const before = state().endpoint
    state().enter()
    state().enter()
    await adopt(config(', max_concurrency: 2, headers: { x-v: "2" }'))
    expect(state().inFlight).toBe(2)
    health.of(before).leave(false, true)
    expect(state().inFlight).toBe(1)
  })

  it('what must not be probed any more is not', async () => {
    const { adopt, probes, clock, state } = await scene()
    await adopt(config(', skip_probe: true'))
    failThrice(state())
    clock.advance(600_000)
    expect(state().healthy).toBe(false)
    expect(probes).toEqual([])
  })
})
