import { GwError } from '../base/catalogue/wire.ts'
import type { Rate } from '../schema/limits.ts'
import type { KeyEntry } from '../snapshot/types.ts'
import { checkBalance, checkBudget, checkPermits, checkQuota, checkRequests, checkTokens } from './checks.ts'
import type { Remaining } from './estimate.ts'
import type { KeyLimitState, TenantLimitState } from './limit-states.ts'
import type { RateState } from './rate-state.ts'

/** The needs of one request, computed once for all limits. */
export interface LimitRequest {
  readonly entry: KeyEntry
  readonly key: KeyLimitState
  readonly tenant: TenantLimitState | undefined
  /** Upper bound. */
  readonly tokens: number
  /** The part that counts for tokens per minute. */
  readonly ratedTokens: number
  readonly amountNano: bigint
  readonly nowMs: number
  readonly tickMs: number
  readonly currency: string
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

/** One limit, of a key or of its tenant. */
interface Limit {
  readonly name: 'concurrency' | 'rpm' | 'tpm' | 'quota' | 'budget' | 'balance'
  readonly of: 'key' | 'tenant'
  /** Takes nothing. @throws {GwError} the error for the rejected client */
  check(limitRequest: LimitRequest): void
  /** Undefined if the limit is not set. */
  read(limitRequest: LimitRequest): LimitUsage | undefined
}

/** The usage and verdict of one limit for one request. */
export interface LimitReport extends Pick<Limit, 'name' | 'of'> {
  readonly usage: LimitUsage
  /** Present if the limit rejects the request. */
  readonly rejection?: GwError
}

/** The limits of an inference request, in the order of their checks: the first rejection is the answer. */
export const INFERENCE_LIMITS: readonly Limit[] = [
  {
    name: 'concurrency',
    of: 'key',
    check: ({ key, entry }) => checkPermits(key.rates, entry.limits),
    read: ({ key, entry }) => permits(key.rates, entry.limits.concurrency),
  },
  {
    name: 'concurrency',
    of: 'tenant',
    check({ tenant, entry }) {
      if (tenant && entry.tenant) checkPermits(tenant.rates, entry.tenant.limits)
    },
    read: ({ tenant, entry }) => tenant && permits(tenant.rates, entry.tenant?.limits.concurrency),
  },
  ...requestLimits('requests'),
  {
    name: 'tpm',
    of: 'key',
    check: ({ key, entry, ratedTokens, tickMs }) => checkTokens(key.rates, entry.limits, ratedTokens, tickMs),
    read: limitRequest =>
      rate(
        limitRequest.key.rates,
        'tokens',
        limitRequest.entry.limits.tpm,
        limitRequest,
        limitRequest.ratedTokens,
      ),
  },
  {
    name: 'tpm',
    of: 'tenant',
    check({ tenant, entry, ratedTokens, tickMs }) {
      if (tenant && entry.tenant) checkTokens(tenant.rates, entry.tenant.limits, ratedTokens, tickMs)
    },
    read: limitRequest =>
      limitRequest.tenant &&
      rate(
        limitRequest.tenant.rates,
        'tokens',
        limitRequest.entry.tenant?.limits.tpm,
        limitRequest,
        limitRequest.ratedTokens,
      ),
  },
  {
    name: 'quota',
    of: 'key',
    check: ({ key, entry, tokens }) => checkQuota(key, entry.quotaTokens, tokens),
    read({ key: { account }, entry: { quotaTokens: limit }, tokens: needed }) {
      if (limit === undefined) return undefined
      return { limit, used: account.spentTokens(), held: account.heldTokens, needed }
    },
  },
  {
    name: 'budget',
    of: 'key',
    check: ({ key, entry, amountNano, nowMs, currency }) =>
      checkBudget(key, entry.budget, amountNano, nowMs, currency),
    read({ key: { account }, entry: { budget }, amountNano: needed, nowMs }) {
      if (!budget) return undefined
      const used = account.spentNano(budget, nowMs)
      const freshAtMs = account.resetsAtMs(budget)
      const held = account.heldNano
      return { limit: budget.amountNano, used, held, needed, ...(freshAtMs !== undefined && { freshAtMs }) }
    },
  },
  {
    name: 'balance',
    of: 'tenant',
    check({ tenant, entry, amountNano, currency }) {
      if (tenant && entry.tenant?.billing === 'prepaid') checkBalance(tenant, amountNano, currency)
    },
    read({ tenant, entry, amountNano: needed }) {
      if (!tenant || entry.tenant?.billing !== 'prepaid') return undefined
      return { used: tenant.wallet.balanceNano, held: tenant.wallet.heldNano, needed }
    },
  },
]

/** The limits of `count_tokens`, which has separate buckets. */
export const COUNT_LIMITS: readonly Limit[] = requestLimits('counts')

/** Reports of all limits that are set, in their order. */
export function readAll(limits: readonly Limit[], limitRequest: LimitRequest): readonly LimitReport[] {
  return limits.flatMap(limit => {
    const usage = limit.read(limitRequest)
    if (!usage) return []
    const rejection = rejectionOf(() => limit.check(limitRequest))
    return { name: limit.name, of: limit.of, usage, ...(rejection && { rejection }) }
  })
}

/** The remainder of the strict limits; ignores a limit that is not loaded yet. */
export function remainingFor(
  { quotaTokens, budget, tenant: tenantEntry }: KeyEntry,
  { account }: KeyLimitState,
  tenant: TenantLimitState | undefined,
  nowMs: number,
): Remaining {
  const spentTokens = quotaTokens === undefined ? undefined : account.spentTokens()
  const tokens =
    quotaTokens === undefined || spentTokens === undefined
      ? Number.POSITIVE_INFINITY
      : quotaTokens - spentTokens - account.heldTokens
  const spentNano = budget && account.spentNano(budget, nowMs)
  const ofBudget = budget && spentNano !== undefined && budget.amountNano - spentNano - account.heldNano
  const balanceNano = tenantEntry?.billing === 'prepaid' ? tenant?.wallet.balanceNano : undefined
  const ofBalance = tenant && balanceNano !== undefined && balanceNano - tenant.wallet.heldNano
  const amounts = [ofBudget, ofBalance].filter(amount => typeof amount === 'bigint')
  const nano = amounts.reduce<bigint | undefined>(
    (least, amount) => (least === undefined || amount < least ? amount : least),
    undefined,
  )
  return { tokens, nano }
}

function requestLimits(unit: 'requests' | 'counts'): Limit[] {
  return [
    {
      name: 'rpm',
      of: 'key',
      check: ({ key, entry, tickMs }) => checkRequests(key.rates, unit, entry.limits, tickMs),
      read: limitRequest =>
        rate(limitRequest.key.rates, unit, limitRequest.entry.limits.rpm, limitRequest, 1),
    },
    {
      name: 'rpm',
      of: 'tenant',
      check({ tenant, entry, tickMs }) {
        if (tenant && entry.tenant) checkRequests(tenant.rates, unit, entry.tenant.limits, tickMs)
      },
      read: limitRequest =>
        limitRequest.tenant &&
        rate(limitRequest.tenant.rates, unit, limitRequest.entry.tenant?.limits.rpm, limitRequest, 1),
    },
  ]
}

function permits({ permits: held }: RateState, limit: number | undefined): LimitUsage | undefined {
  return limit === undefined ? undefined : { limit, used: 0, held, needed: 1 }
}

function rate(
  rates: RateState,
  unit: 'requests' | 'tokens' | 'counts',
  rate: Rate | undefined,
  { tickMs, nowMs }: LimitRequest,
  needed: number,
): LimitUsage | undefined {
  if (rate === undefined) return undefined
  const { limit, burst } = rate
  const used = burst - rates[unit].remaining(rate, tickMs)
  const resetMs = rates[unit].resetMs(rate, tickMs)
  return {
    limit,
    ...(burst !== limit && { burst }),
    used,
    held: 0,
    needed,
    ...(resetMs > 0 && { freshAtMs: nowMs + resetMs }),
  }
}

/** The error that a check throws, or undefined if it passes. */
export function rejectionOf(check: () => void): GwError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof GwError) return error
    throw error
  }
}
