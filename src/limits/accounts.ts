import type { KeySums } from '../schema/ledger.ts'
import type { Budget } from '../snapshot/types.ts'
import type { Calendar, Span } from './calendar.ts'

/**
 * The spending of a key, and separately its holds.
 *
 * Spending is a sum from the ledger (`base`) plus everything settled here since that sum was queried. Settled amounts
 * accumulate in one number that only grows; a query to the ledger records its value. So a bill between query and answer
 * counts once, in either order, and a repeated query does no harm.
 */
export class KeyAccount {
  #heldTokens = 0
  #heldNano = 0n
  #settledTokens = 0
  #settledNano = 0n
  #quotaBaseTokens: number | undefined
  /** The newest first. A request that began before a reload uses the budget of its own snapshot. */
  #windows: BudgetWindow[] = []

  get heldTokens(): number {
    return this.#heldTokens
  }

  get heldNano(): bigint {
    return this.#heldNano
  }

  get isIdle(): boolean {
    return this.#heldTokens === 0 && this.#heldNano === 0n
  }

  hold(tokens: number, amountNano: bigint): void {
    this.#heldTokens += tokens
    if (amountNano !== 0n) this.#heldNano += amountNano
  }

  free(tokens: number, amountNano: bigint): void {
    this.#heldTokens -= tokens
    if (amountNano !== 0n) this.#heldNano -= amountNano
  }

  /** Counts a bill in the budget window of `atMs`. */
  spend(tokens: number, amountNano: bigint, atMs: number): void {
    for (const window of this.#windows) window.roll(atMs, this.#settledNano)
    this.#settledTokens += tokens
    if (amountNano !== 0n) this.#settledNano += amountNano
  }

  /** Tokens ever spent; undefined until loaded from the ledger. */
  spentTokens(): number | undefined {
    return this.#quotaBaseTokens === undefined ? undefined : this.#quotaBaseTokens + this.#settledTokens
  }

  /** Money spent in the budget's window; undefined until loaded from the ledger. */
  spentNano(budget: Budget, nowMs: number): bigint | undefined {
    const window = this.#windows.find(known => known.isOf(budget))
    if (!window) return undefined
    window.roll(nowMs, this.#settledNano)
    return window.baseNano === undefined ? undefined : window.baseNano + this.#settledNano
  }

  /** When the budget's window ends; undefined if it never ends, or is unknown. */
  resetsAtMs(budget: Budget): number | undefined {
    const endMs = this.#windows.find(known => known.isOf(budget))?.span.endMs
    return endMs !== undefined && Number.isFinite(endMs) ? endMs : undefined
  }

  /**
   * Prepares for a quota and a budget.
   *
   * @returns the required ledger query: its start, and the callback for its answer. Undefined if none is required.
   */
  query(
    needs: { quotaTokens: number | undefined; budget: Budget | undefined },
    calendar: Calendar,
    nowMs: number,
  ): { sinceMs: number; answer: (sums: KeySums) => void } | undefined {
    const window = needs.budget && this.#windowOf(needs.budget, calendar, nowMs)
    const quotaMissing = needs.quotaTokens !== undefined && this.#quotaBaseTokens === undefined
    if (!quotaMissing && (!window || window.baseNano !== undefined)) return undefined
    const notedTokens = this.#settledTokens
    const notedNano = this.#settledNano
    const span = window?.span
    return {
      sinceMs: span && span.startMs > 0 ? span.startMs : nowMs - (nowMs % QUARTER_MS),
      answer: sums => {
        this.#quotaBaseTokens = sums.totalTokens - notedTokens
        // A window that began meanwhile started empty here.
        if (window && window.span === span)
          window.baseNano = (window.per === 'total' ? sums.totalNano : sums.windowNano) - notedNano
      },
    }
  }

  #windowOf(budget: Budget, calendar: Calendar, nowMs: number): BudgetWindow {
    let window = this.#windows.find(known => known.isOf(budget))
    if (window) window.roll(nowMs, this.#settledNano)
    else window = new BudgetWindow(budget, calendar, nowMs)
    this.#windows = [window, ...this.#windows.filter(other => other !== window)].slice(0, MAX_WINDOWS)
    return window
  }
}

const QUARTER_MS = 900_000
/** The current budget and earlier ones: limit of reloads during one request. */
const MAX_WINDOWS = 4

/** The current window of a budget. It only moves forward: setting the clock back refills no budget. */
class BudgetWindow {
  readonly per: Budget['per']
  readonly #timezone: string
  readonly #calendar: Calendar
  #span: Span
  /** Spent in this window, minus everything ever settled here; undefined until loaded from the ledger. */
  baseNano: bigint | undefined

  constructor({ per, timezone }: Budget, calendar: Calendar, nowMs: number) {
    this.per = per
    this.#timezone = timezone
    this.#calendar = calendar
    this.#span = calendar.span(per, timezone, nowMs)
  }

  get span(): Span {
    return this.#span
  }

  isOf(budget: Budget): boolean {
    return this.per === budget.per && this.#timezone === budget.timezone
  }

  /** Moves to the window of `nowMs`, which begins empty, even if the ledger has not answered yet. */
  roll(nowMs: number, settledNano: bigint): void {
    if (nowMs < this.#span.endMs) return
    this.#span = this.#calendar.span(this.per, this.#timezone, nowMs)
    this.baseNano = -settledNano
  }
}

/** The prepaid balance of a tenant: the ledger's balance, minus the amounts settled since it was queried. */
export class Wallet {
  #heldNano = 0n
  #settledNano = 0n
  #baseNano: bigint | undefined

  get heldNano(): bigint {
    return this.#heldNano
  }

  get isIdle(): boolean {
    return this.#heldNano === 0n
  }

  /** Undefined until loaded from the ledger. */
  get balanceNano(): bigint | undefined {
    return this.#baseNano === undefined ? undefined : this.#baseNano - this.#settledNano
  }

  hold(amountNano: bigint): void {
    if (amountNano !== 0n) this.#heldNano += amountNano
  }

  free(amountNano: bigint): void {
    if (amountNano !== 0n) this.#heldNano -= amountNano
  }

  spend(amountNano: bigint): void {
    if (amountNano !== 0n) this.#settledNano += amountNano
  }

  /** Everything ever settled here. Its value at the time of a ledger query belongs to the answer. */
  get settledNano(): bigint {
    return this.#settledNano
  }

  /** Sets the balance from the ledger, with the value of {@link settledNano} at the time of the query. */
  setBalance(balanceNano: bigint, settledThenNano: bigint): void {
    this.#baseNano = balanceNano + settledThenNano
  }

  /** Records the time of a ledger query. @returns the callback for its answer. */
  query(): (balanceNano: bigint) => void {
    const notedNano = this.#settledNano
    return balanceNano => this.setBalance(balanceNano, notedNano)
  }
}
