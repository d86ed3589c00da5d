import type { GwError } from '../base/catalogue/wire.ts'
import { ABSENT, type IndexedSetMember } from '../base/indexed-set.ts'
import type { BalanceShort, Usage } from '../schema/ledger.ts'
import type { Balance } from './balance.ts'
import type { Limit, LimitEnd, LimitRequest } from './limit.ts'
import type { OutputEstimator } from './output-estimator.ts'

/** The share that a reservation was taken with. */
export interface Share {
  /** Those that it was taken from, in order. */
  readonly limits: readonly Limit[]
  readonly request: LimitRequest
  readonly balance: Balance | undefined
  /** The settled amount of the balance at the time of the reservation, to which the ledger's answer to the hold refers. */
  readonly balanceSettledNano: bigint
  /** Present if a limit of tokens per minute is set and the answer is text. */
  readonly outputEstimator: OutputEstimator | undefined
  /** Names of the shadow limits that would have rejected the request; undefined: none. */
  readonly shadowRejections: readonly string[] | undefined
}

/** The amounts of a hold, as in the ledger's `Hold`. */
export interface HoldAmounts {
  readonly requestId: string
  readonly openedAtMs: number
  readonly deadlineMs: number
  readonly amountNano: bigint
  readonly tokens: number
  readonly inputTokens: number
  readonly inputAmountNano: bigint
  readonly prepaid: boolean
}

/** The callbacks of the limiter for its reservations, and their clock. */
export interface LimiterCallbacks {
  readonly nowMs: () => number
  /** Whole milliseconds of the monotonic clock. */
  readonly tickMs: () => number
  /** The hold has ended. */
  readonly holdEnded: () => void
  /** Both its hold and its permit have ended. */
  readonly closed: (reservation: Reservation) => void
}

/**
 * The reservation of one admitted request: a hold, which ends with its charge, and a concurrency permit, which ends with
 * its last byte. Ending either is idempotent.
 */
export class Reservation implements IndexedSetMember {
  place = ABSENT
  readonly hold: HoldAmounts
  /** Output limit to add for each answer, so that the hold covers it; undefined: the request has one, or none is needed. */
  readonly capTokens: number | undefined
  /** Monotonic clock. */
  readonly #deadlineTickMs: number
  readonly #share: Share
  readonly #callbacks: LimiterCallbacks
  #held = true
  #permitted = true

  constructor(
    hold: HoldAmounts,
    deadlineTickMs: number,
    share: Share,
    callbacks: LimiterCallbacks,
    capTokens?: number,
  ) {
    this.hold = hold
    this.capTokens = capTokens
    this.#deadlineTickMs = deadlineTickMs
    this.#share = share
    this.#callbacks = callbacks
  }

  /** The hold has not ended. */
  get isHeld(): boolean {
    return this.#held
  }

  get shadowRejections(): readonly string[] | undefined {
    return this.#share.shadowRejections
  }

  /**
   * Replaces the hold by the actual usage. Must be called in the same tick in which the ledger gets the same bill: a
   * ledger query between the two would count it twice or not at all.
   *
   * @param endedAtMs As in the ledger's row: determines the budget window of the bill.
   * @returns false if the hold had already ended: nothing was changed.
   */
  settle(usage: Usage, amountNano: bigint, endedAtMs: number = this.#callbacks.nowMs()): boolean {
    const tokens = usage.inputTokens + usage.outputTokens
    if (!this.#endHold(false, { tokens, amountNano, endedAtMs })) return false
    if (usage.outputTokens > 0) this.#share.outputEstimator?.observe(usage.outputTokens)
    return true
  }

  /**
   * Releases everything except the request itself, which RPM still counts.
   *
   * @returns false if the hold had already ended.
   */
  release(): boolean {
    return this.#endHold(false)
  }

  /** Releases everything, including the request: a rejected request consumes nothing. */
  withdraw(): void {
    this.#endHold(true)
  }

  /**
   * The ledger rejected the hold, because another process has debited the balance. Releases everything and corrects the
   * balance, so that the next request is rejected without a query.
   */
  uncovered(short: BalanceShort): GwError {
    const { balance, balanceSettledNano, request } = this.#share
    if (!balance) throw new Error(`hold ${this.hold.requestId} has no balance that could be short`)
    balance.uncovered(request.amountNano, short, balanceSettledNano)
    this.withdraw()
    return balance.error(request, short)
  }

  /** Releases the permit: the last byte was sent, or the client has disconnected. */
  leave(): void {
    if (!this.#permitted) return
    this.#permitted = false
    this.#release('last_byte', { tickMs: this.#callbacks.tickMs(), charge: undefined, isWithdrawn: false })
    if (!this.#held) this.#callbacks.closed(this)
  }

  isOverdue(tickMs: number): boolean {
    return tickMs >= this.#deadlineTickMs
  }

  #endHold(isWithdrawn: boolean, charge?: LimitEnd['charge']): boolean {
    if (!this.#held) return false
    this.#held = false
    this.#release('charge', { tickMs: this.#callbacks.tickMs(), charge, isWithdrawn })
    this.#callbacks.holdEnded()
    if (!this.#permitted) this.#callbacks.closed(this)
    return true
  }

  #release(until: Limit['heldUntil'], end: LimitEnd): void {
    const { limits, request } = this.#share
    for (const limit of limits) if (limit.heldUntil === until) limit.release(request, end)
  }
}
