import { GwError } from '../base/catalogue/wire.ts'
import type { Rate } from '../schema/limits.ts'
import { RateBucket } from './gcra.ts'
import {
  type Limit,
  type LimitEnd,
  type LimitInfo,
  type LimitRequest,
  type LimitUsage,
  nameOf,
  numbers,
  type Owner,
  rateLimitsOf,
} from './limit.ts'

/** The units of a rate. */
export interface RateUnit {
  readonly info: LimitInfo & { readonly name: 'rpm' | 'tpm' }
  readonly code: 'rate_limit_requests' | 'rate_limit_tokens'
  /** As the beginning of a sentence. */
  readonly title: string
  /** The units that a request needs. */
  needed(request: LimitRequest): number
  /** The difference of the units used and taken; undefined: not corrected. */
  correction(request: LimitRequest, end: LimitEnd): number | undefined
}

/** A limit of units a minute. */
export class RateLimit implements Limit {
  readonly owner: Owner
  readonly bucket = new RateBucket()
  readonly #unit: RateUnit

  constructor(owner: Owner, unit: RateUnit) {
    this.owner = owner
    this.#unit = unit
  }

  get info() {
    return this.#unit.info
  }

  get heldUntil() {
    return 'charge' as const
  }

  get isSpending() {
    return false
  }

  isExceededBy(request: LimitRequest): boolean {
    const rate = this.#rate(request)
    return rate !== undefined && this.bucket.waitMs(rate, this.#unit.needed(request), request.tickMs) > 0
  }

  check(request: LimitRequest): void {
    if (this.isExceededBy(request)) throw this.error(request)
  }

  take(request: LimitRequest): void {
    if (this.#rate(request)) this.bucket.take(this.#unit.needed(request))
  }

  release(request: LimitRequest, end: LimitEnd): void {
    const correction = this.#unit.correction(request, end)
    // Nothing was taken without a limit.
    if (correction !== undefined && this.#rate(request)) this.bucket.correct(correction, end.tickMs)
  }

  report(request: LimitRequest): LimitUsage | undefined {
    const rate = this.#rate(request)
    if (!rate) return undefined
    const { limit, burst } = rate
    const { tickMs, nowMs } = request
    const used = burst - this.bucket.remaining(rate, tickMs)
    const resetMs = this.bucket.resetMs(rate, tickMs)
    return {
      limit,
      ...(burst !== limit && { burst }),
      used,
      held: 0,
      needed: this.#unit.needed(request),
      ...(resetMs > 0 && { freshAtMs: nowMs + resetMs }),
    }
  }

  error(request: LimitRequest): GwError {
    const { tickMs } = request
    const rate = this.#rate(request) ?? { limit: 0, burst: 0 }
    const needed = this.#unit.needed(request)
    const waitMs = this.bucket.waitMs(rate, needed, tickMs)
    const { limit, burst } = rate
    const usage = {
      limit,
      ...(burst !== limit && { burst }),
      remaining: this.bucket.remaining(rate, tickMs),
      needed,
    }
    return new GwError(
      this.#unit.code,
      `${this.#unit.title} per minute of ${nameOf(this.owner)}: ${numbers(usage)}; possible again in ${Math.ceil(waitMs / 1000)} s.`,
      { retryAfterMs: waitMs },
    )
  }

  isIdle(tickMs: number): boolean {
    return this.bucket.isFull(tickMs)
  }

  #rate({ entry }: LimitRequest): Rate | undefined {
    return rateLimitsOf(this.owner, entry)?.[this.#unit.info.name]
  }
}
