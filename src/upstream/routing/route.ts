import { GwError, reasonOf } from '../../base/catalogue/wire.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { InferencePath } from '../../schema/paths.ts'
import type { PublicationEntry, Target } from '../../snapshot/types.ts'
import { findsKept, type Keeper } from '../../snapshot/upstream-account.ts'
import type { UpstreamFailure } from '../classify.ts'
import type { NodeTargets } from '../nodes.ts'
import { boundTo, leastLoaded, noEndpointError, obstacleOf } from './candidates.ts'
import type { EndpointState, FailureInfo } from './endpoint-state.ts'
import type { HealthRegistry } from './health-registry.ts'

const MAX_ATTEMPTS = 3
/** From so many targets on two are drawn first, before all are looked at. */
const MANY = 8

export interface RoutePorts {
  readonly health: HealthRegistry
  readonly budget: RetryBudget
  readonly random: Random
  readonly clock: Clock
  readonly nodes: NodeTargets
}

/**
 * Chooses the endpoint for one request from its publication (spec/requests.md §4), and the next one if that fails. The
 * request counts as in flight at the chosen endpoint until `leave`.
 *
 *     usable (enabled, healthy, not cooling down, not full) ──▶ lowest tier ──▶ two drawn by weight ──▶ the less loaded
 *       └─ none: unhealthy ones that answer
 */
export class Route {
  readonly #bound: readonly Target[]
  readonly #ports: RoutePorts
  readonly #source: string
  #target: Target
  #state: EndpointState
  #tried: EndpointState[] | undefined
  #attempts = 1
  /** Error codes that endpoints have answered this request with. */
  #answers: string[] | undefined
  #isIn = true
  /** For the current endpoint. */
  #isHalfOpen: boolean
  #isDispatched = false

