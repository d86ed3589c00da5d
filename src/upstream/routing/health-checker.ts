import type { Clock, Timer } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { Probe } from '../probe.ts'
import type { EndpointState } from './endpoint-state.ts'
import type { HealthRegistry } from './health-registry.ts'

/** Timeout of one probe. */
const PROBE_MS = 10_000
/** Each pause is shortened by up to this fraction, so that several gateways do not probe at the same time. */
const JITTER = 0.3

export interface HealthCheckerPorts {
  readonly health: HealthRegistry
  readonly probe: Pick<Probe, 'check'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** An unhealthy endpoint that is probed. */
interface RecoveringEndpoint {
  pauseMs: number
  /** Set while it waits for its next probe. */
  timer: Timer | undefined
  readonly abort: AbortController
}

/**
 * Detects the recovery of unhealthy endpoints (spec/requests.md §4): one probe at a time, after a growing, jittered pause.
 * Endpoints that must not be probed get one client request instead.
 */
export class HealthChecker {
  readonly #ports: HealthCheckerPorts
  readonly #recovering = new Map<EndpointState, RecoveringEndpoint>()
  #stopped = false

  constructor(ports: HealthCheckerPorts) {
    this.#ports = ports
    ports.health.onChange = state => this.#changed(state)
  }

  /** Stops probing these removed endpoints. */
  forget(states: readonly EndpointState[]): void {
    for (const state of states) this.#remove(state)
  }

  /** Ends every pause and every probe. */
  stop(): void {
    this.#stopped = true
    this.forget([...this.#recovering.keys()])
  }

  #changed(state: EndpointState): void {
    const { health, log } = this.#ports
    const known = this.#recovering.get(state)
    const { name } = state.endpoint
    if (state.healthy) {
      if (known) log.info({ endpoint: name }, 'endpoint is healthy again')
      return this.#remove(state)
    }
    if (this.#stopped) return
    if (!known) {
      log.warn({ endpoint: name, reason: state.report().reason }, 'endpoint is unhealthy')
      const recovering = {
        pauseMs: health.settings.probeMinMs,
        timer: undefined,
        abort: new AbortController(),
      }
      this.#recovering.set(state, recovering)
      if (state.isDoubtful && !state.endpoint.skipProbe) this.#probeNow(state, recovering)
      else this.#pause(state, recovering)
    } else if (state.endpoint.skipProbe) this.#pause(state, known)
  }

  #remove(state: EndpointState): void {
    const recovering = this.#recovering.get(state)
    this.#recovering.delete(state)
    recovering?.timer?.cancel()
    recovering?.abort.abort()
  }

  #pause(state: EndpointState, recovering: RecoveringEndpoint): void {
    const { health, clock, random } = this.#ports
    const { probeMinMs, probeMaxMs } = health.settings
    const pauseMs = Math.min(Math.max(recovering.pauseMs, probeMinMs), probeMaxMs)
    const jitteredMs = pauseMs * (1 - JITTER * random.fraction())
    recovering.pauseMs = pauseMs * 2
    if (state.endpoint.skipProbe) return state.startHalfOpen(jitteredMs)
    recovering.timer = clock.after(jitteredMs, () => this.#probeNow(state, recovering))
  }

  #probeNow(state: EndpointState, recovering: RecoveringEndpoint): void {
    recovering.timer = undefined
    this.#probe(state, recovering).catch((error: unknown) =>
      this.#ports.log.error({ err: error, endpoint: state.endpoint.name }, 'a probe failed to run'),
    )
  }

  async #probe(state: EndpointState, recovering: RecoveringEndpoint): Promise<void> {
    const { signal } = recovering.abort
    const outcome = await this.#ports.probe.check(state.endpoint, state.isReached, {
      timeoutMs: PROBE_MS,
      signal,
    })
    if (signal.aborted) return
    if (outcome.ok) return state.succeeded()
    const { cause, status } = outcome.diagnosis
    state.stillUnhealthy(cause, status !== undefined)
    this.#pause(state, recovering)
  }
}
