import type { Rate } from '../schema/limits.ts'

/**
 * A rate of so many units a minute, as GCRA with cost (ITU-T I.371): what was used drains evenly, and a burst may use a
 * whole bucket at once. So any window of t seconds admits at most burst + limit × t / 60.
 *
 * It counts in units × 60,000, of which each millisecond drains `limit`: whole numbers throughout, so that a limit
 * of N lets exactly N pass. Times are whole milliseconds of a monotonic clock: setting the wall clock back must
 * not freeze a key.
 */
const MINUTE_MS = 60_000

export class RateBucket {
  #limit = 0
  #used = 0
  #atMs = 0

  /**
   * How long until `units` can be taken; 0: now. Takes nothing.
   *
   * A request dearer than the whole bucket waits for a full one and leaves it in debt: rejecting it for ever would
   * make large contexts impossible rather than slow.
   */
  waitMs({ limit, burst }: Rate, units: number, nowMs: number): number {
    this.#drain(limit, nowMs)
    const capacity = burst * MINUTE_MS
    const over = this.#used + Math.min(units * MINUTE_MS, capacity) - capacity
    return over <= 0 ? 0 : Math.ceil(over / limit)
  }

  /** Takes `units`, after {@link waitMs} has said 0 at the same moment. */
  take(units: number): void {
    this.#used += units * MINUTE_MS
  }

  /** Puts right what was taken too much (negative) or too little: debt delays what comes next, it is not lost. */
  correct(units: number, nowMs: number): void {
    this.#drain(this.#limit, nowMs)
    this.#used = Math.max(0, this.#used + units * MINUTE_MS)
  }

  /** Whole units that could be taken now; 0 in debt. */
  remaining({ limit, burst }: Rate, nowMs: number): number {
    this.#drain(limit, nowMs)
    return Math.max(0, Math.floor(burst - this.#used / MINUTE_MS))
  }

  /** How long until the bucket is full again. */
  resetMs({ limit }: Rate, nowMs: number): number {
    this.#drain(limit, nowMs)
    return Math.ceil(this.#used / limit)
  }

  /** Nothing is left of what was used, so that a new bucket could not be told from this one. */
  isFull(nowMs: number): boolean {
    this.#drain(this.#limit, nowMs)
    return this.#used === 0
  }

  /**
   * A changed limit keeps the time until the bucket is full, not the units: lowered and raised again it is where it
   * was, so that no reload hands out a burst, also while requests of the old and the new snapshot take turns.
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
