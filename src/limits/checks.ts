import type { Budget, RateLimits } from '../snapshot/types.ts'
import type { KeyLimitState, TenantLimitState } from './limit-states.ts'
import type { RateState } from './rate-state.ts'
import {
  balanceRejection,
  budgetRejection,
  concurrencyRejection,
  notLoaded,
  quotaRejection,
  requestsRejection,
  tokensRejection,
} from './rejections.ts'

/**
 * One check for each limit. Checks take nothing: all of them run before the first limit is debited. Each throws the
 * {@link GwError} for the rejected client.
 */

export function checkPermits(rates: RateState, { concurrency }: RateLimits): void {
  if (concurrency !== undefined && rates.permits >= concurrency)
    throw concurrencyRejection(rates, concurrency)
}

export function checkRequests(
  rates: RateState,
  unit: 'requests' | 'counts',
  { rpm }: RateLimits,
  tickMs: number,
): void {
  if (rpm === undefined) return
  const bucket = rates[unit]
  const waitMs = bucket.waitMs(rpm, 1, tickMs)
  if (waitMs > 0) throw requestsRejection(rates, unit, rpm, bucket.remaining(rpm, tickMs), waitMs)
}

export function checkTokens(rates: RateState, { tpm }: RateLimits, needed: number, tickMs: number): void {
  if (tpm === undefined) return
  const waitMs = rates.tokens.waitMs(tpm, needed, tickMs)
  if (waitMs === 0) return
  const remaining = rates.tokens.remaining(tpm, tickMs)
  throw tokensRejection(rates, tpm, { remaining, needed }, waitMs)
}

/** Strict: spent + held never exceeds the limit. Written so that no sum exceeds the safe integers. */
export function checkQuota(
  { rates, account }: KeyLimitState,
  limit: number | undefined,
  needed: number,
): void {
  if (limit === undefined) return
  const spent = account.spentTokens()
  if (spent === undefined) throw notLoaded(rates)
  const held = account.heldTokens
  if (needed > limit - spent - held) throw quotaRejection(rates, { limit, spent, held, needed })
}

export function checkBudget(
  { rates, account }: KeyLimitState,
  budget: Budget | undefined,
  needed: bigint,
  nowMs: number,
  currency: string,
): void {
  if (!budget) return
  const spent = account.spentNano(budget, nowMs)
  if (spent === undefined) throw notLoaded(rates)
  const held = account.heldNano
  if (needed > 0n && spent + held + needed > budget.amountNano)
    throw budgetRejection(rates, budget, { spent, held, needed }, currency)
}

export function checkBalance({ rates, wallet }: TenantLimitState, needed: bigint, currency: string): void {
  const balance = wallet.balanceNano
  if (balance === undefined) throw notLoaded(rates)
  const held = wallet.heldNano
  if (needed > 0n && held + needed > balance)
    throw balanceRejection(rates, { balance, held, needed }, currency)
}

/** Takes a permit, and the needs of a request from each limited rate, after all checks have passed. */
export function takeRates(rates: RateState, { rpm, tpm }: RateLimits, tokens: number): void {
  rates.permits++
  if (rpm !== undefined) rates.requests.take(1)
  if (tpm !== undefined) rates.tokens.take(tokens)
}
