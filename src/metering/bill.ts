import type { Clock } from '../base/clock.ts'
import { cost } from '../schema/cost.ts'
import { BalanceShort, type Claim, type Flag, type Hold, type Price, type Usage } from '../schema/ledger.ts'
import type { AnswerEnding, AnswerMeter } from './answer-meter.ts'
import type { LedgerPort } from './ledger-port.ts'

/** The reservation of a request in the limits; settled or released once. */
export interface HeldLimits {
  readonly hold: Pick<
    Hold,
    'openedAtMs' | 'deadlineMs' | 'amountNano' | 'tokens' | 'inputTokens' | 'inputAmountNano' | 'prepaid'
  >
  /** @returns false if it had already ended: the sweeper has settled it. */
  settle(usage: Usage, amountNano: bigint, endedAtMs: number): boolean
  release(): boolean
  /** Releases everything, including the request itself: it was not admitted. */
  withdraw(): void
  /** Like `withdraw`, if the ledger's balance is smaller than that of the limits. @returns the error for the client. */
  uncovered(short: BalanceShort): Error
}

/** The charge of a request. */
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
  /** The price as stored in the ledger. */
  readonly priceText?: string | undefined
  readonly meter: AnswerMeter
  readonly ledger: LedgerPort
  readonly clock: Clock
}

/**
 * The bill of one request: a hold that is opened before dispatch and ended exactly once, in the ledger and in the limits
 * (spec/money.md §1).
 *
 *     open ──▶ dispatch ──▶ settle(answered)      before the last bytes are sent
 *                   │   └─▶ settle(client_gone)   the client left midway
 *                   │   └─▶ settle(broken)        the upstream broke midway
 *                   │   └─▶ settle(interrupted)   the gateway shuts down, and its grace period has ended
 *                   └─────▶ release(reason)       no byte of an answer has arrived
 */
export class Bill {
  readonly #options: BillOptions
  /** Of the current attempt: after a failover its endpoint differs from the hold's. */
  #claim: Claim
  #ended: Promise<void> | undefined
  #charge: Charge | undefined

  constructor(options: BillOptions) {
    this.#options = options
    this.#claim = options.claim
  }

  /** Sets the endpoint after a failover. The hold stays valid, because the price belongs to the publication. */
  servedBy(endpoint: string): void {
    this.#claim = { ...this.#claim, endpoint }
  }

  /** The accounts of the current attempt. */
  get claim(): Claim {
    return this.#claim
  }

  /** The charge, once the bill is settled. */
  get charge(): Charge | undefined {
    return this.#charge
  }

  /**
   * @throws {GwError} unavailable if the ledger cannot write the hold; insufficient_balance if another process has debited
   *   the balance. Nothing is held or counted then.
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

  /** Field by field: spreading two objects creates another hidden class, which slows down all readers. */
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
   * Charges the measured usage. Resolves when it is committed; a repeated call returns the first promise.
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
    // Limits and ledger are updated in the same tick: a ledger query between them would count the bill twice.
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

  /** Ends the bill without a charge. */
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
