import { GwError } from '../base/catalogue/wire.ts'
import type { KeySums } from '../schema/ledger.ts'
import type { DeclaredShare } from '../schema/shares.ts'
import type { Budget as BudgetTerms } from '../snapshot/types.ts'
import type { Calendar, Span } from './calendar.ts'
import {
  type Limit,
  type LimitEnd,
  type LimitInfo,
  type LimitRequest,
  type LimitUsage,
  nameOf,
  notLoaded,
  numbers,
  type Owner,
} from './limit.ts'
import { declared, exceeds, LimitShares, type Part, type Sharing } from './shares/limit-shares.ts'

/** The current budget and earlier ones: limit of reloads during one request. */
const MAX_WINDOWS = 4

const INFO: LimitInfo = { name: 'budget', title: 'budget', unit: 'money', field: 'budget.amount' }

/** The money that a key may spend in a day, a month, or in total: spent + held never exceeds the limit. */
export class Budget implements Limit {
  readonly owner: Owner
  #heldNano = 0n
  #settledNano = 0n
  /** The newest first. A request that began before a reload uses the budget of its own snapshot. */
  #windows: BudgetWindow[] = []

  readonly #shares: LimitShares
  readonly #calendar: Calendar

  constructor(owner: Owner, sharing: Sharing, calendar: Calendar) {
    this.owner = owner
    this.#calendar = calendar
    this.#shares = new LimitShares(owner, sharing, () => this.#heldNano)
  }

  get info() {
    return INFO
  }

  get heldUntil() {
    return 'charge' as const
  }

  get heldNano(): bigint {
    return this.#heldNano
  }

