import type { Clock } from '../base/clock.ts'
import { cost } from '../schema/cost.ts'
import type { Claim, Hold, Mark, Price, Usage } from '../schema/ledger.ts'
import type { AnswerEnding, AnswerMeter } from './answer-meter.ts'
import type { LedgerPort } from './ledger-port.ts'

/** What the limits hold for a request; ended once, by its cost or by nothing. */
export interface HeldLimits {
  readonly hold: Pick<
    Hold,
    'openedAtMs' | 'deadlineMs' | 'amountNano' | 'tokens' | 'inputTokens' | 'inputAmountNano'
  >
  /** @returns false where it had ended before: the sweeper has settled it then. */
  settle(usage: Usage, amountNano: bigint, endedAtMs: number): boolean
  release(): boolean
}

/** What a request was charged. */
export interface Charge {
  readonly usage: Usage
  readonly amountNano: bigint
  readonly marks: readonly Mark[]
}

export interface BillOptions {
  readonly claim: Claim
  readonly held: HeldLimits
  /** Absent: free, and counted as unpriced. */
  readonly price: Price | undefined
  readonly meter: AnswerMeter
  readonly ledger: LedgerPort
  readonly clock: Clock
}

/**
 * The account of one attempt: a hold that is opened before dispatch and ended exactly once, in the ledger and in the
 * limits alike (MONEY, "Life of a hold").
 *
 *     open ──▶ dispatch ──▶ settle(answered)      before the last bytes go out
 *                   │   └─▶ settle(client_gone)   the client left midway
 *                   │   └─▶ settle(broken)        the upstream broke midway
 *                   │   └─▶ settle(interrupted)   the gateway was told to end, and has waited long enough
 *                   └─────▶ release(reason)       nothing of an answer has come
 */
export class Bill {
  readonly #options: BillOptions
  #ended: Promise<void> | undefined
  #charge: Charge | undefined

  constructor(options: BillOptions) {
    this.#options = options
  }

  /** What was charged, once it is settled. */
  get charge(): Charge | undefined {
    return this.#charge
  }

  /** @throws {GwError} unavailable, where the ledger cannot take it; the limits are free again then. */
  async open(): Promise<void> {
    const { claim, held, ledger } = this.#options
    try {
      await ledger.open({ ...claim, ...held.hold })
    } catch (error) {
      this.#ended = Promise.resolve()
      held.release()
      throw error
    }
  }

  /**
   * Charges what the meter has seen. Resolves when it is committed; a second end gives the first one's promise.
   */
  settle(ending: AnswerEnding): Promise<void> {
    if (this.#ended) return this.#ended
    const { claim, held, price, meter, ledger, clock } = this.#options
    const { usage, estimated } = meter.measure(ending)
    const marks: Mark[] = []
    if (ending === 'client_gone') marks.push('client_gone')
    if (ending === 'broken') marks.push('partial')
    if (ending === 'interrupted') marks.push('interrupted')
    if (estimated) marks.push('estimated')
    if (!price) marks.push('unpriced')
    const amountNano = price ? cost(price, usage) : 0n
    const endedAtMs = clock.nowMs()
    // The limits and the ledger hear of it in one turn: a sum that is asked for between them would count it twice.
    const isOurs = held.settle(usage, amountNano, endedAtMs)
    if (isOurs) {
      this.#charge = { usage, amountNano, marks }
      this.#ended = ledger.end({ ...claim, kind: 'settle', endedAtMs, amountNano, usage, marks })
    } else this.#ended = Promise.resolve()
    return this.#ended
  }

  /** Ends it without a charge. */
  release(reason: string): Promise<void> {
    if (this.#ended) return this.#ended
    const { claim, held, ledger, clock } = this.#options
    const isOurs = held.release()
    this.#ended = isOurs
      ? ledger.end({ ...claim, kind: 'release', endedAtMs: clock.nowMs(), reason })
      : Promise.resolve()
    return this.#ended
  }
}
