import type { Clock } from '../base/clock.ts'
import { cost } from '../schema/cost.ts'
import type { Claim, Mark, Price, Release, Settlement, Usage } from '../schema/ledger.ts'
import type { AnswerEnding, AnswerMeter } from './answer-meter.ts'
import type { LedgerPort } from './ledger-port.ts'

/** What limits hold for a request; ended once, by its cost or by nothing. */
export interface HeldLimits {
  readonly amountNano: bigint
  readonly tokens: number
  readonly inputTokens: number
  readonly inputAmountNano: bigint
  settle(usage: Usage, amountNano: bigint): void
  release(): void
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
  readonly deadlineMs: number
}

/**
 * The account of one attempt: a hold that is opened before dispatch and ended exactly once, in the ledger and in the
 * limits alike (MONEY, "Life of a hold").
 *
 *     open ──▶ dispatch ──▶ settle(answered)      before the last bytes go out
 *                   │   └─▶ settle(client_gone)   the client left midway
 *                   │   └─▶ settle(broken)        the upstream broke midway
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
    const { claim, held, ledger, clock, deadlineMs } = this.#options
    try {
      await ledger.open({
        ...claim,
        openedAtMs: clock.nowMs(),
        deadlineMs,
        amountNano: held.amountNano,
        tokens: held.tokens,
        inputTokens: held.inputTokens,
        inputAmountNano: held.inputAmountNano,
      })
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
    if (estimated) marks.push('estimated')
    if (!price) marks.push('unpriced')
    const amountNano = price ? cost(price, usage) : 0n
    this.#charge = { usage, amountNano, marks }
    const end: Settlement = { ...claim, kind: 'settle', endedAtMs: clock.nowMs(), amountNano, usage, marks }
    this.#ended = ledger.end(end)
    held.settle(usage, amountNano)
    return this.#ended
  }

  /** Ends it without a charge. */
  release(reason: string): Promise<void> {
    if (this.#ended) return this.#ended
    const { claim, held, ledger, clock } = this.#options
    const end: Release = { ...claim, kind: 'release', endedAtMs: clock.nowMs(), reason }
    this.#ended = ledger.end(end)
    held.release()
    return this.#ended
  }
}
