import type { Clock, Timer } from '../base/clock.ts'

/**
 * The clock of the store. Its gateways date calls and charges by it, so that the windows of a budget begin and end at the
 * same time for all, whatever the clock of their machine says. The clock of a store that is a file is this machine's.
 */
export class StoreClock implements Clock {
  readonly #own: Clock
  readonly #askOffMs: () => Promise<number>
  /** Undefined: both clocks agree, within a second. */
  #known: { readonly nowMs: number; readonly tickMs: number } | undefined

  /** @param askOffMs Resolves with the milliseconds that the store's clock is ahead; 0: they agree. */
  constructor(own: Clock, askOffMs: () => Promise<number>) {
    this.#own = own
    this.#askOffMs = askOffMs
  }

  /** Must be called every second: the clock of the machine may be set. @throws the errors of `askOffMs`; the last answer counts on. */
  async follow(): Promise<void> {
    const offMs = await this.#askOffMs()
    const nowMs = this.#own.nowMs() + offMs
    this.#known = offMs === 0 ? undefined : { nowMs, tickMs: this.#own.monotonicMs() }
  }

  nowMs(): number {
    if (!this.#known) return this.#own.nowMs()
    return Math.floor(this.#known.nowMs + this.#own.monotonicMs() - this.#known.tickMs)
  }

  monotonicMs(): number {
    return this.#own.monotonicMs()
  }

  after(ms: number, task: () => void): Timer {
    return this.#own.after(ms, task)
  }
}
