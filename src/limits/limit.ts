import { GwError } from '../base/catalogue/wire.ts'
import { formatNano } from '../base/decimal.ts'
import type { DeclaredShare } from '../schema/shares.ts'
import type { KeyEntry, RateLimits, ShadowLimits } from '../snapshot/types.ts'
import type { Part } from './shares/limit-shares.ts'

/** A key or a tenant, by its account. */
export interface Owner {
  readonly kind: 'key' | 'tenant'
  readonly account: string
}

/** The properties of a limit that `gw why` and its hints show. */
export interface LimitInfo {
  /** The limit's check is `key_<name>` or `tenant_<name>`. */
  readonly name: string
  /** For a sentence: `requests per minute`. */
  readonly title: string
  readonly unit: 'requests' | 'tokens' | 'money'
  /** The field of its owner that raises it; absent for a balance, which is credited. */
  readonly field?: string
}

/** The needs of one request, computed once for all limits. */
export interface LimitRequest {
  readonly entry: KeyEntry
  /** Upper bound. */
  readonly tokens: number
  /** The part that counts for tokens per minute. */
  readonly ratedTokens: number
  readonly amountNano: bigint
  /** Wall clock. */
  readonly nowMs: number
  /** Whole milliseconds of the monotonic clock. */
  readonly tickMs: number
  readonly currency: string
  /** Of the configuration that the request began with. */
  readonly revision: number
  /** Nothing is admitted, and nothing is asked: only for a report. */
  readonly isReport?: boolean
}

/** The end of a request's hold. */
export interface LimitEnd {
  readonly tickMs: number
  /** Absent: nothing was used. */
  readonly charge?:
    | { readonly tokens: number; readonly amountNano: bigint; readonly endedAtMs: number }
    | undefined
  /** The request was not admitted, so it counts nowhere. */
  readonly isWithdrawn: boolean
}

/** The usage of a limit, in requests, tokens, or nano-units of money. */
export interface LimitUsage<Amount extends number | bigint = number | bigint> {
  /** Absent for a balance. */
  readonly limit?: Amount
  /** For a rate: the units that may be used at once. */
  readonly burst?: number
  /** Undefined until loaded. For a balance: the current balance. */
  readonly used: Amount | undefined
  /** Held by requests in flight. */
  readonly held: Amount
  readonly needed: Amount
  /** Wall clock: when the usage is back to zero. Absent if it does not recover with time. */
  readonly freshAtMs?: number
}

/**
 * One limit of one key or tenant, with its state. The limit's value comes with each request, because it changes with a
 * reload; the state outlives it.
 *
 *     check ──▶ take ──▶ release, at the charge of the request or after its last byte
 *       └─▶ error        report: usage and verdict, for `gw why`
 *
 * In shadow mode `isExceededBy` replaces `check`: the limit rejects nothing.
 */
export interface Limit {
  readonly info: LimitInfo
  readonly owner: Owner
  readonly heldUntil: 'charge' | 'last_byte'
  /** It counts money or tokens that are spent, so also those of a request that exceeds it in shadow mode. */
  readonly isSpending: boolean
  /** Whether `check` would throw `error`. False if the limit is not set, or if earlier spending is not loaded yet. */
  isExceededBy(request: LimitRequest): boolean
  /** The units of a share that the request needs; undefined if the limit is not set, or while this gateway is alone. */
  part(request: LimitRequest): Part | undefined
  /** The use of the limit when this gateway begins to share it; undefined: none. */
  declare(request: LimitRequest): DeclaredShare | undefined
  /** Takes nothing. @throws {GwError} `error`; unavailable if earlier spending is not loaded yet. */
  check(request: LimitRequest): void
  /** Takes the share of a request, after all checks have passed at the same time. Never throws. */
  take(request: LimitRequest): void
  /** @param request As it was taken. */
  release(request: LimitRequest, end: LimitEnd): void
  /** Undefined if the limit is not set. */
  report(request: LimitRequest): LimitUsage | undefined
  /**
   * The error for the rejected client: the limit, its owner, and the numbers. Only rates have a wait, because one of the
   * SDKs sleeps for any `retry-after` (spec/wire.md §1).
   */
  error(request: LimitRequest): GwError
  /** Whether the state equals a new one and can be deleted. */
  isIdle(tickMs: number): boolean
}

/** The rate limits of an owner, for this request. */
export function rateLimitsOf({ kind }: Owner, { limits, tenant }: KeyEntry): RateLimits | undefined {
  return kind === 'key' ? limits : tenant?.limits
}

/** The limits of an owner in shadow mode, for this request. */
export function shadowLimitsOf({ kind }: Owner, { shadow, tenant }: KeyEntry): ShadowLimits {
  return kind === 'key' ? shadow : tenant?.shadow
}

const LOADING_WAIT_MS = 1_000

/** Spending before the start of this process is not loaded yet. */
export function notLoaded(owner: Owner, request: LimitRequest): GwError {
  return new GwError('unavailable', `What ${nameOf(owner, request)} has spent is still being read.`, {
    retryAfterMs: LOADING_WAIT_MS,
  })
}

/** With the name that the owner has in the configuration of the request: its account may be named otherwise. */
export function nameOf({ kind, account }: Owner, { entry }: LimitRequest): string {
  return `${kind} \`${(kind === 'key' ? entry : entry.tenant)?.name ?? account}\``
}

/** `limit 60, remaining 0, needed 1`; money in units of the currency. */
export function numbers(usage: Readonly<Record<string, number | bigint>>): string {
  return Object.entries(usage)
    .map(([name, value]) => `${name} ${typeof value === 'bigint' ? formatNano(value) : value}`)
    .join(', ')
}
