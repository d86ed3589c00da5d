import type { Clock, Timer } from '../base/clock.ts'
import { IndexedSet, type IndexedSetMember } from '../base/indexed-set.ts'

/** How late a deadline may be noticed, and how often all that are watched are looked at. */
const TICK_MS = 100

/** Something with deadlines of its own. */
export interface Timed extends IndexedSetMember {
  /** @param nowMs Of the monotonic clock. */
  check(nowMs: number): void
}

/**
 * The deadlines of every exchange at hand, behind one timer that runs only while there are any: a timer for each
 * deadline of each request costs more than looking at ten thousand streams ten times a second.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #watched = new IndexedSet<Timed>()
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many are watched. */
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

  /** What is still watched is not looked at any more. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#watched.clear()
  }

  readonly #tick = (): void => {
    const nowMs = this.#clock.monotonicMs()
    this.#timer = this.#clock.after(TICK_MS, this.#tick)
    // Ending one takes it out: a roster bears that while it is walked.
    for (const timed of this.#watched) timed.check(nowMs)
  }
}
