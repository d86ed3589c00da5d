import type { Clock } from '../base/clock.ts'
import { UpstreamFailure } from '../relay/classify.ts'
import type { EndpointEntry, HealthSettings } from '../snapshot/types.ts'
import { FailureRow, RecentSuccesses } from './failure-row.ts'

/** What is known of an endpoint at runtime (spec/resources.md §2); never in YAML, and kept across reloads. */
export interface EndpointHealth {
  readonly endpoint: string
  readonly state: 'unknown' | 'healthy' | 'unhealthy'
  /** Wall clock. */
  readonly sinceMs: number
  /** Why it is unhealthy. */
  readonly reason?: string
  /** Wall clock: it asked to be left alone until then. */
  readonly cooldownUntilMs?: number
  /** When it is asked again, while it is unhealthy. Wall clock. */
  readonly nextProbeMs?: number
  /** Requests at hand. */
  readonly inFlight: number
}

/** Why an endpoint is passed over at the moment. */
export type Obstacle = 'disabled' | 'unhealthy' | 'resting' | 'full'

/** What a failure says about the endpoint; an {@link UpstreamFailure} says it. */
export interface FailureInfo {
  readonly countsAsFailure: boolean
  /** The request had gone to it, wholly or in part: what it asks for may be the cause. */
  readonly wasSent: boolean
  readonly hasAnswered: boolean
  readonly cooldownMs: number | undefined
  readonly reason: string | undefined
}

export interface StatePorts {
  readonly clock: Clock
  readonly settings: () => HealthSettings
  /** It has become unhealthy, or well again; or it is unhealthy still, and a trial has ended. */
  readonly onTurn: (state: EndpointState) => void
}

/** For so long an answer to somebody shows that it is the prompts of another one that fail. */
const SERVES_OTHERS_MS = 60_000
/** A probe is a source of its own. */
const PROBE = 'probe'

/**
 * The health of one endpoint.
 *
 *     unknown ──success──▶ healthy ◀──success of a probe or a request──┐
 *        │                    │                                        │
 *        └── `unhealthy_after` failures in a row ──▶ unhealthy ────────┘
 *                                                    silence: out · answers: passed over while others are usable
 *
 * Failures count in the order in which they end, and one success takes them back: an endpoint that serves most
 * requests stays in. Failures of one client alone do not count where another was answered within a minute. An
 * unhealthy endpoint is out, so that no request goes there, only where it cannot be reached, or does not answer several
 * clients or a probe. One that answers, however wrongly, is still asked where its publication has no other: no prompt
 * can take a model away.
 */
export class EndpointState {
  readonly endpoint: EndpointEntry
  readonly #ports: StatePorts
  inFlight = 0
  #state: EndpointHealth['state'] = 'unknown'
  #sinceMs: number
  #reason: string | undefined
  readonly #failures = new FailureRow()
  /** Those since its last answer of whatever kind. */
  readonly #silences = new FailureRow()
  readonly #successes = new RecentSuccesses()
  #isOut = false
  #isReached = false
  /** Monotonic. */
  #cooldownUntilMs = Number.NEGATIVE_INFINITY
  #cooldownFailure: UpstreamFailure | undefined
  /** Monotonic: from then on one request may try it, where no probe may. */
  #halfOpenFromMs = Number.POSITIVE_INFINITY
  /** The trial is under way. */
  #isHalfOpen = false

  constructor(endpoint: EndpointEntry, ports: StatePorts) {
    this.endpoint = endpoint
    this.#ports = ports
    this.#sinceMs = ports.clock.nowMs()
  }

  /** What made it unhealthy was an answer, or came behind a request: that it can be reached tells nothing. */
  get isReached(): boolean {
    return this.#isReached
  }

  /** One client alone has met its failures: a probe can tell whether it is the endpoint that fails. */
  get isDoubtful(): boolean {
    return !this.healthy && !this.#isProof(this.#failures)
  }

  get state(): EndpointHealth['state'] {
    return this.#state
  }

  get healthy(): boolean {
    return this.#state !== 'unhealthy'
  }

