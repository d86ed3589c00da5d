import type { Clock, Timer } from '../base/clock.ts'
import { IndexedSet, type IndexedSetMember } from '../base/indexed-set.ts'

/** Interval of the checks, and so the precision of a deadline. */
const TICK_MS = 100

/** An object with deadlines. */
export interface Timed extends IndexedSetMember {
  /** @param nowMs Monotonic clock. */
  check(nowMs: number): void
}

/**
 * Checks the deadlines of all exchanges in flight with one timer, which runs only while there are any. A timer for each
 * deadline would cost more than checking ten thousand streams ten times a second.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #watched = new IndexedSet<Timed>()
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Number of watched objects. */
  get size(): number {
    return this.#watched.size
  }

  watch(timed: Timed): void {
    this.#watched.add(timed)
    this.#timer ??= this.#clock.after(TICK_MS, this.#tick)
  }

  unwatch(timed: Timed): void {
    this.#watched.delete(timed)
    if (this.#watched.size === 0) this.stop()
  }

  /** Stops all checks. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#watched.clear()
  }

  readonly #tick = (): void => {
    const nowMs = this.#clock.monotonicMs()
    this.#timer = this.#clock.after(TICK_MS, this.#tick)
    // `check` may remove members: IndexedSet allows that during iteration.
    for (const timed of this.#watched) timed.check(nowMs)
  }
}
