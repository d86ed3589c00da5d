import { describe, expect, it } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { UpstreamFailure } from '../../src/relay/classify.ts'
import type { ProbeOutcome } from '../../src/relay/probe.ts'
import { Healer } from '../../src/routing/healer.ts'
import { HealthBook } from '../../src/routing/health-book.ts'
import type { Snapshot } from '../../src/snapshot/types.ts'
import { snapshotOf } from '../snapshot/configured.ts'
import { testClock } from '../support/test-clock.ts'

const config = (more = '', settings = '') => `
version: 1
settings: { health: { ${settings} } }
endpoints:
  e: { protocol: openai, base_url: "http://x/v1", served_model: m ${more} }
`

/** One endpoint, what heals it, and the probes that were asked for, each to be answered by the test. */
async function scene(more = '', settings = '', fraction = 0) {
  const clock = testClock()
  const health = new HealthBook(clock)
  const probes: {
    answer(outcome: ProbeOutcome): Promise<void>
    hasAnswered: boolean
    aborted: () => boolean
  }[] = []
  const lines: { msg: string }[] = []
  const healer = new Healer({
    health,
    clock,
    chance: { fraction: () => fraction, bytes: () => new Uint8Array() },
    log: createLog(
      { write: line => lines.push(JSON.parse(line) as { msg: string }) },
      { level: 'info', pretty: false, colour: false },
    ),
    probe: {
      heal: (_target, hasAnswered, { signal }) =>
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
    healer.forget(health.adopt(snapshot))
  }
  healer.forget(health.adopt(snapshot))
  const state = () => health.of(entryOf(snapshot))
  return {
    clock,
    health,
    healer,
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

const refused = new UpstreamFailure('upstream_error', undefined, { isIll: true, reason: 'e: ECONNREFUSED' })
const answered500 = new UpstreamFailure('upstream_error', undefined, {
  isIll: true,
  hasAnswered: true,
  reason: 'e answered 500',
})
const limited = new UpstreamFailure('upstream_rate_limited', undefined, {})
const WELL: ProbeOutcome = { ok: true, latencyMs: 1, service: 'chat', rateLimited: false }
const ILL: ProbeOutcome = {
  ok: false,
  latencyMs: 1,
  diagnosis: { fault: 'refused', cause: 'Nothing listens there.', mend: 'Start it.' },
}

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
    state().failed(refused)
    state().failed(refused)
    state().succeeded()
    state().failed(refused)
    state().failed(refused)
    expect(obstacle()).toBe(undefined)
    clock.advance(7)
    state().failed(answered500)
    expect(obstacle()).toBe('unhealthy')
    expect(health.report()).toEqual([
      { endpoint: 'e', state: 'unhealthy', sinceMs: clock.nowMs(), reason: 'e answered 500', inFlight: 0 },
    ])
    expect(lines).toMatchObject([{ msg: 'endpoint is unhealthy', endpoint: 'e', reason: 'e answered 500' }])
  })

  it('stays in however often it answers that it has enough to do', async () => {
    const { state, obstacle } = await scene()
    for (let time = 0; time < 10; time++) state().failed(limited)
    expect(obstacle()).toBe(undefined)
  })

  it('is out after as many failures as the settings say', async () => {
    const { state, obstacle } = await scene('', 'unhealthy_after: 1')
    state().failed(refused)
    expect(obstacle()).toBe('unhealthy')
  })
})

describe('a reload', () => {
  it('keeps what is known of an endpoint that leads to the same place and is asked alike', async () => {
    const { state, adopt, obstacle } = await scene('', 'unhealthy_after: 1')
    state().failed(refused)
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
    state().failed(refused)
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
    for (let time = 0; time < 3; time++) state().failed(refused)
    for (const pauseMs of [5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 120_000]) {
      const before = probes.length
      clock.advance(pauseMs - 1)
      expect(probes).toHaveLength(before)
      clock.advance(1)
      expect(probes).toHaveLength(before + 1)
      // What is still on its way fails, too: that asks for no second probe.
      state().failed(refused)
      clock.advance(300_000)
      expect(probes).toHaveLength(before + 1)
      await probes.at(-1)?.answer(ILL)
    }
    expect(obstacle()).toBe('unhealthy')
    expect(state().report().reason).toBe('Nothing listens there.')
  })

  it('shortens each pause by chance, so that many gateways do not knock in step', async () => {
    const { state, probes, clock } = await scene('', '', 0.5)
    for (let time = 0; time < 3; time++) state().failed(refused)
    clock.advance(4_249)
    expect(probes).toHaveLength(0)
    clock.advance(1)
    expect(probes).toHaveLength(1)
  })

  it('is in again when a probe succeeds, and its next illness begins with a short pause', async () => {
    const { state, probes, clock, obstacle, lines } = await scene()
    const fallIll = () => {
      for (let time = 0; time < 3; time++) state().failed(refused)
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
    for (let time = 0; time < 3; time++) state().failed(refused)
    state().succeeded()
    expect(obstacle()).toBe(undefined)
    expect(clock.pending).toBe(0)
  })

  it('tells its probe whether it had answered, wrongly, or was not there', async () => {
    const { state, probes, clock } = await scene('', 'unhealthy_after: 1')
    state().failed(answered500)
    clock.advance(5_000)
    expect(probes[0]?.hasAnswered).toBe(true)
    await probes[0]?.answer(WELL)
    state().failed(refused)
    clock.advance(5_000)
    expect(probes[1]?.hasAnswered).toBe(false)
  })

  it('is asked for nothing more once the healer has stopped', async () => {
    const { state, healer, clock } = await scene()
    for (let time = 0; time < 3; time++) state().failed(refused)
    healer.stop()
    expect(clock.pending).toBe(0)
    state().succeeded()
    for (let time = 0; time < 3; time++) state().failed(refused)
    expect(clock.pending).toBe(0)
  })
})

describe('an endpoint with skip_probe', () => {
  const skipping = () => scene(', skip_probe: true', 'unhealthy_after: 1')

  it('is never probed: one request of the traffic tries it after each pause', async () => {
    const { state, probes, clock, obstacle } = await skipping()
    state().failed(refused)
    for (const pauseMs of [5_000, 10_000, 20_000]) {
      clock.advance(pauseMs - 1)
      expect(obstacle()).toBe('unhealthy')
      clock.advance(1)
      expect(obstacle()).toBe(undefined)
      state().enter()
      expect(obstacle()).toBe('unhealthy')
      state().failed(refused)
      state().leave()
      expect(obstacle()).toBe('unhealthy')
    }
    expect(probes).toEqual([])
  })

  it('is in again when that request succeeds', async () => {
    const { state, clock, obstacle } = await skipping()
    state().failed(refused)
    clock.advance(5_000)
    state().enter()
    state().succeeded()
    state().leave()
    expect(obstacle()).toBe(undefined)
  })

  it('is tried by another request where the first one told nothing', async () => {
    const { state, clock, obstacle } = await skipping()
    state().failed(refused)
    clock.advance(5_000)
    state().enter()
    state().leave()
    expect(obstacle()).toBe('unhealthy')
    clock.advance(10_000)
    expect(obstacle()).toBe(undefined)
  })
})
