import type { Clock } from '../../base/clock.ts'

/** Retries that each request earns: one for five requests. */
const PER_REQUEST = 0.2
/** Retries earned without traffic, each second, up to the reserve. */
const PER_SECOND = 1
const RESERVE = 10
/** Limit of saved retries, so that they run out soon when endpoints fail. */
const MAX_SAVED = 100

/**
 * Limits retries to a fifth of the traffic (spec/requests.md §4). When every endpoint fails, unlimited retries would
 * multiply the load.
 */
export class RetryBudget {
  readonly #clock: Clock
  #saved = RESERVE
  #atMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#atMs = clock.monotonicMs()
  }

  /** Earns the share of one request. */
  deposit(): void {
    if (this.#saved < MAX_SAVED) this.#saved += PER_REQUEST
  }

  /** @returns whether one more attempt is allowed; it is counted then. */
  withdraw(): boolean {
    const nowMs = this.#clock.monotonicMs()
    const earned = ((nowMs - this.#atMs) / 1_000) * PER_SECOND
    this.#atMs = nowMs
    if (this.#saved < RESERVE) this.#saved = Math.min(RESERVE, this.#saved + earned)
    if (this.#saved < 1) return false
    this.#saved--
    return true
  }
}
