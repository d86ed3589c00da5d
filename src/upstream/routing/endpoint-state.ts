import type { Clock } from '../../base/clock.ts'
import type { EndpointEntry, HealthSettings } from '../../snapshot/types.ts'
import { UpstreamFailure } from '../classify.ts'
import type { NodeObstacle } from '../nodes.ts'

/** The runtime state of an endpoint (spec/resources.md §2); never in YAML, and kept across reloads. */
export interface EndpointHealth {
  readonly endpoint: string
  /** The node, of an endpoint on nodes. */
  readonly node?: string
  readonly state: 'unknown' | 'healthy' | 'unhealthy'
  /** Wall clock. */
  readonly sinceMs: number
  /** Why it is unhealthy. */
  readonly reason?: string
  /** Wall clock: end of the cooldown that the endpoint asked for. */
  readonly cooldownUntilMs?: number
  /** Wall clock: when one request may try the unhealthy endpoint. */
  readonly nextProbeMs?: number
  /** Requests in flight. */
  readonly inFlight: number
}

/** Why an endpoint is currently skipped. */
export type Obstacle = 'disabled' | 'unhealthy' | 'cooling_down' | 'full' | NodeObstacle

/** The facts of a failure that its endpoint's health depends on; {@link UpstreamFailure} has them. */
export interface FailureInfo {
  readonly countsAsFailure: boolean
  /** The request was sent, wholly or in part: its content may be the cause. */
  readonly wasSent: boolean
  readonly hasAnswered: boolean
  readonly cooldownMs: number | undefined
  /** The endpoint has too much to do, or is not let in: an answer that comes at once must not draw all requests. */
  readonly isOverload?: boolean
  readonly reason: string | undefined
}

export interface StatePorts {
  readonly clock: Clock
  readonly settings: () => HealthSettings
  /** The endpoint has become unhealthy or healthy; or it is still unhealthy, and a half-open request has ended. */
  readonly onChange: (state: EndpointState) => void
}

/** The requests that a server works on. */
export interface EndpointLoad {
  inFlight: number
}

/** A success of another source within this time shows that the failing source's prompts are the cause. */
const SERVES_OTHERS_MS = 60_000
const REST_MS = 1_000
/** The source of probes. */
const PROBE = 'probe'

/**
 * The health of one endpoint.
 *
 *     unknown ──success──▶ healthy ◀──success of a probe or a request──┐
 *        │                    │                                        │
 *        └── `unhealthy_after` failures in a row ──▶ unhealthy ────────┘
 *                                                    silence: out · answers: used only if no other is usable
 *
 * Failures count in the order in which they end, and one success clears them: an endpoint that serves most requests
 * stays healthy. Failures of a single client do not count if another client was answered within a minute. An unhealthy
 * endpoint is out (gets no requests at all) only if it is unreachable, or silent for several clients or a probe. One that
 * answers with errors still gets requests if its publication has no other: no prompt can make a model unavailable.
 */
export class EndpointState {
  /** As of the current snapshot. */
  endpoint: EndpointEntry
  readonly #ports: StatePorts
  /** Shared by the states that follow each other when an endpoint changes: its server is the same. */
  readonly load: EndpointLoad
  #state: EndpointHealth['state'] = 'unknown'
  #sinceMs: number
  #reason: string | undefined
  readonly #failures = new FailureStreak()
  /** Failures since the last answer, where an error counts as an answer. */
  readonly #silences = new FailureStreak()
  readonly #successes = new RecentSuccesses()
  #isOut = false
  #isReached = false
  /** Monotonic. */
  #cooldownUntilMs = Number.NEGATIVE_INFINITY
  #cooldownFailure: UpstreamFailure | undefined
  /** Monotonic: until then it is used only if no other endpoint is usable. */
  #restUntilMs = Number.NEGATIVE_INFINITY
  /** Monotonic: from then on one request may try an endpoint that must not be probed. */
  #halfOpenFromMs = Number.POSITIVE_INFINITY
  /** The half-open request is in flight. */
  #isHalfOpen = false

  constructor(endpoint: EndpointEntry, ports: StatePorts, load: EndpointLoad = { inFlight: 0 }) {
    this.endpoint = endpoint
    this.#ports = ports
    this.load = load
    this.#sinceMs = ports.clock.nowMs()
  }

  get inFlight(): number {
    return this.load.inFlight
  }

  /** The last failed request was sent: neither a connection nor a list of models proves that the endpoint works again. */
  get isReached(): boolean {
    return this.#isReached
  }

