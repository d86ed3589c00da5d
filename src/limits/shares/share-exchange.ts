import { GwError } from '../../base/catalogue/wire.ts'
import type { Clock } from '../../base/clock.ts'
import type { ShareMessage, ShareReply } from '../../schema/shares.ts'
import type { Part } from './limit-shares.ts'
import type { ShareHolder } from './share-holder.ts'

/** How long a call waits for other gateways to return unused shares, and how often it waits again for a late one. */
const RETURNED_WITHIN_MS = 150
const MAX_WAITS = 3
/** How often a call requests units that other calls of this gateway then take first. */
const MAX_REQUESTS = 20

/** A call needs more than the shares of this gateway have left: it is checked again after an exchange. */
export class ShareShort extends Error {
  override readonly name = 'ShareShort'
  readonly parts: readonly Part[]
  constructor(parts: readonly Part[]) {
    super('the shares of this gateway are too small')
    this.parts = parts
  }
}

export interface ShareExchangePorts {
  readonly holder: ShareHolder
  readonly clock: Clock
  /** How long a call waits for an answer. */
  readonly answerWithinMs: number
  /** False: it would not answer now, and calls do not wait for it. */
  readonly isReachable: () => boolean
  /** Resolves with the reply of the grantor. */
  readonly send: (message: ShareMessage) => Promise<ShareReply>
}

/**
 * The exchange of messages with the grantor, one at a time. All that is due when a message begins is in it; what
 * becomes due meanwhile is in the next one.
 */
export class ShareExchange {
  readonly holder: ShareHolder
  readonly #clock: Clock
  readonly #send: ShareExchangePorts['send']
  readonly #answerWithinMs: number
  readonly #isReachable: ShareExchangePorts['isReachable']
  #running: Promise<void> | undefined
  /** The message is not made yet: calls of the same turn share it. */
  #isCollecting = false
  #next: Promise<void> | undefined

  constructor({ holder, clock, answerWithinMs, isReachable, send }: ShareExchangePorts) {
    this.holder = holder
    this.#clock = clock
    this.#send = send
    this.#answerWithinMs = answerWithinMs
    this.#isReachable = isReachable
  }

  /** Resolves when everything that is due now has been answered. @throws the error of `send`. */
  exchange(): Promise<void> {
    if (this.#running && this.#isCollecting) return this.#running
    if (!this.#running) {
      this.#isCollecting = true
      this.#running = this.#exchangeOnce().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.exchange()
      })
    return this.#next
  }

  /**
   * Runs `admit`, and again after each exchange that it needs.
   *
   *     admit ──▶ short ──▶ ask ──▶ granted: admit again
   *                          └──▶ nothing is free ──▶ the others return what they do not use ──▶ ask ──▶ admit again
   *
   * @throws {GwError} unavailable if the grantor does not answer in time; the errors of `admit`.
   */
  async admitted<T>(admit: () => T): Promise<T> {
    for (let asked = 1; ; asked++) {
      try {
        return admit()
      } catch (error) {
        if (!(error instanceof ShareShort)) throw error
        if (asked > MAX_REQUESTS) throw notGranted()
        await this.#obtain(error.parts)
      }
    }
  }

  /**
   * Asks about shares as a call does that needs these parts: then their last answers have what all gateways use, and the
   * others have returned what they do not use.
   *
   * @throws {GwError} unavailable if the grantor does not answer in time.
   */
  async refresh(parts: readonly Part[]): Promise<void> {
    for (const { share } of parts) share.refresh()
    await this.#obtain(parts)
  }

  /** Returns everything that is not held. @throws the error of `send`. */
  async returnAll(): Promise<void> {
    await this.#running?.catch(() => undefined)
    if (this.holder.isWaiting) await this.exchange()
    await this.#sendOnce(this.holder.message(this.#clock.monotonicMs(), true))
  }

  async #obtain(parts: readonly Part[]): Promise<void> {
    const short = () => parts.filter(({ share, units }) => !share.fits(units))
    await this.#ask(parts)
    for (let waits = 0; waits < MAX_WAITS; waits++) {
      if (!short().some(({ share }) => share.leasedToOthers > 0n)) return
      await new Promise<void>(resolve => this.#clock.after(RETURNED_WITHIN_MS, resolve))
      await this.#ask(short())
    }
    for (const { share } of short()) share.exhaust(this.#clock.monotonicMs())
  }

  /** @throws {GwError} unavailable if there is no answer in time. */
  async #ask(parts: readonly Part[]): Promise<void> {
    if (!this.#isReachable()) throw notGranted()
    for (const { share, units } of parts) share.need(units)
    const exchanged = this.exchange()
    const late = new Promise<never>((_resolve, reject) => {
      const timer = this.#clock.after(this.#answerWithinMs, () => reject(notGranted()))
      const cancel = () => timer.cancel()
      exchanged.then(cancel, cancel)
    })
    await Promise.race([exchanged, late])
  }

  async #exchangeOnce(): Promise<void> {
    await Promise.resolve()
    this.#isCollecting = false
    const { holder } = this
    await this.#sendOnce(holder.isWaiting ? holder.repeat() : holder.message(this.#clock.monotonicMs()))
  }

  async #sendOnce(message: ShareMessage): Promise<void> {
    const { holder } = this
    const reply = await this.#send(message)
    holder.reply(message.number, reply, this.#clock.monotonicMs())
    if (holder.isFenced) throw notGranted('the shares of this gateway were given to another one')
  }
}

function notGranted(reason = 'the store does not grant shares of limits'): GwError {
  return new GwError('unavailable', undefined, { reason })
}