  /**
   * Chooses the first endpoint.
   *
   * @param source The tenant or key of the request, by which failures are counted: see `EndpointState`.
   * @param keeper The endpoint that keeps a stored response, if the request refers to one: no other upstream account may serve it.
   * @throws {GwError} wrong_protocol if no endpoint of the publication serves the path; no_healthy_endpoint if none of them is usable;
   * the upstream's own error if it asked for a cooldown that is in effect.
   */
  constructor(
    publication: PublicationEntry,
    path: InferencePath,
    ports: RoutePorts,
    source: string,
    keeper?: Keeper,
  ) {
    const bound = boundTo(publication, path, ports.nodes)
    this.#bound = keeper ? keeping(bound, keeper) : bound
    this.#ports = ports
    this.#source = source
    const target = this.#pick()
    if (!target) throw noEndpointError(this.#bound, ports)
    this.#target = target
    this.#state = ports.health.of(target.endpoint)
    this.#isHalfOpen = this.#state.enter()
  }

  /** The current endpoint. */
  get target(): Target {
    return this.#target
  }

  /** The longest total timeout of the endpoints. */
  get longestMs(): number {
    return this.#bound.reduce((longest, { endpoint }) => Math.max(longest, endpoint.totalMs), 0)
  }

  /** The request is sent to the current endpoint from now on: the limits have admitted it. */
  dispatched(): void {
    if (!this.#isDispatched) this.#ports.budget.deposit(this.#source)
    this.#isDispatched = true
  }

  /** The current endpoint has failed. @returns whether another one was chosen. */
  tryNext(failure: UpstreamFailure): boolean {
    this.#failed(failure, failure.code)
    if (!failure.mayTryNext || this.#attempts >= MAX_ATTEMPTS) return false
    this.#tried = [...(this.#tried ?? []), this.#state]
    const target = this.#pick()
    if (!target || !this.#ports.budget.withdraw(this.#source)) return false
    this.leave()
    this.#attempts++
    this.#target = target
    this.#state = this.#ports.health.of(target.endpoint)
    this.#isHalfOpen = this.#state.enter()
    this.#isIn = true
    return true
  }

  /** The current endpoint has failed, and no other may be tried. */
  failed(failure: UpstreamFailure): void {
    this.#failed(failure, failure.code)
  }

  /** The current endpoint has answered completely. */
  succeeded(): void {
    this.#state.succeeded(this.#source)
  }

  /** The answer broke off or was invalid: too late for another endpoint. */
  failedMidway(error: GwError): void {
    const reason = reasonOf(error)
    this.#failed(
      { countsAsFailure: true, wasSent: true, hasAnswered: true, cooldownMs: undefined, reason },
      error.code,
    )
  }

  /** The request has ended; idempotent. */
  leave(): void {
    if (this.#isIn) this.#state.leave(this.#isHalfOpen, this.#isDispatched)
    this.#isIn = false
  }

  /** If two endpoints answer with the same error, the request is the cause: only the first endpoint counts a failure. */
  #failed(failure: FailureInfo, code: string): void {
    if (failure.hasAnswered && this.#answers?.includes(code)) return this.#state.coolDown(failure)
    if (failure.hasAnswered) this.#answers = [...(this.#answers ?? []), code]
    this.#state.failed(failure, this.#source)
  }

  /** Draws two usable targets of the lowest tier by weight, and picks the less loaded. */
  #pick(): Target | undefined {
    const [only] = this.#bound
    if (this.#bound.length === 1 && only)
      return this.#isUsable(only) || this.#isUsable(only, true) ? only : undefined
    const drawn = this.#draw()
    if (drawn) return drawn
    let usable = this.#bound.filter(target => this.#isUsable(target))
    if (usable.length === 0) usable = this.#bound.filter(target => this.#isUsable(target, true))
    const [first] = usable
    if (!first || usable.length === 1) return first
    const tier = usable.filter(({ priority }) => priority === first.priority)
    if (tier.length === 1) return first
    const sum = tier.reduce((weights, { weight }) => weights + weight, 0)
    const one = pickWeighted(tier, sum * this.#ports.random.fraction()) ?? first
    const other = pickWeighted(tier, sum * this.#ports.random.fraction()) ?? first
    return leastLoaded(one, other, this.#ports)
  }

  /**
   * As {@link #pick}, without looking at every target: undefined unless both drawn from the lowest tier are usable. A pair that
   * is accepted so has the same distribution as one that is drawn from the usable targets.
   */
  #draw(): Target | undefined {
    const bound = this.#bound
    if (bound.length < MANY) return undefined
    const priority = bound[0]?.priority
    let sum = 0
    let size = 0
    for (; size < bound.length && bound[size]?.priority === priority; size++) sum += bound[size]?.weight ?? 0
    if (sum === 0) return undefined
    const one = pickWeighted(bound, sum * this.#ports.random.fraction(), size)
    const other = pickWeighted(bound, sum * this.#ports.random.fraction(), size)
    if (!one || !other || !this.#isUsable(one) || !this.#isUsable(other)) return undefined
    return leastLoaded(one, other, this.#ports)
  }

  #isUsable(target: Target, isLastResort = false): boolean {
    if (obstacleOf(target, this.#ports, isLastResort)) return false
    return !this.#tried?.includes(this.#ports.health.of(target.endpoint))
  }
}

/**
 * The endpoint that keeps a stored response, or another model of the same upstream account; it continues conversations also
 * without a weight for new ones.
 * @throws {GwError} no_healthy_endpoint if there is none.
 */
function keeping(bound: readonly Target[], keeper: Keeper): readonly Target[] {
  const kept =
    bound.find(({ endpoint }) => endpoint.account === keeper.account) ??
    bound.find(({ endpoint }) => findsKept(endpoint, keeper))
  if (kept) return kept.weight > 0 ? [kept] : [{ ...kept, weight: 1 }]
  throw new GwError(
    'no_healthy_endpoint',
    'The endpoint that keeps the stored response does not serve this model.',
    {
      reason: `${keeper.account} keeps the stored response`,
    },
  )
}

/** The target at position `at` in the cumulative weights of the first `size`. */
function pickWeighted(tier: readonly Target[], at: number, size = tier.length): Target | undefined {
  let rest = at
  for (let index = 0; index < size; index++) {
    const target = tier[index]
    rest -= target?.weight ?? 0
    if (rest < 0) return target
  }
  return undefined
}

/** Retries that each request earns: one for five requests. */
const PER_REQUEST = 0.2
/** Retries earned without traffic, each second, up to the reserve. */
const PER_SECOND = 1
const RESERVE = 10
/** Limit of saved retries of a source, so that they run out soon when endpoints fail. */
const MAX_SAVED = 100
const MAX_SOURCES = 10_000

/**
 * Limits retries to a fifth of the traffic (spec/requests.md §4). When every endpoint fails, unlimited retries would
 * multiply the load. Each tenant has what its own requests have earned: one that needs retries all the time leaves the others theirs.
 * Only the reserve is common.
 */
export class RetryBudget {
  readonly #clock: Clock
  /** By source, the one that was used last at the end. */
  readonly #saved = new Map<string, number>()
  #reserve = RESERVE
  #atMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#atMs = clock.monotonicMs()
  }

  /** Earns the share of one request. */
  deposit(source: string): void {
    this.#save(source, Math.min(MAX_SAVED, (this.#saved.get(source) ?? 0) + PER_REQUEST))
  }

  /** @returns whether one more attempt is allowed; it is counted then. */
  withdraw(source: string): boolean {
    const nowMs = this.#clock.monotonicMs()
    const earned = ((nowMs - this.#atMs) / 1_000) * PER_SECOND
    this.#atMs = nowMs
    this.#reserve = Math.min(RESERVE, this.#reserve + earned)
    const saved = this.#saved.get(source) ?? 0
    if (saved >= 1) {
      this.#save(source, saved - 1)
      return true
    }
    if (this.#reserve < 1) return false
    this.#reserve--
    return true
  }

  #save(source: string, saved: number): void {
    this.#saved.delete(source)
    this.#saved.set(source, saved)
    if (this.#saved.size <= MAX_SOURCES) return
    const [oldest] = this.#saved.keys()
    if (oldest !== undefined) this.#saved.delete(oldest)
  }
}
