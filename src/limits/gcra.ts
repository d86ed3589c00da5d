import type { Rate } from '../schema/limits.ts'

/**
 * A rate limit in units a minute, as GCRA with cost (ITU-T I.371): used units drain evenly, and a burst may use a whole
 * bucket at once. So any window of t seconds admits at most burst + limit × t / 60.
 *
 * It counts in units × 60,000; each millisecond drains `limit` of them. All numbers are integers, so that a limit of N
 * admits exactly N. Times are whole milliseconds of a monotonic clock: setting the wall clock back must not block a key.
 */
const MINUTE_MS = 60_000
/** Of more, two are merged, which may give back less. */
const MAX_LOWS = 32

export class RateBucket {
  #limit = 0
  #used = 0
  #atMs = 0
  /** By time, rising: `used` is the lowest level from before `atMs` on. */
  readonly #lows: { readonly atMs: number; used: number }[] = []

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
  take({ limit }: Rate, units: number, nowMs: number): void {
    this.#drain(limit, nowMs)
    this.#recordLow()
    this.#used += units * MINUTE_MS
  }

  /**
   * Corrects what was taken at `takenAtMs` by `units`. More is a debt, which delays later requests. Less makes the level what
   * it would be if less had been taken: units that have drained meanwhile cannot be used again.
   *
   * @returns the effective correction, in whole units.
   */
  correct(units: number, takenAtMs: number, nowMs: number): number {
    this.#drain(this.#limit, nowMs)
    if (units >= 0) {
      this.#used += units * MINUTE_MS
      return units
    }
    const lowest = this.#lowestSince(takenAtMs)
    const returned = Math.min(-units * MINUTE_MS, lowest)
    this.#used -= returned
    for (const low of this.#lows)
      low.used = low.atMs > takenAtMs ? low.used - returned : Math.min(low.used, lowest - returned)
    return 0 - Math.ceil(returned / MINUTE_MS)
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

  #lowestSince(takenAtMs: number): number {
    const low = this.#lows.find(({ atMs }) => atMs > takenAtMs)
    return low ? Math.min(low.used, this.#used) : this.#used
  }

  /** The level is low just before more is taken. */
  #recordLow(): void {
    const lows = this.#lows
    while ((lows.at(-1)?.used ?? -1) >= this.#used) lows.pop()
    // Nothing drains within a millisecond.
    if (lows.at(-1)?.atMs === this.#atMs) return
    lows.push({ atMs: this.#atMs, used: this.#used })
    if (lows.length > MAX_LOWS) this.#mergeLows()
  }

  /** Merges the two whose levels differ least. */
  #mergeLows(): void {
    const lows = this.#lows
    const rises = lows.slice(1).map(({ used }, index) => used - (lows[index]?.used ?? 0))
    const at = rises.indexOf(Math.min(...rises))
    const [lower] = lows.splice(at, 1)
    const later = lows[at]
    if (lower && later) later.used = lower.used
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
    if (this.#limit > 0) {
      this.#used = Math.ceil((this.#used / this.#limit) * limit)
      for (const low of this.#lows) low.used = Math.floor((low.used / this.#limit) * limit)
    }
    this.#limit = limit
  }
}
