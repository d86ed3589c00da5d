import type { Rate } from '../schema/limits.ts'

/**
 * A rate limit in units a minute, as GCRA with cost (ITU-T I.371): used units drain evenly, and a burst may use a whole
 * bucket at once. So any window of t seconds admits at most burst + limit × t / 60.
 *
 * It counts in units × 60,000; each millisecond drains `limit` of them. All numbers are integers, so that a limit of N
 * admits exactly N. Times are whole milliseconds of a monotonic clock: setting the wall clock back must not block a key.
 */
const MINUTE_MS = 60_000

export class RateBucket {
  #limit = 0
  #used = 0
  #atMs = 0

  /**
   * Time until `units` can be taken; 0: now. Takes nothing.
   *
   * A request larger than the whole bucket waits for a full one and leaves it in debt: rejecting it forever would make
   * large contexts impossible rather than slow.
   */
  waitMs({ limit, burst }: Rate, units: number, nowMs: number): number {
    this.#drain(limit, nowMs)
    const capacity = burst * MINUTE_MS
    const over = this.#used + Math.min(units * MINUTE_MS, capacity) - capacity
    return over <= 0 ? 0 : Math.ceil(over / limit)
  }

  /** Takes `units`, after {@link waitMs} returned 0 at the same time. */
  take(units: number): void {
    this.#used += units * MINUTE_MS
  }

  /** Corrects a taken amount by `units`, which may be negative. Debt delays later requests. */
  correct(units: number, nowMs: number): void {
    this.#drain(this.#limit, nowMs)
    this.#used = Math.max(0, this.#used + units * MINUTE_MS)
  }

  /** Whole units that could be taken now; 0 in debt. */
  remaining({ limit, burst }: Rate, nowMs: number): number {
    this.#drain(limit, nowMs)
    return Math.max(0, Math.floor(burst - this.#used / MINUTE_MS))
  }

  /** Time until the bucket is full again. */
  resetMs({ limit }: Rate, nowMs: number): number {
    this.#drain(limit, nowMs)
    return Math.ceil(this.#used / limit)
  }

  /** Used units × 60,000. */
  level({ limit }: Rate, nowMs: number): number {
    this.#drain(limit, nowMs)
    return Math.ceil(this.#used)
  }

  /** Whether all used units have drained, so that the bucket equals a new one. */
  isFull(nowMs: number): boolean {
    this.#drain(this.#limit, nowMs)
    return this.#used === 0
  }

  /**
   * A changed limit keeps the time until the bucket is full, not the units. Lowering and raising it again restores the
   * state, so that no reload grants a burst, even while requests of the old and the new snapshot alternate.
   */
  #drain(limit: number, nowMs: number): void {
    if (nowMs > this.#atMs) {
      this.#used = Math.max(0, this.#used - (nowMs - this.#atMs) * this.#limit)
      this.#atMs = nowMs
    }
    if (limit === this.#limit) return
    if (this.#limit > 0) this.#used = Math.ceil((this.#used / this.#limit) * limit)
    this.#limit = limit
  }
}
