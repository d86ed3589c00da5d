import type { Clock } from '../base/clock.ts'
import { UpstreamFailure } from '../relay/classify.ts'
import type { EndpointEntry, HealthSettings } from '../snapshot/types.ts'

/** What is known of an endpoint at runtime (DESIGN §2); never in YAML, and kept across reloads. */
export interface EndpointHealth {
  readonly endpoint: string
  readonly state: 'unknown' | 'healthy' | 'unhealthy'
  /** Wall clock. */
  readonly sinceMs: number
  /** Why it is unhealthy. */
  readonly reason?: string
  /** Wall clock: it asked to be left alone until then. */
  readonly restingUntilMs?: number
  /** When it is asked again, while it is unhealthy. Wall clock. */
  readonly nextTrialMs?: number
  /** Requests at hand. */
  readonly inFlight: number
}

/** Why an endpoint is passed over at the moment. */
export type Obstacle = 'disabled' | 'unhealthy' | 'resting' | 'full'

/** What a failure says about the endpoint; an {@link UpstreamFailure} says it. */
export interface Ailment {
  readonly isIll: boolean
  readonly hasAnswered: boolean
  readonly restMs: number | undefined
  readonly reason: string | undefined
}

export interface StatePorts {
  readonly clock: Clock
  readonly settings: () => HealthSettings
  /** It has become unhealthy, or well again; or it is unhealthy still, and has just been seen to be. */
  readonly onTurn: (state: EndpointState) => void
}

/**
 * The health of one endpoint.
 *
 *     unknown ──success──▶ healthy ◀──success of a probe or a trial──┐
 *        │                    │                                      │
 *        └── `unhealthy_after` failures in a row ──▶ unhealthy ──────┘
 *
 * Failures count in the order in which they end, and one success takes them back: an endpoint that serves most
 * requests stays in.
 */
export class EndpointState {
  readonly endpoint: EndpointEntry
  readonly #ports: StatePorts
  inFlight = 0
  #state: EndpointHealth['state'] = 'unknown'
  #sinceMs: number
  #reason: string | undefined
  #failuresInRow = 0
  #hasAnswered = false
  /** Monotonic. */
  #restingUntilMs = Number.NEGATIVE_INFINITY
  #restFailure: UpstreamFailure | undefined
  /** Monotonic: from then on one request may try it, where no probe may. */
  #trialFromMs = Number.POSITIVE_INFINITY
  /** The trial is under way. */
  #onTrial = false

  constructor(endpoint: EndpointEntry, ports: StatePorts) {
    this.endpoint = endpoint
    this.#ports = ports
    this.#sinceMs = ports.clock.nowMs()
  }

  /** What made it unhealthy was an answer: that it answers tells nothing of whether it is well. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  get healthy(): boolean {
    return this.#state !== 'unhealthy'
  }

  /** Why a request cannot go there now, or undefined where it can. */
  obstacle(endpoint: EndpointEntry, nowMs: number): Obstacle | undefined {
    if (!endpoint.enabled) return 'disabled'
    if (this.#state === 'unhealthy' && nowMs < this.#trialFromMs) return 'unhealthy'
    if (nowMs < this.#restingUntilMs) return 'resting'
    return this.inFlight >= endpoint.maxConcurrency ? 'full' : undefined
  }

  /** A request goes there. */
  enter(): void {
    this.inFlight++
    if (this.#state !== 'unhealthy') return
    // One request is the trial: the others wait for what comes of it.
    this.#trialFromMs = Number.POSITIVE_INFINITY
    this.#onTrial = true
  }

  leave(): void {
    this.inFlight--
    if (!this.#onTrial || this.#state !== 'unhealthy') return
    // Its client left, or it told nothing either way: another has to try.
    this.#onTrial = false
    this.#ports.onTurn(this)
  }

  /** It has answered. */
  succeeded(): void {
    this.#failuresInRow = 0
    this.#onTrial = false
    if (this.#state !== 'healthy') this.#turn('healthy', undefined)
  }

  failed(failure: Ailment): void {
    const { clock, settings } = this.#ports
    if (failure.restMs !== undefined)
      this.#restingUntilMs = Math.max(this.#restingUntilMs, clock.monotonicMs() + failure.restMs)
    if (failure instanceof UpstreamFailure && failure.restMs !== undefined) this.#restFailure = failure
    if (!failure.isIll) return
    this.#failuresInRow++
    this.#hasAnswered = failure.hasAnswered
    this.#onTrial = false
    if (this.#state === 'unhealthy') this.#ports.onTurn(this)
    else if (this.#failuresInRow >= settings().unhealthyAfter) this.#turn('unhealthy', failure.reason)
  }

  /** A probe found it as it was, or in another way. */
  stillIll(reason: string): void {
    if (this.#state === 'unhealthy') this.#reason = reason
  }

  /** Lets one request try it, in `ms` from now: nothing else may tell whether it is well again. */
  openTrial(ms: number): void {
    this.#trialFromMs = this.#ports.clock.monotonicMs() + ms
  }

  /** What it said when it asked to be left alone, and for how long it still does. */
  resting(nowMs: number): { readonly failure: UpstreamFailure; readonly forMs: number } | undefined {
    const forMs = this.#restingUntilMs - nowMs
    return this.#restFailure && forMs > 0 ? { failure: this.#restFailure, forMs } : undefined
  }

  report(): EndpointHealth {
    const { clock } = this.#ports
    const skewMs = clock.nowMs() - clock.monotonicMs()
    const rests = this.#restingUntilMs > clock.monotonicMs()
    return {
      endpoint: this.endpoint.name,
      state: this.#state,
      sinceMs: this.#sinceMs,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      ...(rests && { restingUntilMs: Math.round(this.#restingUntilMs + skewMs) }),
      ...(Number.isFinite(this.#trialFromMs) && { nextTrialMs: Math.round(this.#trialFromMs + skewMs) }),
      inFlight: this.inFlight,
    }
  }

  #turn(state: 'healthy' | 'unhealthy', reason: string | undefined): void {
    this.#state = state
    this.#reason = reason
    this.#sinceMs = this.#ports.clock.nowMs()
    this.#trialFromMs = Number.POSITIVE_INFINITY
    this.#ports.onTurn(this)
  }
}
