import type { Clock } from '../base/clock.ts'

/** What a request adds: one retry for five requests. */
const PER_REQUEST = 0.2
/** Retries that a quiet gateway may make nevertheless, each second and at once. */
const PER_SECOND = 1
const RESERVE = 10
/** What is saved up in good times ends soon in bad ones. */
const MOST = 100

/**
 * How many second attempts there may be (spec/requests.md §4): at most a fifth of the traffic. When every endpoint fails,
 * attempts elsewhere would only multiply the load on what is left.
 */
export class RetryBudget {
  readonly #clock: Clock
  #saved = RESERVE
  #atMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#atMs = clock.monotonicMs()
  }

  /** A request has come. */
  deposit(): void {
    if (this.#saved < MOST) this.#saved += PER_REQUEST
  }

  /** @returns whether there may be one more attempt; it is counted then. */
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