  /**
   * Why a request cannot go there now, or undefined where it can.
   *
   * @param isLastResort No other endpoint is usable: one that answers will do, though it is unhealthy.
   */
  obstacle(endpoint: EndpointEntry, nowMs: number, isLastResort = false): Obstacle | undefined {
    if (!endpoint.enabled) return 'disabled'
    const isPassedOver = this.#state === 'unhealthy' && nowMs < this.#halfOpenFromMs
    if (isPassedOver && (this.#isOut || !isLastResort)) return 'unhealthy'
    if (nowMs < this.#cooldownUntilMs) return 'resting'
    return this.inFlight >= endpoint.maxConcurrency ? 'full' : undefined
  }

  /** A request goes there. */
  enter(): void {
    this.inFlight++
    if (this.#state !== 'unhealthy' || this.#ports.clock.monotonicMs() < this.#halfOpenFromMs) return
    // One request is the trial: the others wait for what comes of it.
    this.#halfOpenFromMs = Number.POSITIVE_INFINITY
    this.#isHalfOpen = true
  }

  leave(): void {
    this.inFlight--
    if (!this.#isHalfOpen || this.#state !== 'unhealthy') return
    // Its client left, or it told nothing either way: another has to try.
    this.#isHalfOpen = false
    this.#ports.onTurn(this)
  }

  /** It has answered; `source` is whose request it was, and absent of a probe. */
  succeeded(source = PROBE): void {
    this.#failures.clear()
    this.#silences.clear()
    this.#successes.add(source, this.#ports.clock.monotonicMs())
    this.#isHalfOpen = false
    this.#isOut = false
    if (this.#state !== 'healthy') this.#turn('healthy', undefined)
  }

  /** It asked to be left alone, if it did. */
  coolDown(failure: FailureInfo): void {
    if (failure.cooldownMs === undefined) return
    const untilMs = this.#ports.clock.monotonicMs() + failure.cooldownMs
    this.#cooldownUntilMs = Math.max(this.#cooldownUntilMs, untilMs)
    if (failure instanceof UpstreamFailure) this.#cooldownFailure = failure
  }

  /** @param source Whose request it was: that of a tenant, or of a key without one. */
  failed(failure: FailureInfo, source: string): void {
    this.coolDown(failure)
    if (!failure.countsAsFailure) return
    const cause = failure.wasSent ? source : undefined
    this.#failures.add(cause)
    if (failure.hasAnswered) this.#silences.clear()
    else this.#silences.add(cause)
    this.#isReached = failure.wasSent
    this.#isOut = !failure.hasAnswered && (this.#isOut || this.#isProof(this.#silences))
    const wasHalfOpen = this.#isHalfOpen
    this.#isHalfOpen = false
    if (this.#state === 'unhealthy') {
      if (wasHalfOpen) this.#ports.onTurn(this)
    } else if (this.#isFailing(source)) this.#turn('unhealthy', failure.reason)
  }

  /**
   * A probe found it as it was, or in another way.
   *
   * @param hasAnswered The probe was answered, wrongly.
   */
  stillUnhealthy(reason: string, hasAnswered: boolean): void {
    if (this.#state !== 'unhealthy') return
    this.#reason = reason
    this.#isOut = !hasAnswered
  }

  /** Lets one request try it, in `ms` from now: nothing else may tell whether it is well again. */
  startHalfOpen(ms: number): void {
    this.#halfOpenFromMs = this.#ports.clock.monotonicMs() + ms
  }

  /** What it said when it asked to be left alone, and for how long it still does. */
  cooldown(nowMs: number): { readonly failure: UpstreamFailure; readonly forMs: number } | undefined {
    const forMs = this.#cooldownUntilMs - nowMs
    return this.#cooldownFailure && forMs > 0 ? { failure: this.#cooldownFailure, forMs } : undefined
  }

  report(): EndpointHealth {
    const { clock } = this.#ports
    const skewMs = clock.nowMs() - clock.monotonicMs()
    const isCoolingDown = this.#cooldownUntilMs > clock.monotonicMs()
    return {
      endpoint: this.endpoint.name,
      state: this.#state,
      sinceMs: this.#sinceMs,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      ...(isCoolingDown && { cooldownUntilMs: Math.round(this.#cooldownUntilMs + skewMs) }),
      ...(Number.isFinite(this.#halfOpenFromMs) && {
        nextProbeMs: Math.round(this.#halfOpenFromMs + skewMs),
      }),
      inFlight: this.inFlight,
    }
  }

  /** Whether failures in a row are the endpoint's: as many as the settings say, and not of one client alone. */
  #isProof(failures: FailureRow): boolean {
    const { unhealthyAfter } = this.#ports.settings()
    return failures.count >= unhealthyAfter && (failures.isSpread || unhealthyAfter === 1)
  }

  #isFailing(source: string): boolean {
    if (this.#isProof(this.#failures)) return true
    if (this.#failures.count < this.#ports.settings().unhealthyAfter) return false
    return this.#ports.clock.monotonicMs() - this.#successes.lastOfOthers(source) > SERVES_OTHERS_MS
  }

  #turn(state: 'healthy' | 'unhealthy', reason: string | undefined): void {
    this.#state = state
    this.#reason = reason
    this.#sinceMs = this.#ports.clock.nowMs()
    this.#halfOpenFromMs = Number.POSITIVE_INFINITY
    this.#ports.onTurn(this)
  }
}
