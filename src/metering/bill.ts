import type { Clock } from '../base/clock.ts'
import { cost } from '../schema/cost.ts'
import { BalanceShort, type Claim, type Flag, type Hold, type Price, type Usage } from '../schema/ledger.ts'
import type { AnswerEnding, AnswerMeter } from './answer-meter.ts'
import type { LedgerPort } from './ledger-port.ts'

/** What the limits hold for a request; ended once, by its cost or by nothing. */
export interface HeldLimits {
  readonly hold: Pick<
    Hold,
    'openedAtMs' | 'deadlineMs' | 'amountNano' | 'tokens' | 'inputTokens' | 'inputAmountNano' | 'prepaid'
  >
  /** @returns false where it had ended before: the sweeper has settled it then. */
  settle(usage: Usage, amountNano: bigint, endedAtMs: number): boolean
  release(): boolean
  /** Takes everything back, the request itself included: it was not admitted after all. */
  withdraw(): void
  /** The same where the ledger knows of a smaller balance than the limits did. @returns what the client is told. */
  uncovered(short: BalanceShort): Error
}

/** What a request was charged. */
export interface Charge {
  readonly usage: Usage
  readonly amountNano: bigint
  readonly flags: readonly Flag[]
}

export interface BillOptions {
  readonly claim: Claim
  readonly held: HeldLimits
  /** See {@link Hold}. */
  readonly call?: Hold['call'] | undefined
  /** Absent: free, and counted as unpriced. */
  readonly price: Price | undefined
  /** What the ledger keeps of it. */
  readonly priceText?: string | undefined
  readonly meter: AnswerMeter
  readonly ledger: LedgerPort
  readonly clock: Clock
}

/**
 * The account of one attempt: a hold that is opened before dispatch and ended exactly once, in the ledger and in the
 * limits alike (spec/money.md §1).
 *
 *     open ──▶ dispatch ──▶ settle(answered)      before the last bytes go out
 *                   │   └─▶ settle(client_gone)   the client left midway
 *                   │   └─▶ settle(broken)        the upstream broke midway
 *                   │   └─▶ settle(interrupted)   the gateway was told to end, and has waited long enough
 *                   └─────▶ release(reason)       nothing of an answer has come
 */
export class Bill {
  readonly #options: BillOptions
  /** Of the attempt that answered: where it is not the first, the endpoint is another than the hold's. */
  #claim: Claim
  #ended: Promise<void> | undefined
  #charge: Charge | undefined

  constructor(options: BillOptions) {
    this.#options = options
    this.#claim = options.claim
  }

  /** The hold is as good for this endpoint: the price is the publication's. */
  servedBy(endpoint: string): void {
    this.#claim = { ...this.#claim, endpoint }
  }

  /** Under what it is booked: of the attempt at hand. */
  get claim(): Claim {
    return this.#claim
  }

  /** What was charged, once it is settled. */
  get charge(): Charge | undefined {
    return this.#charge
  }

  /**
   * @throws {GwError} unavailable, where the ledger cannot take it; insufficient_balance, where it was debited by
   *   others. Nothing is held or counted then.
   */
  async open(): Promise<void> {
    const { held, ledger } = this.#options
    try {
      await ledger.open(this.#hold())
    } catch (error) {
      this.#ended = Promise.resolve()
      if (error instanceof BalanceShort) throw held.uncovered(error)
      held.withdraw()
      throw error
    }
  }

  /** Field by field: spreading two objects makes one of a shape of its own, and all that reads it slow. */
  #hold(): Hold {
    const { held, call, priceText } = this.#options
    const { requestId, attempt, key, tenant, publication, endpoint } = this.#claim
    const { openedAtMs, deadlineMs, amountNano, tokens, inputTokens, inputAmountNano, prepaid } = held.hold
    return {
      requestId,
      attempt,
      key,
      tenant,
      publication,
      endpoint,
      openedAtMs,
      deadlineMs,
      amountNano,
      tokens,
      inputTokens,
      inputAmountNano,
      prepaid,
      call,
      price: priceText,
    }
  }

  /**
   * Charges what the meter has seen. Resolves when it is committed; a second end gives the first one's promise.
   */
  settle(ending: AnswerEnding): Promise<void> {
    if (this.#ended) return this.#ended
    const { held, price, meter, ledger, clock } = this.#options
    const { requestId, attempt, key, tenant, publication, endpoint } = this.#claim
    const { usage, estimated } = meter.measure(ending)
    const flags: Flag[] = []
    if (ending === 'client_gone') flags.push('client_gone')
    if (ending === 'broken') flags.push('partial')
    if (ending === 'interrupted') flags.push('interrupted')
    if (estimated) flags.push('estimated')
    if (!price) flags.push('unpriced')
    const amountNano = price ? cost(price, usage) : 0n
    const endedAtMs = clock.nowMs()
    // The limits and the ledger hear of it in one turn: a sum that is asked for between them would count it twice.
    const isOurs = held.settle(usage, amountNano, endedAtMs)
    if (isOurs) {
      this.#charge = { usage, amountNano, flags }
      this.#ended = ledger.end({
        kind: 'settle',
        requestId,
        attempt,
        key,
        tenant,
        publication,
        endpoint,
        endedAtMs,
        amountNano,
        usage,
        flags,
      })
    } else this.#ended = Promise.resolve()
    return this.#ended
  }

  /** Ends it without a charge. */
  release(reason: string): Promise<void> {
    if (this.#ended) return this.#ended
    const { held, ledger, clock } = this.#options
    const isOurs = held.release()
    this.#ended = isOurs
      ? ledger.end({ ...this.#claim, kind: 'release', endedAtMs: clock.nowMs(), reason })
      : Promise.resolve()
    return this.#ended
  }
}
