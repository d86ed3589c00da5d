import { GwError } from '../base/catalogue/wire.ts'
import { formatNano } from '../base/decimal.ts'
import type { Rate } from '../schema/limits.ts'
import type { Budget } from '../snapshot/types.ts'
import type { Scope } from './scope.ts'

/**
 * What a refused request is told: which limit, whose, and the numbers that refused it. Waits are for a rate only:
 * one of the SDKs sleeps whatever it is told (WIRE §1, "Retry hints").
 */

/** A permit comes back when an answer ends, which nobody can foretell. */
const PERMIT_WAIT_MS = 1_000
const LOADING_WAIT_MS = 1_000

export function concurrencyRefusal(scope: Scope, limit: number): GwError {
  return new GwError(
    'rate_limit_concurrency',
    `Too many requests at a time for ${whose(scope)}: ${numbers({ limit, held: scope.permits, needed: 1 })}.`,
    { retryAfterMs: PERMIT_WAIT_MS },
  )
}

export function requestsRefusal(
  scope: Scope,
  unit: 'requests' | 'counts',
  rate: Rate,
  remaining: number,
  waitMs: number,
): GwError {
  const counted = unit === 'requests' ? 'Requests' : 'Calls of count_tokens'
  const figures = { ...rateFigures(rate), remaining, needed: 1 }
  return rateRefusal('rate_limit_requests', counted, scope, figures, waitMs)
}

export function tokensRefusal(
  scope: Scope,
  rate: Rate,
  { remaining, needed }: { remaining: number; needed: number },
  waitMs: number,
): GwError {
  const figures = { ...rateFigures(rate), remaining, needed }
  return rateRefusal('rate_limit_tokens', 'Tokens', scope, figures, waitMs)
}

/** The burst is named if it is not the limit itself. */
function rateFigures({ limit, burst }: Rate): Readonly<Record<string, number>> {
  return burst === limit ? { limit } : { limit, burst }
}

export function quotaRefusal(
  key: Scope,
  figures: { limit: number; spent: number; held: number; needed: number },
): GwError {
  return new GwError(
    'quota_exceeded',
    `The token quota of ${whose(key)} does not cover this call: ${numbers(figures)}.`,
  )
}

export function budgetRefusal(
  key: Scope,
  budget: Budget,
  figures: { spent: bigint; held: bigint; needed: bigint },
  currency: string,
): GwError {
  const window = budget.per === 'total' ? 'in total' : `per ${budget.per} (${budget.timezone})`
  return new GwError(
    'budget_exceeded',
    `The budget of ${whose(key)} ${window} does not cover this call, in ${currency}: ${numbers({ limit: budget.amountNano, ...figures })}.`,
  )
}

export function balanceRefusal(
  tenant: Scope,
  figures: { balance: bigint; held: bigint; needed: bigint },
  currency: string,
): GwError {
  return new GwError(
    'insufficient_balance',
    `The prepaid balance of ${whose(tenant)} does not cover this call, in ${currency}: ${numbers(figures)}.`,
  )
}

/** What was spent before this process began is not known yet, so nothing can be promised. */
export function notLoaded(scope: Scope): GwError {
  return new GwError('unavailable', `What ${whose(scope)} has spent is still being read.`, {
    retryAfterMs: LOADING_WAIT_MS,
  })
}

function rateRefusal(
  code: 'rate_limit_requests' | 'rate_limit_tokens',
  counted: string,
  scope: Scope,
  figures: Readonly<Record<string, number>>,
  waitMs: number,
): GwError {
  return new GwError(
    code,
    `${counted} per minute of ${whose(scope)}: ${numbers(figures)}; possible again in ${seconds(waitMs)}.`,
    { retryAfterMs: waitMs },
  )
}

function whose({ kind, name }: Scope): string {
  return `${kind} \`${name}\``
}

/** `limit 60, remaining 0, needed 1`; money in units of the currency. */
function numbers(figures: Readonly<Record<string, number | bigint>>): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${typeof value === 'bigint' ? formatNano(value) : value}`)
    .join(', ')
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}
