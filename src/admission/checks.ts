import type { Budget, RateLimits } from '../snapshot/types.ts'
import type { KeyParty, TenantParty } from './parties.ts'
import {
  balanceRefusal,
  budgetRefusal,
  concurrencyRefusal,
  notLoaded,
  quotaRefusal,
  requestsRefusal,
  tokensRefusal,
} from './refusals.ts'
import type { Scope } from './scope.ts'

/**
 * One check for each limit. None takes anything: they are all asked before the first is debited. Each throws the
 * {@link GwError} that a refused client is told.
 */

export function checkPermits(scope: Scope, { concurrency }: RateLimits): void {
  if (concurrency !== undefined && scope.permits >= concurrency) throw concurrencyRefusal(scope, concurrency)
}

export function checkRequests(
  scope: Scope,
  unit: 'requests' | 'counts',
  { rpm }: RateLimits,
  tickMs: number,
): void {
  if (rpm === undefined) return
  const bucket = scope[unit]
  const waitMs = bucket.waitMs(rpm, 1, tickMs)
  if (waitMs > 0) throw requestsRefusal(scope, unit, rpm, bucket.remaining(rpm, tickMs), waitMs)
}

export function checkTokens(scope: Scope, { tpm }: RateLimits, needed: number, tickMs: number): void {
  if (tpm === undefined) return
  const waitMs = scope.tokens.waitMs(tpm, needed, tickMs)
  if (waitMs === 0) return
  const remaining = scope.tokens.remaining(tpm, tickMs)
  throw tokensRefusal(scope, tpm, { remaining, needed }, waitMs)
}

/** Strict: spent + held never passes the limit. Written so that no sum leaves the exact integers. */
export function checkQuota({ scope, account }: KeyParty, limit: number | undefined, needed: number): void {
  if (limit === undefined) return
  const spent = account.spentTokens()
  if (spent === undefined) throw notLoaded(scope)
  const held = account.heldTokens
  if (needed > limit - spent - held) throw quotaRefusal(scope, { limit, spent, held, needed })
}

export function checkBudget(
  { scope, account }: KeyParty,
  budget: Budget | undefined,
  needed: bigint,
  nowMs: number,
  currency: string,
): void {
  if (!budget) return
  const spent = account.spentNano(budget, nowMs)
  if (spent === undefined) throw notLoaded(scope)
  const held = account.heldNano
  if (needed > 0n && spent + held + needed > budget.amountNano)
    throw budgetRefusal(scope, budget, { spent, held, needed }, currency)
}

export function checkBalance({ scope, wallet }: TenantParty, needed: bigint, currency: string): void {
  const balance = wallet.balanceNano
  if (balance === undefined) throw notLoaded(scope)
  const held = wallet.heldNano
  if (needed > 0n && held + needed > balance) throw balanceRefusal(scope, { balance, held, needed }, currency)
}

/** Takes a permit, and of each rate that has a limit what a request needs, after all checks have passed. */
export function takeRates(scope: Scope, { rpm, tpm }: RateLimits, tokens: number): void {
  scope.permits++
  if (rpm !== undefined) scope.requests.take(1)
  if (tpm !== undefined) scope.tokens.take(tokens)
}
