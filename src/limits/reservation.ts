import type { GwError } from '../base/catalogue/wire.ts'
import { ABSENT, type IndexedSetMember } from '../base/indexed-set.ts'
import type { BalanceShort, Usage } from '../schema/ledger.ts'
import type { KeyAccount, Wallet } from './accounts.ts'
import type { OutputEstimator } from './output-estimator.ts'
import type { RateState } from './rate-state.ts'
import { balanceRejection } from './rejections.ts'

/** The states that a reservation was taken from. */
export interface Sources {
  readonly key: RateState
  readonly account: KeyAccount
  readonly tenant: RateState | undefined
  readonly wallet: Wallet | undefined
  /** The wallet's settled amount at the time of the reservation, to which the ledger's answer to the hold refers. */
  readonly walletSettledNano: bigint
  /** Whether a request per minute was taken from the key, and from the tenant. */
  readonly keyCounted: boolean
  readonly tenantCounted: boolean
  /** Whether tokens per minute were taken from the key, and from the tenant: nothing is taken without a limit. */
  readonly keyRated: boolean
  readonly tenantRated: boolean
  /** Present if either was rated and the answer is text. */
  readonly outputEstimator: OutputEstimator | undefined
  readonly ratedTokens: number
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
  readonly currency: () => string
  /** The hold has ended. */
  readonly holdEnded: () => void
  /** Both its hold and its permit have ended. */
  readonly closed: (reservation: Reservation) => void
}

/**
 * The reservation of one admitted request: a hold, which ends with its bill, and a concurrency permit, which ends with
 * its last byte. Ending either is idempotent.
 */
export class Reservation implements IndexedSetMember {
  place = ABSENT
  readonly hold: HoldAmounts
  /** Output limit to add for each answer, so that the hold covers it; undefined: the request has one, or none is needed. */
  readonly capTokens: number | undefined
  /** Monotonic clock. */
  readonly #deadlineTickMs: number
  readonly #sources: Sources
  readonly #callbacks: LimiterCallbacks
  #held = true
  #permitted = true

  constructor(
    hold: HoldAmounts,
    deadlineTickMs: number,
    sources: Sources,
    callbacks: LimiterCallbacks,
    capTokens?: number,
  ) {
    this.hold = hold
    this.capTokens = capTokens
    this.#deadlineTickMs = deadlineTickMs
    this.#sources = sources
    this.#callbacks = callbacks
  }

  /** The hold has not ended. */
  get isHeld(): boolean {
    return this.#held
  }

  /**
   * Replaces the hold by the actual usage. Must be called in the same tick in which the ledger gets the same bill: a
   * ledger query between the two would count it twice or not at all.
   *
   * @param endedAtMs As in the ledger's row: determines the budget window of the bill.
   * @returns false if the hold had already ended: nothing was changed.
   */
  settle(usage: Usage, amountNano: bigint, endedAtMs: number = this.#callbacks.nowMs()): boolean {
    if (!this.#endHold(usage.inputTokens + usage.outputTokens)) return false
    const { account, wallet, outputEstimator } = this.#sources
    account.spend(usage.inputTokens + usage.outputTokens, amountNano, endedAtMs)
    wallet?.spend(amountNano)
    if (usage.outputTokens > 0) outputEstimator?.observe(usage.outputTokens)
    return true
  }

  /**
   * Releases everything except the request itself, which RPM still counts.
   *
   * @returns false if the hold had already ended.
   */
  release(): boolean {
    return this.#endHold(0)
  }

  /** Releases everything, including the request: a rejected request consumes nothing. */
  withdraw(): void {
    if (!this.#endHold(0)) return
    const { key, tenant, keyCounted, tenantCounted } = this.#sources
    if (!keyCounted && !tenantCounted) return
    const tickMs = this.#callbacks.tickMs()
    if (keyCounted) key.requests.correct(-1, tickMs)
    if (tenantCounted) tenant?.requests.correct(-1, tickMs)
  }

  /**
   * The ledger rejected the hold, because another process has debited the balance. Releases everything and corrects the
   * balance, so that the next request is rejected without a query.
   */
  uncovered({ balanceNano, heldNano }: BalanceShort): GwError {
    const { tenant, wallet, walletSettledNano } = this.#sources
    if (!tenant || !wallet) throw new Error(`hold ${this.hold.requestId} has no balance that could be short`)
    wallet.setBalance(balanceNano, walletSettledNano)
    this.withdraw()
    const usage = { balance: balanceNano, held: heldNano, needed: this.hold.amountNano }
    return balanceRejection(tenant, usage, this.#callbacks.currency())
  }

  /** Releases the permit: the last byte was sent, or the client has disconnected. */
  leave(): void {
    if (!this.#permitted) return
    this.#permitted = false
    const { key, tenant } = this.#sources
    key.permits--
    if (tenant) tenant.permits--
    if (!this.#held) this.#callbacks.closed(this)
  }

  isOverdue(tickMs: number): boolean {
    return tickMs >= this.#deadlineTickMs
  }

  #endHold(usedTokens: number): boolean {
    if (!this.#held) return false
    this.#held = false
    const { key, account, tenant, wallet, keyRated, tenantRated, ratedTokens } = this.#sources
    account.free(this.hold.tokens, this.hold.amountNano)
    wallet?.free(this.hold.amountNano)
    if (keyRated || tenantRated) {
      const tickMs = this.#callbacks.tickMs()
      if (keyRated) key.tokens.correct(usedTokens - ratedTokens, tickMs)
      if (tenantRated) tenant?.tokens.correct(usedTokens - ratedTokens, tickMs)
    }
    this.#callbacks.holdEnded()
    if (!this.#permitted) this.#callbacks.closed(this)
    return true
  }
}
