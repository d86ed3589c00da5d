import { type Clock, systemClock } from '../../base/clock.ts'

/** What machines that keep their clocks differ by. */
const TOLERANCE_MS = 1_000
/** Another server may have taken over, or its clock may have been set. */
const ASK_EVERY_MS = 60_000

/** By how much the server's clock is ahead of this machine's: asked each minute, and after a clock was set here. */
export class ClockOffset {
  readonly #askServer: () => Promise<number>
  readonly #clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  #known: { readonly offMs: number; readonly bootMs: number; readonly askAtMs: number } | undefined

  /** @param askServer Resolves with the milliseconds since the epoch. */
  constructor(askServer: () => Promise<number>, clock: Pick<Clock, 'nowMs' | 'monotonicMs'> = systemClock) {
    this.#askServer = askServer
    this.#clock = clock
  }

  /** 0 if both are right within a second. @throws the errors of `askServer`. */
  async ms(): Promise<number> {
    const tickMs = this.#clock.monotonicMs()
    // Constant, until the wall clock is set or the machine was suspended.
    const bootMs = this.#clock.nowMs() - tickMs
    const known = this.#known
    if (known && tickMs < known.askAtMs && Math.abs(bootMs - known.bootMs) <= TOLERANCE_MS) return known.offMs
    const serverMs = await this.#askServer()
    // The server has answered at any time between question and answer, which may be far apart.
    const halfMs = (this.#clock.monotonicMs() - tickMs) / 2
    const differenceMs = Math.round(serverMs + halfMs - this.#clock.nowMs())
    const possible = [known?.offMs ?? 0, 0]
    const offMs = possible.find(ms => Math.abs(differenceMs - ms) <= TOLERANCE_MS + halfMs) ?? differenceMs
    this.#known = { offMs, bootMs, askAtMs: tickMs + ASK_EVERY_MS }
    return offMs
  }
}
