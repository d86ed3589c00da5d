import { GwError } from '../base/catalogue/wire.ts'
import type { Rate } from '../schema/limits.ts'
import type { KeyEntry } from '../snapshot/types.ts'
import { checkBalance, checkBudget, checkPermits, checkQuota, checkRequests, checkTokens } from './checks.ts'
import type { Room } from './estimate.ts'
import type { KeyParty, TenantParty } from './parties.ts'
import type { Scope } from './scope.ts'

/** What one request asks of every limit, worked out once. */
export interface Asked {
  readonly entry: KeyEntry
  readonly key: KeyParty
  readonly tenant: TenantParty | undefined
  /** At most. */
  readonly tokens: number
  /** What of it counts for tokens per minute. */
  readonly ratedTokens: number
  readonly amountNano: bigint
  readonly nowMs: number
  readonly tickMs: number
  readonly currency: string
}

/** Where a limit stands: numbers of requests or of tokens, or money in nano-units. */
export interface Figures<Amount extends number | bigint = number | bigint> {
  /** Absent of a balance, which bounds itself. */
  readonly limit?: Amount
  /** Of a rate: what may be used at once. */
  readonly burst?: number
  /** Undefined where the past is not known yet. Of a balance: what there is. */
  readonly used: Amount | undefined
  /** By requests that are under way. */
  readonly held: Amount
  readonly needed: Amount
  /** Wall clock: when nothing of it will be used any more. Absent where time gives nothing back. */
  readonly freshAtMs?: number
}

/** One limit, of a key or of its tenant. */
interface Limit {
  readonly name: 'concurrency' | 'rpm' | 'tpm' | 'quota' | 'budget' | 'balance'
  readonly of: 'key' | 'tenant'
  /** Takes nothing. @throws {GwError} what a refused client is told */
  check(asked: Asked): void
  /** Undefined where there is no such limit. */
  read(asked: Asked): Figures | undefined
}

/** What one limit says to one request. */
export interface Reading extends Pick<Limit, 'name' | 'of'> {
  readonly figures: Figures
  /** What it would refuse with. */
  readonly refusal?: GwError
}

/** Every limit of an inference request, in the order in which they refuse: the first one answers. */
export const INFERENCE_LIMITS: readonly Limit[] = [
  {
    name: 'concurrency',
    of: 'key',
    check: ({ key, entry }) => checkPermits(key.scope, entry.limits),
    read: ({ key, entry }) => permits(key.scope, entry.limits.concurrency),
  },
  {
    name: 'concurrency',
    of: 'tenant',
    check({ tenant, entry }) {
      if (tenant && entry.tenant) checkPermits(tenant.scope, entry.tenant.limits)
    },
    read: ({ tenant, entry }) => tenant && permits(tenant.scope, entry.tenant?.limits.concurrency),
  },
  ...requestLimits('requests'),
  {
    name: 'tpm',
    of: 'key',
    check: ({ key, entry, ratedTokens, tickMs }) => checkTokens(key.scope, entry.limits, ratedTokens, tickMs),
    read: asked => rate(asked.key.scope, 'tokens', asked.entry.limits.tpm, asked, asked.ratedTokens),
  },
  {
    name: 'tpm',
    of: 'tenant',
    check({ tenant, entry, ratedTokens, tickMs }) {
      if (tenant && entry.tenant) checkTokens(tenant.scope, entry.tenant.limits, ratedTokens, tickMs)
    },
    read: asked =>
      asked.tenant &&
      rate(asked.tenant.scope, 'tokens', asked.entry.tenant?.limits.tpm, asked, asked.ratedTokens),
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

/** Those of `count_tokens`, which has buckets of its own. */
export const COUNT_LIMITS: readonly Limit[] = requestLimits('counts')

/** What each limit that there is says, in their order. */
export function readAll(limits: readonly Limit[], asked: Asked): readonly Reading[] {
  return limits.flatMap(limit => {
    const figures = limit.read(asked)
    if (!figures) return []
    const refusal = refusalOf(() => limit.check(asked))
    return { name: limit.name, of: limit.of, figures, ...(refusal && { refusal }) }
  })
}

/** What the strict limits leave; of one whose past is not known yet nothing is said. */
export function roomFor(
  { quotaTokens, budget, tenant: tenantEntry }: KeyEntry,
  { account }: KeyParty,
  tenant: TenantParty | undefined,
  nowMs: number,
): Room {
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
      check: ({ key, entry, tickMs }) => checkRequests(key.scope, unit, entry.limits, tickMs),
      read: asked => rate(asked.key.scope, unit, asked.entry.limits.rpm, asked, 1),
    },
    {
      name: 'rpm',
      of: 'tenant',
      check({ tenant, entry, tickMs }) {
        if (tenant && entry.tenant) checkRequests(tenant.scope, unit, entry.tenant.limits, tickMs)
      },
      read: asked => asked.tenant && rate(asked.tenant.scope, unit, asked.entry.tenant?.limits.rpm, asked, 1),
    },
  ]
}

function permits({ permits: held }: Scope, limit: number | undefined): Figures | undefined {
  return limit === undefined ? undefined : { limit, used: 0, held, needed: 1 }
}

function rate(
  scope: Scope,
  unit: 'requests' | 'tokens' | 'counts',
  rate: Rate | undefined,
  { tickMs, nowMs }: Asked,
  needed: number,
): Figures | undefined {
  if (rate === undefined) return undefined
  const { limit, burst } = rate
  const used = burst - scope[unit].remaining(rate, tickMs)
  const resetMs = scope[unit].resetMs(rate, tickMs)
  return {
    limit,
    ...(burst !== limit && { burst }),
    used,
    held: 0,
    needed,
    ...(resetMs > 0 && { freshAtMs: nowMs + resetMs }),
  }
}

function refusalOf(check: () => void): GwError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof GwError) return error
    throw error
  }
}
