import type { KeySums } from '../schema/ledger.ts'
import type { Budget } from '../snapshot/types.ts'
import type { Calendar, Span } from './calendar.ts'

/**
 * What a key has spent and what is held for it, apart.
 *
 * Spending is a sum that the ledger gave (`base`) plus what was settled here since that sum was asked for. What is
 * settled is counted from the first moment in one number that only grows; a question to the ledger notes where it
 * stood. So a bill that falls between question and answer counts once, whichever comes first, and asking twice does
 * no harm.
 */
export class KeyAccount {
  #heldTokens = 0
  #heldNano = 0n
  #settledTokens = 0
  #settledNano = 0n
  #quotaBaseTokens: number | undefined
  /** The newest first. A request that began before a reload is admitted by the budget that it began with. */
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

  /** Counts a bill into the window of its own time. */
  spend(tokens: number, amountNano: bigint, atMs: number): void {
    for (const window of this.#windows) window.roll(atMs, this.#settledNano)
    this.#settledTokens += tokens
    if (amountNano !== 0n) this.#settledNano += amountNano
  }

  /** Tokens for life; undefined until the ledger has said where they stand. */
  spentTokens(): number | undefined {
    return this.#quotaBaseTokens === undefined ? undefined : this.#quotaBaseTokens + this.#settledTokens
  }

  /** Money in the budget's window; undefined until the ledger has said where it stands. */
  spentNano(budget: Budget, nowMs: number): bigint | undefined {
    const window = this.#windows.find(known => known.isOf(budget))
    if (!window) return undefined
    window.roll(nowMs, this.#settledNano)
    return window.baseNano === undefined ? undefined : window.baseNano + this.#settledNano
  }

  /** When the budget starts anew; undefined where it is for all time, or nothing is known of it. */
  resetsAtMs(budget: Budget): number | undefined {
    const endMs = this.#windows.find(known => known.isOf(budget))?.span.endMs
    return endMs !== undefined && Number.isFinite(endMs) ? endMs : undefined
  }

  /**
   * Prepares for a quota and a budget.
   *
   * @returns what must be asked of the ledger: since when, and what to do with its answer. Undefined: nothing.
   */
  ask(
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
        // A window that has rolled over meanwhile began empty, before these eyes.
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
/** A budget of now and some of before: more reloads than that do not fit into one request. */
const MAX_WINDOWS = 4

/** The window of a budget that time is in. It only moves forward: a clock that is set back refills no budget. */
class BudgetWindow {
  readonly per: Budget['per']
  readonly #timezone: string
  readonly #calendar: Calendar
  #span: Span
  /** Spent in this window, less all that was ever settled here; undefined until the ledger has said. */
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

  /** A window that begins while it is watched begins empty, also where the ledger had not yet answered. */
  roll(nowMs: number, settledNano: bigint): void {
    if (nowMs < this.#span.endMs) return
    this.#span = this.#calendar.span(this.per, this.#timezone, nowMs)
    this.baseNano = -settledNano
  }
}

/** The prepaid balance of a tenant: what the ledger said, less what was settled since it was asked. */
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

  /** Undefined until the ledger has said where it stands. */
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

  /** All that was ever settled here: where it stands as the ledger is asked something belongs to its answer. */
  get settledNano(): bigint {
    return this.#settledNano
  }

  /** Takes an answer of the ledger, with {@link settledNano} as it was at the question. */
  learn(balanceNano: bigint, settledThenNano: bigint): void {
    this.#baseNano = balanceNano + settledThenNano
  }

  /** Notes the moment of a question to the ledger; call the result with its answer. */
  ask(): (balanceNano: bigint) => void {
    const notedNano = this.#settledNano
    return balanceNano => this.learn(balanceNano, notedNano)
  }
}
