import { GwError } from '../base/catalogue/wire.ts'
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

  constructor(owner: Owner) {
    this.owner = owner
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

  isExceededBy(request: LimitRequest): boolean {
    const limit = this.#limit(request)
    return limit !== undefined && this.#permits >= limit
  }

  check(request: LimitRequest): void {
    if (this.isExceededBy(request)) throw this.error(request)
  }

  take(): void {
    this.#permits++
  }

  release(): void {
    this.#permits--
  }

  report(request: LimitRequest): LimitUsage | undefined {
    const limit = this.#limit(request)
    return limit === undefined ? undefined : { limit, used: 0, held: this.#permits, needed: 1 }
  }

  error(request: LimitRequest): GwError {
    const usage = { limit: this.#limit(request) ?? 0, held: this.#permits, needed: 1 }
    return new GwError(
      'rate_limit_concurrency',
      `Too many requests at a time for ${nameOf(this.owner)}: ${numbers(usage)}.`,
      { retryAfterMs: PERMIT_WAIT_MS },
    )
  }

  isIdle(): boolean {
    return this.#permits === 0
  }

  #limit({ entry }: LimitRequest): number | undefined {
    return rateLimitsOf(this.owner, entry)?.concurrency
  }
}
