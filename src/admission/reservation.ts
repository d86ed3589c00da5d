import type { GwError } from '../base/catalogue/wire.ts'
import { ABSENT, type IndexedSetMember } from '../base/indexed-set.ts'
import type { BalanceShort, Usage } from '../schema/ledger.ts'
import type { KeyAccount, Wallet } from './accounts.ts'
import type { OutputEstimator } from './output-estimator.ts'
import type { RateState } from './rate-state.ts'
import { balanceRejection } from './rejections.ts'

/** What a reservation was taken from. */
export interface Sources {
  readonly key: RateState
  readonly account: KeyAccount
  readonly tenant: RateState | undefined
  readonly wallet: Wallet | undefined
  /** What was settled of the wallet when this was taken: the ledger answers to the hold for that moment. */
  readonly walletSettledNano: bigint
  /** Whether a request per minute was taken of the key, and of the tenant. */
  readonly keyCounted: boolean
  readonly tenantCounted: boolean
  /** Whether tokens per minute were taken of the key, and of the tenant: of what has no limit nothing is. */
  readonly keyRated: boolean
  readonly tenantRated: boolean
  /** Present where either was and the answer is text. */
  readonly outputEstimator: OutputEstimator | undefined
  readonly ratedTokens: number
}

/** The figures of a hold, as the ledger's `Hold` wants them. */
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

/** What the limiter wants to hear of its reservations, and where they learn the time. */
export interface LimiterCallbacks {
  readonly nowMs: () => number
  /** Whole milliseconds of the monotonic clock. */
  readonly tickMs: () => number
  readonly currency: () => string
  /** The hold has ended. */
  readonly holdEnded: () => void
  /** Nothing is left of it: neither hold nor permit. */
  readonly closed: (reservation: Reservation) => void
}

/**
 * What one admitted request has taken: a hold, which ends with its bill, and a permit of concurrency, which ends
 * with its last byte. Each ends once, by whoever comes first; a second end changes nothing.
 */
export class Reservation implements IndexedSetMember {
  place = ABSENT
  readonly hold: HoldAmounts
  /** What each answer is to be bounded by, for the hold to cover it; undefined: the request says, or nothing does. */
  readonly capTokens: number | undefined
  /** By the monotonic clock. */
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
   * Turns the hold into the fact. Call it in the same turn of the event loop in which the ledger is given the same
   * bill: sums that are asked of the ledger between the two would count it twice or not at all.
   *
   * @param endedAtMs As in the ledger's row: a budget counts a bill into the window of this time.
   * @returns false where the hold had ended before: nothing was changed.
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
   * Gives everything back but the request itself, which did come: RPM counts it.
   *
   * @returns false where the hold had ended before.
   */
  release(): boolean {
    return this.#endHold(0)
  }

  /** Takes everything back, as if it had never been admitted: a request that is rejected consumes nothing. */
  withdraw(): void {
    if (!this.#endHold(0)) return
    const { key, tenant, keyCounted, tenantCounted } = this.#sources
    if (!keyCounted && !tenantCounted) return
    const tickMs = this.#callbacks.tickMs()
    if (keyCounted) key.requests.correct(-1, tickMs)
    if (tenantCounted) tenant?.requests.correct(-1, tickMs)
  }

  /**
   * The ledger rejected the hold: another process has debited what this one still counted on. Takes everything back
   * and puts the balance right, so that the next request is rejected without asking.
   */
  uncovered({ balanceNano, heldNano }: BalanceShort): GwError {
    const { tenant, wallet, walletSettledNano } = this.#sources
    if (!tenant || !wallet) throw new Error(`hold ${this.hold.requestId} has no balance that could be short`)
    wallet.learn(balanceNano, walletSettledNano)
    this.withdraw()
    const usage = { balance: balanceNano, held: heldNano, needed: this.hold.amountNano }
    return balanceRejection(tenant, usage, this.#callbacks.currency())
  }

  /** Gives the permit back: the last byte has gone, or nobody is there to take it. */
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
