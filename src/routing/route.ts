import type { GwError } from '../base/catalogue/wire.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { UpstreamFailure } from '../relay/classify.ts'
import type { Protocol } from '../schema/endpoint.ts'
import type { PublicationEntry, Target } from '../snapshot/types.ts'
import { boundTo, leastLoaded, noEndpointError, obstacleOf } from './candidates.ts'
import type { EndpointState, FailureInfo } from './endpoint-state.ts'
import type { HealthRegistry } from './health-registry.ts'
import type { RetryBudget } from './retry-budget.ts'

const MAX_ATTEMPTS = 3

export interface RoutePorts {
  readonly health: HealthRegistry
  readonly budget: RetryBudget
  readonly random: Random
  readonly clock: Clock
}

/**
 * The way of one request through the endpoints of its publication (spec/requests.md §4): which one serves it, and which one is
 * next where that one fails. The endpoint that is chosen counts the request among those at hand until it has been
 * left.
 *
 *     usable (enabled, healthy, not resting, not full) ──▶ lowest tier ──▶ two drawn by weight ──▶ the less loaded
 *       └─ none is: those that are unhealthy, but answer
 */
export class Route {
  readonly #bound: readonly Target[]
  readonly #ports: RoutePorts
  readonly #source: string
  #target: Target
  #state: EndpointState
  #tried: EndpointState[] | undefined
  #attempts = 1
  /** What endpoints have answered this request with in vain, by error code. */
  #answers: string[] | undefined
  #isIn = true

  /**
   * Chooses the first endpoint.
   *
   * @param source Whose request it is: failures are counted by it, see `EndpointState`.
   * @throws {GwError} wrong_protocol where no binding speaks the path's protocol; no_healthy_endpoint where none that
   * does is usable; what an upstream said that asked to be left alone, where all of them did.
   */
  constructor(publication: PublicationEntry, protocol: Protocol, ports: RoutePorts, source: string) {
    this.#bound = boundTo(publication, protocol)
    this.#ports = ports
    this.#source = source
    const target = this.#pick()
    if (!target) throw noEndpointError(this.#bound, ports)
    ports.budget.deposit()
    this.#target = target
    this.#state = ports.health.of(target.endpoint)
    this.#state.enter()
  }

  /** The endpoint that was chosen last. */
  get target(): Target {
    return this.#target
  }

  /** How many endpoints have been asked, the present one included. */
  get attempts(): number {
    return this.#attempts
  }

  /** The longest that any of the endpoints may take. */
  get longestMs(): number {
    return this.#bound.reduce((longest, { endpoint }) => Math.max(longest, endpoint.totalMs), 0)
  }

  /** The present one has failed. @returns whether another one was chosen. */
  tryNext(failure: UpstreamFailure): boolean {
    this.#failed(failure, failure.code)
    if (!failure.mayTryNext || this.#attempts >= MAX_ATTEMPTS) return false
    this.#tried = [...(this.#tried ?? []), this.#state]
    const target = this.#pick()
    if (!target || !this.#ports.budget.withdraw()) return false
    this.leave()
    this.#attempts++
    this.#target = target
    this.#state = this.#ports.health.of(target.endpoint)
    this.#state.enter()
    this.#isIn = true
    return true
  }

  /** The present one has failed, and no other is to be asked. */
  failed(failure: UpstreamFailure): void {
    this.#failed(failure, failure.code)
  }

  /** It has answered, to the end. */
  succeeded(): void {
    this.#state.succeeded(this.#source)
  }

  /** Its answer broke off, or was none at its end: too late for another endpoint. */
  failedMidway(error: GwError): void {
    const reason = error.reason ?? error.message
    this.#failed(
      { countsAsFailure: true, wasSent: true, hasAnswered: true, cooldownMs: undefined, reason },
      error.code,
    )
  }

  /** The request is over. */
  leave(): void {
    if (this.#isIn) this.#state.leave()
    this.#isIn = false
  }

  /** A request that two endpoints answer alike is to blame itself: it counts against the first of them at most. */
  #failed(failure: FailureInfo, code: string): void {
    if (failure.hasAnswered && this.#answers?.includes(code)) return this.#state.coolDown(failure)
    if (failure.hasAnswered) this.#answers = [...(this.#answers ?? []), code]
    this.#state.failed(failure, this.#source)
  }

  /** Of the usable ones in the lowest tier, two drawn by weight, and of these the one with less to do for its weight. */
  #pick(): Target | undefined {
    const [only] = this.#bound
    if (this.#bound.length === 1 && only)
      return this.#isUsable(only) || this.#isUsable(only, true) ? only : undefined
    let usable = this.#bound.filter(target => this.#isUsable(target))
    if (usable.length === 0) usable = this.#bound.filter(target => this.#isUsable(target, true))
    const [first] = usable
    if (!first || usable.length === 1) return first
    const tier = usable.filter(({ priority }) => priority === first.priority)
    if (tier.length === 1) return first
    const sum = tier.reduce((weights, { weight }) => weights + weight, 0)
    const one = pickWeighted(tier, sum * this.#ports.random.fraction()) ?? first
    const other = pickWeighted(tier, sum * this.#ports.random.fraction()) ?? first
    return leastLoaded(one, other, this.#ports.health)
  }

  #isUsable(target: Target, isLastResort = false): boolean {
    if (obstacleOf(target, this.#ports, isLastResort)) return false
    return !this.#tried?.includes(this.#ports.health.of(target.endpoint))
  }
}

/** The target at `mark` of the summed weights. */
function pickWeighted(tier: readonly Target[], mark: number): Target | undefined {
  let rest = mark
  for (const target of tier) {
    rest -= target.weight
    if (rest < 0) return target
  }
  return undefined
}