  /** Money spent in the budget's window; undefined until loaded from the ledger. */
  spentNano(terms: BudgetTerms, nowMs: number): bigint | undefined {
    const window = this.#windows.find(known => known.isOf(terms))
    if (!window) return undefined
    window.roll(nowMs, this.#settledNano)
    return window.baseNano === undefined ? undefined : window.baseNano + this.#settledNano
  }

  /** Prepares for a budget. @returns its window, and the callback for the ledger's answer to a query made now. */
  query(
    terms: BudgetTerms,
    nowMs: number,
  ): { readonly isLoaded: boolean; readonly startMs: number; readonly answer: (sums: KeySums) => void } {
    const window = this.#windowOf(terms, nowMs)
    const { span } = window
    const notedNano = this.#settledNano
    return {
      isLoaded: window.baseNano !== undefined,
      startMs: span.startMs,
      answer: sums => {
        // A window that began meanwhile started empty here.
        if (window.span === span)
          window.baseNano = (window.per === 'total' ? sums.totalNano : sums.windowNano) - notedNano
      },
    }
  }

  #windowOf(terms: BudgetTerms, nowMs: number): BudgetWindow {
    let window = this.#windows.find(known => known.isOf(terms))
    if (window) window.roll(nowMs, this.#settledNano)
    else window = new BudgetWindow(terms, this.#calendar, nowMs)
    this.#windows = [window, ...this.#windows.filter(other => other !== window)].slice(0, MAX_WINDOWS)
    return window
  }

  get isSpending() {
    return true
  }

  part(request: LimitRequest): Part | undefined {
    const { budget } = request.entry
    if (!budget || !this.#shares.areUsed) return undefined
    const { per, timezone, amountNano: bound } = budget
    const limit = per === 'total' ? 'budget' : `budget ${per} ${timezone}`
    const sinceMs = this.#calendar.span(per, timezone, request.nowMs).startMs
    const share = this.#shares.of({ limit, kind: 'sum', bound, sinceMs }, request)
    return share && { share, units: request.amountNano }
  }

  declare(request: LimitRequest): DeclaredShare | undefined {
    return declared(this.part(request))
  }

  isExceededBy(request: LimitRequest): boolean {
    const { entry, amountNano, nowMs } = request
    const { budget } = entry
    if (!budget) return false
    const part = this.part(request)
    if (part) return amountNano > 0n && exceeds(part, request)
    const spent = this.spentNano(budget, nowMs)
    return spent !== undefined && this.#exceeds(spent, amountNano, budget)
  }

  check(request: LimitRequest): void {
    const { entry, amountNano, nowMs } = request
    const { budget } = entry
    if (!budget) return
    if (this.#shares.areUsed) {
      if (this.isExceededBy(request)) throw this.error(request)
      return
    }
    const spent = this.spentNano(budget, nowMs)
    if (spent === undefined) throw notLoaded(this.owner, request)
    if (this.#exceeds(spent, amountNano, budget)) throw this.error(request)
  }

  #exceeds(spentNano: bigint, amountNano: bigint, budget: BudgetTerms): boolean {
    return amountNano > 0n && spentNano + this.#heldNano + amountNano > budget.amountNano
  }

  take({ amountNano }: LimitRequest): void {
    if (amountNano !== 0n) this.#heldNano += amountNano
    this.#shares.take(amountNano)
  }

  /** Counts a charge in the window of its end. */
  release({ amountNano }: LimitRequest, { charge }: LimitEnd): void {
    if (amountNano !== 0n) this.#heldNano -= amountNano
    this.#shares.end(amountNano, charge?.amountNano ?? 0n)
    if (!charge) return
    for (const window of this.#windows) window.roll(charge.endedAtMs, this.#settledNano)
    if (charge.amountNano !== 0n) this.#settledNano += charge.amountNano
  }

  report(request: LimitRequest): LimitUsage<bigint> | undefined {
    const { budget } = request.entry
    if (!budget) return undefined
    const { amountNano: needed } = request
    const { spentNano: used, heldNano: held } = this.usage(request)
    const endMs = this.#windows.find(known => known.isOf(budget))?.span.endMs
    const hasEnd = endMs !== undefined && Number.isFinite(endMs)
    return {
      limit: budget.amountNano,
      used,
      held,
      needed,
      ...(hasEnd && { freshAtMs: endMs }),
    }
  }

  /** Of all gateways, as far as this one knows. */
  usage(request: LimitRequest): { readonly spentNano: bigint | undefined; readonly heldNano: bigint } {
    const share = this.part({ ...request, isReport: true })?.share
    if (share) return { spentNano: share.spent, heldNano: share.held + share.leasedToOthers }
    const { entry, nowMs } = request
    return { spentNano: entry.budget && this.spentNano(entry.budget, nowMs), heldNano: this.#heldNano }
  }

  error(request: LimitRequest): GwError {
    const { entry, amountNano: needed, currency } = request
    const { budget } = entry
    if (!budget) throw new Error(`${nameOf(this.owner, request)} has no budget that could be exceeded`)
    const { spentNano: spent = 0n, heldNano: held } = this.usage(request)
    const window = budget.per === 'total' ? 'in total' : `per ${budget.per} (${budget.timezone})`
    const usage = { limit: budget.amountNano, spent, held, needed }
    return new GwError(
      'budget_exceeded',
      `The budget of ${nameOf(this.owner, request)} ${window} does not cover this call, in ${currency}: ${numbers(usage)}.`,
    )
  }

  isIdle(): boolean {
    return this.#heldNano === 0n
  }
}

/** The current window of a budget. It only moves forward: setting the clock back refills no budget. */
class BudgetWindow {
  readonly per: BudgetTerms['per']
  readonly #timezone: string
  readonly #calendar: Calendar
  #span: Span
  /** Spent in this window, minus everything ever settled here; undefined until loaded from the ledger. */
  baseNano: bigint | undefined

  constructor({ per, timezone }: BudgetTerms, calendar: Calendar, nowMs: number) {
    this.per = per
    this.#timezone = timezone
    this.#calendar = calendar
    this.#span = calendar.span(per, timezone, nowMs)
  }

  get span(): Span {
    return this.#span
  }

  isOf(terms: BudgetTerms): boolean {
    return this.per === terms.per && this.#timezone === terms.timezone
  }

  /** Moves to the window of `nowMs`, which begins empty, even if the ledger has not answered yet. */
  roll(nowMs: number, settledNano: bigint): void {
    if (nowMs < this.#span.endMs) return
    this.#span = this.#calendar.span(this.per, this.#timezone, nowMs)
    this.baseNano = -settledNano
  }
}
