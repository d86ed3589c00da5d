import { GwError } from '../base/catalogue/wire.ts'
import type { DeclaredShare } from '../schema/shares.ts'
import {
  type Limit,
  type LimitInfo,
  type LimitRequest,
  type LimitUsage,
  nameOf,
  numbers,
  type Owner,
  rateLimitsOf,
} from './limit.ts'
import { ALONE, declared, exceeds, LimitShares, type Part, type Sharing } from './shares/limit-shares.ts'

/** A permit is released when an answer ends, at an unpredictable time. */
const PERMIT_WAIT_MS = 1_000

const INFO: LimitInfo = {
  name: 'concurrency',
  title: 'concurrent requests',
  unit: 'requests',
  field: 'limits.concurrency',
}

/** Requests at a time. Each holds a permit until its last byte. */
export class Concurrency implements Limit {
  readonly owner: Owner
  #permits = 0

  readonly #shares: LimitShares

  constructor(owner: Owner, sharing: Sharing = ALONE) {
    this.owner = owner
    this.#shares = new LimitShares(owner, sharing, () => BigInt(this.#permits))
  }

  get info() {
    return INFO
  }

  get heldUntil() {
    return 'last_byte' as const
  }

  get isSpending() {
    return false
  }

  part(request: LimitRequest): Part | undefined {
    const limit = this.#limit(request)
    if (limit === undefined || !this.#shares.areUsed) return undefined
    const share = this.#shares.of({ limit: 'concurrency', kind: 'permits', bound: BigInt(limit) }, request)
    return share && { share, units: 1n }
  }

  declare(request: LimitRequest): DeclaredShare | undefined {
    return declared(this.part(request))
  }

  isExceededBy(request: LimitRequest): boolean {
    const part = this.part(request)
    if (part) return exceeds(part, request)
    const limit = this.#limit(request)
    return limit !== undefined && this.#permits >= limit
  }

  check(request: LimitRequest): void {
    if (this.isExceededBy(request)) throw this.error(request)
  }

  take(): void {
    this.#permits++
    if (this.#shares.areUsed) this.#shares.take(1n)
  }

  release(): void {
    this.#permits--
    if (this.#shares.areUsed) this.#shares.end(1n, 0n)
  }

  report(request: LimitRequest): LimitUsage | undefined {
    const limit = this.#limit(request)
    return limit === undefined ? undefined : { limit, used: 0, held: this.#held(request), needed: 1 }
  }

  error(request: LimitRequest): GwError {
    const usage = { limit: this.#limit(request) ?? 0, held: this.#held(request), needed: 1 }
    return new GwError(
      'rate_limit_concurrency',
      `Too many requests at a time for ${nameOf(this.owner, request)}: ${numbers(usage)}.`,
      { retryAfterMs: PERMIT_WAIT_MS },
    )
  }

  /** By all gateways, as far as this one knows. */
  #held(request: LimitRequest): number {
    const share = this.part({ ...request, isReport: true })?.share
    return share ? Number(share.held + share.leasedToOthers) : this.#permits
  }

  isIdle(): boolean {
    return this.#permits === 0
  }

  #limit({ entry }: LimitRequest): number | undefined {
    return rateLimitsOf(this.owner, entry)?.concurrency
  }
}
