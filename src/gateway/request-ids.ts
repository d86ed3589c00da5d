import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'

/** Hexadecimal digits of randomness in each id. */
const RANDOM_DIGITS = 12
/** Hexadecimal digits of the time in milliseconds, sufficient until the year 10889. */
const TIME_DIGITS = 12
const POOL_BYTES = 1_536

/**
 * Generates request ids: `req_`, the time and random digits, in hexadecimal. They sort by time, so that rows written
 * together are adjacent in the ledger's indexes.
 */
export class RequestIds {
  readonly #clock: Clock
  readonly #random: Random
  #atMs = Number.NaN
  #prefix = ''
  #pool = ''
  #drawn = 0

  constructor(ports: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = ports.clock
    this.#random = ports.random
  }

  next(): string {
    const nowMs = this.#clock.nowMs()
    if (nowMs !== this.#atMs) {
      this.#atMs = nowMs
      this.#prefix = `req_${nowMs.toString(16).padStart(TIME_DIGITS, '0')}`
    }
    if (this.#drawn >= this.#pool.length) {
      this.#pool = Buffer.from(this.#random.bytes(POOL_BYTES)).toString('hex')
      this.#drawn = 0
    }
    const random = this.#pool.slice(this.#drawn, this.#drawn + RANDOM_DIGITS)
    this.#drawn += RANDOM_DIGITS
    return this.#prefix + random
  }
}
