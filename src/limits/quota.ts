import { GwError } from '../base/catalogue/wire.ts'
import type { DeclaredShare } from '../schema/shares.ts'
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
import { ALONE, declared, exceeds, LimitShares, type Part, type Sharing } from './shares/limit-shares.ts'

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

  readonly #shares: LimitShares

  constructor(owner: Owner, sharing: Sharing = ALONE) {
    this.owner = owner
    this.#shares = new LimitShares(owner, sharing, () => BigInt(this.#heldTokens))
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

  part(request: LimitRequest): Part | undefined {
    const { quotaTokens } = request.entry
    if (quotaTokens === undefined || !this.#shares.areUsed) return undefined
    const share = this.#shares.of({ limit: 'quota', kind: 'sum', bound: BigInt(quotaTokens) }, request)
    return share && { share, units: BigInt(request.tokens) }
  }

  declare(request: LimitRequest): DeclaredShare | undefined {
    return declared(this.part(request))
  }

  isExceededBy(request: LimitRequest): boolean {
    const part = this.part(request)
    if (part) return exceeds(part, request)
    const { quotaTokens: limit } = request.entry
    const { tokens } = request
    const spent = this.spentTokens
    // Written so that no sum exceeds the safe integers.
    return limit !== undefined && spent !== undefined && tokens > limit - spent - this.#heldTokens
  }

  check(request: LimitRequest): void {
    if (request.entry.quotaTokens === undefined) return
    if (this.#baseTokens === undefined && !this.#shares.areUsed) throw notLoaded(this.owner, request)
    if (this.isExceededBy(request)) throw this.error(request)
  }

  take({ tokens }: LimitRequest): void {
    this.#heldTokens += tokens
    if (this.#shares.areUsed) this.#shares.take(BigInt(tokens))
  }

  release({ tokens }: LimitRequest, { charge }: LimitEnd): void {
    this.#heldTokens -= tokens
    if (this.#shares.areUsed) this.#shares.end(BigInt(tokens), BigInt(charge?.tokens ?? 0))
    if (charge) this.#settledTokens += charge.tokens
  }

  report(request: LimitRequest): LimitUsage | undefined {
    const { quotaTokens: limit } = request.entry
    if (limit === undefined) return undefined
    const { spentTokens: used, heldTokens: held } = this.usage(request)
    return { limit, used, held, needed: request.tokens }
  }

  /** Of all gateways, as far as this one knows. */
  usage(request: LimitRequest): { readonly spentTokens: number | undefined; readonly heldTokens: number } {
    const share = this.part({ ...request, isReport: true })?.share
    if (!share) return this
    return { spentTokens: Number(share.spent), heldTokens: Number(share.held + share.leasedToOthers) }
  }

  error(request: LimitRequest): GwError {
    const { spentTokens: spent = 0, heldTokens: held } = this.usage(request)
    const usage = { limit: request.entry.quotaTokens ?? 0, spent, held, needed: request.tokens }
    return new GwError(
      'quota_exceeded',
      `The token quota of ${nameOf(this.owner, request)} does not cover this call: ${numbers(usage)}.`,
    )
  }

  isIdle(): boolean {
    return this.#heldTokens === 0
  }
}
