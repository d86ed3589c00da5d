import { parseNano } from '../../../base/decimal.ts'
import type { Json, Resource } from '../../../schema/kinds.ts'
import type { PeakUse } from '../../../store/ledger/types.ts'
import type { Live } from '../../../store/types.ts'
import type { LoweredLimit } from './types.ts'
import type { RecentUse } from './use.ts'

/** A lowered limit, before its recent use is known. */
type Candidate = Omit<LoweredLimit, 'used'> & { readonly spec: Resource['spec'] }

/** A resource before and after the plan. */
export interface Pair {
  readonly before: Resource
  readonly after: Resource
}

const DAY_MS = 86_400_000

/**
 * Lowered or new limits of keys and tenants that are below recent use.
 *
 * @param balances under the names after the plan.
 */
export async function loweredLimits(
  pairs: readonly Pair[],
  balances: NonNullable<Live['balances']>,
  use: RecentUse,
  nowMs: number,
): Promise<LoweredLimit[]> {
  const candidates = pairs.flatMap(candidatesOf)
  const rates = candidates.filter(({ limit }) => limit === 'rpm' || limit === 'tpm')
  const peaks = {
    key: await peaksOf('key', rates, use, nowMs),
    tenant: await peaksOf('tenant', rates, use, nowMs),
  }
  const strict = candidates.filter(({ limit }) => limit === 'quota' || limit === 'budget')
  const sums = await use.keySums(
    strict.map(({ name, spec }) => ({ key: name, sinceMs: windowStart(spec['budget'], use, nowMs) })),
  )
  const spent = new Map(strict.map((candidate, at) => [candidate, sums[at]]))
  const lowered = candidates.flatMap(candidate => {
    const { spec, ...limit } = candidate
    const used = usedOf(candidate, peaks[candidate.kind].get(candidate.name), spent.get(candidate), spec)
    const rejects = isRate(limit.limit) ? limit.after < used : limit.after <= used
    return rejects && used > 0n ? [{ ...limit, used }] : []
  })
  return [...lowered, ...(await uncovered(pairs, balances, use, nowMs))]
}

/** Whether its amounts are money; else they are requests or tokens. */
export function isMoney({ limit }: Pick<LoweredLimit, 'limit'>): boolean {
  return limit === 'budget' || limit === 'balance'
}

/** Tenants that become prepaid with a balance that covers none of the calls for which they paid in the last day. */
async function uncovered(
  pairs: readonly Pair[],
  balances: NonNullable<Live['balances']>,
  use: RecentUse,
  nowMs: number,
): Promise<LoweredLimit[]> {
  const balanceOf = new Map(balances.map(({ tenant, balanceNano }) => [tenant, balanceNano]))
  const names = pairs.flatMap(({ before, after: { kind, name, spec } }) => {
    if (kind !== 'tenant' || spec['billing'] !== 'prepaid' || before.spec['billing'] === 'prepaid') return []
    return (balanceOf.get(name) ?? 0n) > 0n ? [] : [name]
  })
  if (names.length === 0) return []
  const rows = await use.use({ by: 'tenant', names, sinceMs: nowMs - DAY_MS })
  return names.flatMap((name): LoweredLimit[] => {
    const used = rows.reduce((sum, row) => (row.name === name ? sum + row.amountNano : sum), 0n)
    if (used === 0n) return []
    return [{ kind: 'tenant', name, limit: 'balance', after: balanceOf.get(name) ?? 0n, used }]
  })
}

function candidatesOf({ before, after }: Pair): Candidate[] {
  const { kind, name, spec } = after
  if (kind !== 'key' && kind !== 'tenant') return []
  const found: Candidate[] = []
  const compare = (limit: LoweredLimit['limit'], old: bigint | undefined, next: bigint | undefined) => {
    if (next === undefined || (old !== undefined && old <= next)) return
    found.push({ kind, name, limit, ...(old !== undefined && { before: old }), after: next, spec })
  }
  for (const limit of ['rpm', 'tpm'] as const) compare(limit, rateAt(before.spec, limit), rateAt(spec, limit))
  if (kind === 'tenant') return found
  compare('quota', limitAt(before.spec['quota'], 'tokens'), limitAt(spec['quota'], 'tokens'))
  const [old, next] = [before.spec['budget'], spec['budget']]
  // Windows of different lengths cannot be compared: then the new budget counts.
  const isAlike = windowOf(old) === windowOf(next)
  compare('budget', isAlike ? amountOf(old) : undefined, amountOf(next))
  return found.filter(({ limit }) => limit !== 'budget' || JSON.stringify(old) !== JSON.stringify(next))
}

async function peaksOf(
  by: 'key' | 'tenant',
  rates: readonly Candidate[],
  use: RecentUse,
  nowMs: number,
): Promise<ReadonlyMap<string, PeakUse>> {
  const names = [...new Set(rates.filter(({ kind }) => kind === by).map(({ name }) => name))]
  return names.length > 0 ? use.peaks({ by, names, sinceMs: nowMs - DAY_MS }) : new Map<string, PeakUse>()
}

function usedOf(
  { limit }: Candidate,
  peak: PeakUse | undefined,
  sums: { readonly totalTokens: number; readonly totalNano: bigint; readonly windowNano: bigint } | undefined,
  spec: Resource['spec'],
): bigint {
  if (limit === 'rpm') return BigInt(Math.ceil(peak?.requestsPerMinute ?? 0))
  if (limit === 'tpm') return BigInt(Math.ceil(peak?.tokensPerMinute ?? 0))
  if (limit === 'quota') return BigInt(sums?.totalTokens ?? 0)
  const isTotal = textAt(spec['budget'], 'per') === 'total'
  return (isTotal ? sums?.totalNano : sums?.windowNano) ?? 0n
}

function isRate(limit: LoweredLimit['limit']): boolean {
  return limit === 'rpm' || limit === 'tpm'
}

function windowStart(budget: Json | undefined, use: RecentUse, nowMs: number): number {
  const per = textAt(budget, 'per')
  if (per !== 'day' && per !== 'month') return nowMs
  return use.budgetStartMs(per, textAt(budget, 'timezone') ?? 'UTC', nowMs)
}

function windowOf(budget: Json | undefined): string {
  return `${textAt(budget, 'per')} ${textAt(budget, 'timezone')}`
}

function amountOf(budget: Json | undefined): bigint | undefined {
  if (textAt(budget, 'mode') === 'shadow') return undefined
  const amount = textAt(budget, 'amount')
  const nano = amount === undefined ? undefined : parseNano(amount)
  return typeof nano === 'bigint' ? nano : undefined
}

/** An enforced limit: a number alone, or a field beside its mode. Undefined in shadow mode, which rejects nothing. */
function limitAt(written: Json | undefined, field: string): bigint | undefined {
  if (textAt(written, 'mode') === 'shadow') return undefined
  const value = typeof written === 'number' ? written : memberAt(written, field)
  return typeof value === 'number' ? BigInt(value) : undefined
}

function rateAt(spec: Resource['spec'], limit: 'rpm' | 'tpm'): bigint | undefined {
  return limitAt(memberAt(spec['limits'], limit), 'limit')
}

function textAt(value: Json | undefined, field: string): string | undefined {
  const member = memberAt(value, field)
  return typeof member === 'string' ? member : undefined
}

function memberAt(value: Json | undefined, field: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (value as { readonly [field: string]: Json })[field]
}