  /** All its failures came from one client: a probe can determine whether the endpoint is the cause. */
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
   * Why a request cannot use the endpoint now; undefined if it can.
   *
   * @param isLastResort No other endpoint is usable: accept an unhealthy one that answers.
   */
  obstacle(endpoint: EndpointEntry, nowMs: number, isLastResort = false): Obstacle | undefined {
    if (!endpoint.enabled) return 'disabled'
    const isSkipped = this.#state === 'unhealthy' && nowMs < this.#halfOpenFromMs
    if (isSkipped && (this.#isOut || !isLastResort)) return 'unhealthy'
    if (nowMs < this.#cooldownUntilMs || (nowMs < this.#restUntilMs && !isLastResort)) return 'cooling_down'
    const limit = endpoint.node === undefined ? endpoint.maxConcurrency : endpoint.nodes?.maxConcurrency
    return limit !== undefined && this.inFlight >= limit ? 'full' : undefined
  }

  /** A request was assigned to the endpoint. @returns whether it is the half-open one. */
  enter(): boolean {
    this.load.inFlight++
    if (this.#state !== 'unhealthy' || this.#ports.clock.monotonicMs() < this.#halfOpenFromMs) return false
    // Only one half-open request: no other until it ends.
    this.#halfOpenFromMs = Number.POSITIVE_INFINITY
    this.#isHalfOpen = true
    return true
  }

  /**
   * @param isHalfOpen As {@link enter} returned it: an older request says nothing of the half-open one.
   * @param wasDispatched False: the request was rejected before, for example by a limit.
   */
  leave(isHalfOpen: boolean, wasDispatched: boolean): void {
    this.load.inFlight--
    if (!isHalfOpen || !this.#isHalfOpen || this.#state !== 'unhealthy') return
    this.#isHalfOpen = false
    // The half-open request was inconclusive, for example because its client disconnected: another one has to try.
    if (wasDispatched) this.#ports.onChange(this)
    else this.#halfOpenFromMs = this.#ports.clock.monotonicMs()
  }

  /** The endpoint answered a request of `source`, or a probe. */
  succeeded(source = PROBE): void {
    this.#failures.clear()
    this.#silences.clear()
    this.#successes.add(source, this.#ports.clock.monotonicMs())
    this.#isHalfOpen = false
    this.#isOut = false
    if (this.#state !== 'healthy') this.#setState('healthy', undefined)
  }

  /** Starts the cooldown that the endpoint asked for; or a rest, if it has too much to do and did not say for how long. */
  coolDown(failure: FailureInfo): void {
    if (failure.cooldownMs === undefined) {
      if (failure.isOverload) this.#restUntilMs = this.#ports.clock.monotonicMs() + REST_MS
      return
    }
    const untilMs = this.#ports.clock.monotonicMs() + failure.cooldownMs
    this.#cooldownUntilMs = Math.max(this.#cooldownUntilMs, untilMs)
    if (failure instanceof UpstreamFailure) this.#cooldownFailure = failure
  }

  /** @param source The tenant of the request, or the key if it has no tenant. */
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
      if (wasHalfOpen) this.#ports.onChange(this)
    } else if (this.#isFailing(source)) this.#setState('unhealthy', failure.reason)
  }

  /**
   * A probe failed.
   *
   * @param hasAnswered The probe got an error answer: the endpoint may serve as a last resort.
   */
  stillUnhealthy(reason: string, hasAnswered: boolean): void {
    if (this.#state !== 'unhealthy') return
    this.#reason = reason
    this.#isOut = !hasAnswered
  }

  /** Lets one request try it `ms` from now, for an endpoint that must not be probed. */
  startHalfOpen(ms: number): void {
    this.#halfOpenFromMs = this.#ports.clock.monotonicMs() + ms
  }

  /** The failure that started the current cooldown, and the remaining time. */
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
      ...(this.endpoint.node !== undefined && { node: this.endpoint.node }),
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

  /** Whether the endpoint caused the failures: at least `unhealthyAfter`, and not of a single client. */
  #isProof(failures: FailureStreak): boolean {
    const { unhealthyAfter } = this.#ports.settings()
    return failures.count >= unhealthyAfter && (failures.isSpread || unhealthyAfter === 1)
  }

  #isFailing(source: string): boolean {
    if (this.#isProof(this.#failures)) return true
    if (this.#failures.count < this.#ports.settings().unhealthyAfter) return false
    return this.#ports.clock.monotonicMs() - this.#successes.lastOfOthers(source) > SERVES_OTHERS_MS
  }

  #setState(state: 'healthy' | 'unhealthy', reason: string | undefined): void {
    this.#state = state
    this.#reason = reason
    this.#sinceMs = this.#ports.clock.nowMs()
    this.#halfOpenFromMs = Number.POSITIVE_INFINITY
    this.#ports.onChange(this)
  }
}

/**
 * Counts failures since the last success, and whether they have several sources. A client that repeats one prompt is one
 * source: the prompt may be the cause.
 */
export class FailureStreak {
  #count = 0
  #source: string | undefined
  #isSpread = false

  get count(): number {
    return this.#count
  }

  /** Several clients got failures, or a failure had no request as its cause. */
  get isSpread(): boolean {
    return this.#isSpread
  }

  /** @param source The source of the failed request; undefined if nothing of it was sent. */
  add(source: string | undefined): void {
    this.#count++
    if (source === undefined || (this.#source !== undefined && this.#source !== source)) this.#isSpread = true
    this.#source ??= source
  }

  clear(): void {
    this.#count = 0
    this.#source = undefined
    this.#isSpread = false
  }
}

/** The last success of the two latest sources, to know whether an endpoint serves other sources than a failing one. */
class RecentSuccesses {
  #source = ''
  #atMs = Number.NEGATIVE_INFINITY
  /** Last success of the previous source. */
  #otherAtMs = Number.NEGATIVE_INFINITY

  add(source: string, nowMs: number): void {
    if (source !== this.#source) {
      this.#otherAtMs = this.#atMs
      this.#source = source
    }
    this.#atMs = nowMs
  }

  /** Time of the last success of another source. */
  lastOfOthers(source: string): number {
    return source === this.#source ? this.#otherAtMs : this.#atMs
  }
}
