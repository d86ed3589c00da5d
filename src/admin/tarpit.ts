import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'

/** The delay of the first waiting rejection. */
const BASE_DELAY_MS = 1_500
/** The extra delay per waiting rejection: clients are answered one by one, and return one by one. */
const STEP_MS = 100

/** Delays rejections, because password guessers ignore `retry-after`. */
export class Tarpit {
  readonly #clock: Clock
  #waiting = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when the answer may be sent, or when the client has disconnected. */
  delay(res: ServerResponse): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        timer.cancel()
        res.off('close', done)
        this.#waiting--
        resolve()
      }
      const timer = this.#clock.after(BASE_DELAY_MS + this.#waiting * STEP_MS, done)
      this.#waiting++
      res.once('close', done)
      if (res.destroyed) done()
    })
  }
}
