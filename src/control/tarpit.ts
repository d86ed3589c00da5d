import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'

/** The first one waits so long. */
const LATE_MS = 1_500
/** And each that others wait before, so much longer: a crowd is answered one by one, and comes back one by one. */
const APART_MS = 100

/** Holds back the rejections whose `retry-after` a guesser would not heed: who asks in haste is answered at leisure. */
export class Tarpit {
  readonly #clock: Clock
  #waiting = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when the answer may go, or when nobody waits for it any more. */
  turnOf(res: ServerResponse): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        timer.cancel()
        res.off('close', done)
        this.#waiting--
        resolve()
      }
      const timer = this.#clock.after(LATE_MS + this.#waiting * APART_MS, done)
      this.#waiting++
      res.once('close', done)
      if (res.destroyed) done()
    })
  }
}
