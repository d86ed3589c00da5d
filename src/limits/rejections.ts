import { GwError } from '../base/catalogue/wire.ts'
import { formatNano } from '../base/decimal.ts'
import type { Rate } from '../schema/limits.ts'
import type { Budget } from '../snapshot/types.ts'
import type { RateState } from './rate-state.ts'

/**
 * The errors of rejected requests: the limit, its key or tenant, and the numbers. Only rates have a wait, because one of
 * the SDKs sleeps for any `retry-after` (spec/wire.md §1).
 */

/** A permit is released when an answer ends, at an unpredictable time. */
const PERMIT_WAIT_MS = 1_000
const LOADING_WAIT_MS = 1_000

export function concurrencyRejection(rates: RateState, limit: number): GwError {
  return new GwError(
    'rate_limit_concurrency',
    `Too many requests at a time for ${ownerOf(rates)}: ${numbers({ limit, held: rates.permits, needed: 1 })}.`,
    { retryAfterMs: PERMIT_WAIT_MS },
  )
}

export function requestsRejection(
  rates: RateState,
  unit: 'requests' | 'counts',
  rate: Rate,
  remaining: number,
  waitMs: number,
): GwError {
  const counted = unit === 'requests' ? 'Requests' : 'Calls of count_tokens'
  const usage = { ...rateUsage(rate), remaining, needed: 1 }
  return rateRejection('rate_limit_requests', counted, rates, usage, waitMs)
}

export function tokensRejection(
  rates: RateState,
  rate: Rate,
  { remaining, needed }: { remaining: number; needed: number },
  waitMs: number,
): GwError {
  const usage = { ...rateUsage(rate), remaining, needed }
  return rateRejection('rate_limit_tokens', 'Tokens', rates, usage, waitMs)
}

/** Includes the burst only if it differs from the limit. */
function rateUsage({ limit, burst }: Rate): Readonly<Record<string, number>> {
  return burst === limit ? { limit } : { limit, burst }
}

export function quotaRejection(
  key: RateState,
  usage: { limit: number; spent: number; held: number; needed: number },
): GwError {
  return new GwError(
    'quota_exceeded',
    `The token quota of ${ownerOf(key)} does not cover this call: ${numbers(usage)}.`,
  )
}

export function budgetRejection(
  key: RateState,
  budget: Budget,
  usage: { spent: bigint; held: bigint; needed: bigint },
  currency: string,
): GwError {
  const window = budget.per === 'total' ? 'in total' : `per ${budget.per} (${budget.timezone})`
  return new GwError(
    'budget_exceeded',
    `The budget of ${ownerOf(key)} ${window} does not cover this call, in ${currency}: ${numbers({ limit: budget.amountNano, ...usage })}.`,
  )
}

export function balanceRejection(
  tenant: RateState,
  usage: { balance: bigint; held: bigint; needed: bigint },
  currency: string,
): GwError {
  return new GwError(
    'insufficient_balance',
    `The prepaid balance of ${ownerOf(tenant)} does not cover this call, in ${currency}: ${numbers(usage)}.`,
  )
}

/** Spending before the start of this process is not loaded yet. */
export function notLoaded(rates: RateState): GwError {
  return new GwError('unavailable', `What ${ownerOf(rates)} has spent is still being read.`, {
    retryAfterMs: LOADING_WAIT_MS,
  })
}

function rateRejection(
  code: 'rate_limit_requests' | 'rate_limit_tokens',
  counted: string,
  rates: RateState,
  usage: Readonly<Record<string, number>>,
  waitMs: number,
): GwError {
  return new GwError(
    code,
    `${counted} per minute of ${ownerOf(rates)}: ${numbers(usage)}; possible again in ${seconds(waitMs)}.`,
    { retryAfterMs: waitMs },
  )
}

function ownerOf({ kind, name }: RateState): string {
  return `${kind} \`${name}\``
}

/** `limit 60, remaining 0, needed 1`; money in units of the currency. */
function numbers(usage: Readonly<Record<string, number | bigint>>): string {
  return Object.entries(usage)
    .map(([name, value]) => `${name} ${typeof value === 'bigint' ? formatNano(value) : value}`)
    .join(', ')
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}
