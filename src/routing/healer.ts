import type { Chance } from '../base/chance.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Probe } from '../relay/probe.ts'
import type { EndpointState } from './endpoint-state.ts'
import type { HealthBook } from './health-book.ts'

/** How long one probe may take. */
const PROBE_MS = 10_000
/** Each pause is up to this much of itself shorter, so that many gateways do not knock in step. */
const JITTER = 0.3

export interface HealerPorts {
  readonly health: HealthBook
  readonly probe: Pick<Probe, 'heal'>
  readonly clock: Clock
  readonly chance: Chance
  readonly log: Log
}

/** An unhealthy endpoint on its way back. */
interface Patient {
  pauseMs: number
  /** While it waits for its next probe or trial. */
  timer: Timer | undefined
  readonly abort: AbortController
}

/**
 * Brings unhealthy endpoints back (DESIGN §7): one probe at a time after a growing, jittered pause; those that must
 * not be probed get one request of the traffic instead.
 */
export class Healer {
  readonly #ports: HealerPorts
  readonly #patients = new Map<EndpointState, Patient>()
  #stopped = false

  constructor(ports: HealerPorts) {
    this.#ports = ports
    ports.health.onTurn = state => this.#turned(state)
  }

  /** Nothing more is asked for these: their endpoints are gone. */
  forget(states: readonly EndpointState[]): void {
    for (const state of states) this.#discharge(state)
  }

  /** Ends every pause and every probe. */
  stop(): void {
    this.#stopped = true
    this.forget([...this.#patients.keys()])
  }

  #turned(state: EndpointState): void {
    const { health, log } = this.#ports
    const known = this.#patients.get(state)
    const { name } = state.endpoint
    if (state.healthy) {
      if (known) log.info({ endpoint: name }, 'endpoint is healthy again')
      return this.#discharge(state)
    }
    if (this.#stopped) return
    if (!known) {
      log.warn({ endpoint: name, reason: state.report().reason }, 'endpoint is unhealthy')
      const patient = { pauseMs: health.settings.probeMinMs, timer: undefined, abort: new AbortController() }
      this.#patients.set(state, patient)
      if (state.isDoubtful && !state.endpoint.skipProbe) this.#ask(state, patient)
      else this.#pause(state, patient)
    } else if (state.endpoint.skipProbe) this.#pause(state, known)
  }

  #discharge(state: EndpointState): void {
    const patient = this.#patients.get(state)
    this.#patients.delete(state)
    patient?.timer?.cancel()
    patient?.abort.abort()
  }

  #pause(state: EndpointState, patient: Patient): void {
    const { health, clock, chance } = this.#ports
    const { probeMinMs, probeMaxMs } = health.settings
    const pauseMs = Math.min(Math.max(patient.pauseMs, probeMinMs), probeMaxMs)
    const jitteredMs = pauseMs * (1 - JITTER * chance.fraction())
    patient.pauseMs = pauseMs * 2
    if (state.endpoint.skipProbe) return state.openTrial(jitteredMs)
    patient.timer = clock.after(jitteredMs, () => this.#ask(state, patient))
  }

  #ask(state: EndpointState, patient: Patient): void {
    patient.timer = undefined
    this.#probe(state, patient).catch((error: unknown) =>
      this.#ports.log.error({ err: error, endpoint: state.endpoint.name }, 'a probe failed to run'),
    )
  }

  async #probe(state: EndpointState, patient: Patient): Promise<void> {
    const { signal } = patient.abort
    const outcome = await this.#ports.probe.heal(state.endpoint, state.isReached, {
      timeoutMs: PROBE_MS,
      signal,
    })
    if (signal.aborted) return
    if (outcome.ok) return state.succeeded()
    const { cause, status } = outcome.diagnosis
    state.stillIll(cause, status !== undefined)
    this.#pause(state, patient)
  }
}
