import { GwError } from '../base/catalogue/wire.ts'
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

const INFO: LimitInfo = { name: 'quota', title: 'token quota', unit: 'tokens', field: 'quota' }

/**
 * The tokens that a key may ever use: spent + held never exceeds the limit.
 *
 * Spending is a sum from the ledger (the base) plus everything settled here since that sum was queried. Settled amounts
 * accumulate in one number that only grows; a query to the ledger records its value. So a bill between query and answer
 * counts once, in either order, and a repeated query does no harm. {@link Budget} and {@link Balance} count likewise.
 */
export class Quota implements Limit {
  readonly owner: Owner
  #heldTokens = 0
  #settledTokens = 0
  #baseTokens: number | undefined

  constructor(owner: Owner) {
    this.owner = owner
  }

  get info() {
    return INFO
  }

  get heldUntil() {
    return 'charge' as const
  }

  get heldTokens(): number {
    return this.#heldTokens
  }

  /** Tokens ever spent; undefined until loaded from the ledger. */
  get spentTokens(): number | undefined {
    return this.#baseTokens === undefined ? undefined : this.#baseTokens + this.#settledTokens
  }

  /** Records the time of a ledger query. @returns the callback for its answer. */
  query(): (totalTokens: number) => void {
    const notedTokens = this.#settledTokens
    return totalTokens => {
      this.#baseTokens = totalTokens - notedTokens
    }
  }

  get isSpending() {
    return true
  }

  isExceededBy({ entry: { quotaTokens: limit }, tokens }: LimitRequest): boolean {
    const spent = this.spentTokens
    // Written so that no sum exceeds the safe integers.
    return limit !== undefined && spent !== undefined && tokens > limit - spent - this.#heldTokens
  }

  check(request: LimitRequest): void {
    if (request.entry.quotaTokens === undefined) return
    if (this.#baseTokens === undefined) throw notLoaded(this.owner)
    if (this.isExceededBy(request)) throw this.error(request)
  }

  take({ tokens }: LimitRequest): void {
    this.#heldTokens += tokens
  }

  release({ tokens }: LimitRequest, { charge }: LimitEnd): void {
    this.#heldTokens -= tokens
    if (charge) this.#settledTokens += charge.tokens
  }

  report({ entry: { quotaTokens: limit }, tokens: needed }: LimitRequest): LimitUsage | undefined {
    if (limit === undefined) return undefined
    return { limit, used: this.spentTokens, held: this.#heldTokens, needed }
  }

  error({ entry, tokens: needed }: LimitRequest): GwError {
    const usage = {
      limit: entry.quotaTokens ?? 0,
      spent: this.spentTokens ?? 0,
      held: this.#heldTokens,
      needed,
    }
    return new GwError(
      'quota_exceeded',
      `The token quota of ${nameOf(this.owner)} does not cover this call: ${numbers(usage)}.`,
    )
  }

  isIdle(): boolean {
    return this.#heldTokens === 0
  }
}
