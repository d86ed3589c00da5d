import { GwError } from '../base/catalogue/wire.ts'
import type { Rate } from '../schema/limits.ts'
import type { DeclaredShare } from '../schema/shares.ts'
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
import { ALONE, declared, exceeds, LimitShares, type Part, type Sharing } from './shares/limit-shares.ts'

const MINUTE_MS = 60_000
/** Other gateways have what is left, and may return it at any time. */
const RETURN_WAIT_MS = 1_000

/** The state of a rate, for headers and reports. */
export interface RateGauge {
  readonly remaining: number
  readonly resetMs: number
}

/** The units of a rate. */
export interface RateUnit {
  /** The name among the limits that gateways share. */
  readonly scope: 'rpm' | 'count_rpm' | 'tpm'
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
  /**
   * While limits are shared: what this gateway alone has used, at most what all have used. So what is still in it may be given
   * back to all.
   */
  readonly #bucket = new RateBucket()
  readonly #unit: RateUnit

  readonly #shares: LimitShares

  constructor(owner: Owner, unit: RateUnit, sharing: Sharing = ALONE) {
    this.owner = owner
    this.#unit = unit
    this.#shares = new LimitShares(owner, sharing, () => 0n)
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

  part(request: LimitRequest): Part | undefined {
    const rate = this.#rate(request)
    if (!rate || !this.#shares.areUsed) return undefined
    const [bound, perMinute] = [BigInt(rate.burst), BigInt(rate.limit)]
    const share = this.#shares.of({ limit: this.#unit.scope, kind: 'rate', bound, perMinute }, request)
    return share && { share, units: BigInt(this.#unit.needed(request)) }
  }

  declare(request: LimitRequest): DeclaredShare | undefined {
    const rate = this.#rate(request)
    return rate && declared(this.part(request), BigInt(this.#bucket.level(rate, request.tickMs)))
  }

  isExceededBy(request: LimitRequest): boolean {
    const part = this.part(request)
    if (part) return exceeds(part, request)
    const rate = this.#rate(request)
    return rate !== undefined && this.#bucket.waitMs(rate, this.#unit.needed(request), request.tickMs) > 0
  }

  check(request: LimitRequest): void {
    if (this.isExceededBy(request)) throw this.error(request)
  }

  take(request: LimitRequest): void {
    const rate = this.#rate(request)
    if (!rate) return
    const units = this.#unit.needed(request)
    this.#bucket.take(rate, units, request.tickMs)
    if (this.#shares.areUsed) this.#shares.take(BigInt(units))
  }

  release(request: LimitRequest, end: LimitEnd): void {
    const correction = this.#unit.correction(request, end)
    // Nothing was taken without a limit.
    if (correction === undefined || !this.#rate(request)) return
    const effective = this.#bucket.correct(correction, request.tickMs, end.tickMs)
    if (this.#shares.areUsed) this.#shares.end(0n, BigInt(effective))
  }

  report(request: LimitRequest): LimitUsage | undefined {
    const rate = this.#rate(request)
    if (!rate) return undefined
    const { limit, burst } = rate
    const { remaining, resetMs } = this.gauge(rate, request)
    const used = burst - remaining
    return {
      limit,
      ...(burst !== limit && { burst }),
      used,
      held: 0,
      needed: this.#unit.needed(request),
      ...(resetMs > 0 && { freshAtMs: request.nowMs + resetMs }),
    }
  }

  error(request: LimitRequest): GwError {
    const rate = this.#rate(request) ?? { limit: 0, burst: 0 }
    const needed = this.#unit.needed(request)
    const waitMs = this.#waitMs(rate, request)
    const { limit, burst } = rate
    const usage = {
      limit,
      ...(burst !== limit && { burst }),
      remaining: this.gauge(rate, request).remaining,
      needed,
    }
    return new GwError(
      this.#unit.code,
      `${this.#unit.title} per minute of ${nameOf(this.owner, request)}: ${numbers(usage)}; possible again in ${Math.ceil(waitMs / 1000)} s.`,
      { retryAfterMs: waitMs },
    )
  }

  /** The remaining units of the rate over all gateways, as far as this one knows, and the time until it is full again. */
  gauge(rate: Rate, { tickMs, ...request }: LimitRequest): RateGauge {
    const share = this.#shares.areUsed && this.part({ ...request, tickMs, isReport: true })?.share
    if (!share)
      return { remaining: this.#bucket.remaining(rate, tickMs), resetMs: this.#bucket.resetMs(rate, tickMs) }
    const remaining = Math.max(0, Math.min(rate.burst, Number(share.remaining)))
    return { remaining, resetMs: Math.ceil(((rate.burst - remaining) * MINUTE_MS) / rate.limit) }
  }

  #waitMs(rate: Rate, request: LimitRequest): number {
    const part = this.part(request)
    if (!part) return this.#bucket.waitMs(rate, this.#unit.needed(request), request.tickMs)
    return part.share.waitMs(request.tickMs) || RETURN_WAIT_MS
  }

  isIdle(tickMs: number): boolean {
    return this.#bucket.isFull(tickMs)
  }

  #rate({ entry }: LimitRequest): Rate | undefined {
    return rateLimitsOf(this.owner, entry)?.[this.#unit.info.name]
  }
}
