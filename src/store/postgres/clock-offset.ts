import { systemClock } from '../../base/clock.ts'

/** What machines that keep their clocks differ by, and how long a question takes. */
const TOLERANCE_MS = 1_000

/** By how much the server's clock is ahead of this machine's: asked once, and again after either clock was set here. */
export class ClockOffset {
  readonly #askServer: () => Promise<number>
  #known: { readonly offMs: number; readonly bootMs: number } | undefined

  /** @param askServer Resolves with the milliseconds since the epoch. */
  constructor(askServer: () => Promise<number>) {
    this.#askServer = askServer
  }

  /** 0 if both are right within a second. @throws the errors of `askServer`. */
  async ms(): Promise<number> {
    // Constant, until the wall clock is set or the machine was suspended.
    const bootMs = systemClock.nowMs() - systemClock.monotonicMs()
    if (!this.#known || Math.abs(bootMs - this.#known.bootMs) > TOLERANCE_MS) {
      const offMs = (await this.#askServer()) - systemClock.nowMs()
      this.#known = { offMs: Math.abs(offMs) > TOLERANCE_MS ? offMs : 0, bootMs }
    }
    return this.#known.offMs
  }
}
