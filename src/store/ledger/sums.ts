import type { Settlement } from '../../schema/ledger.ts'

/** The smallest span that usage is kept for. */
export const QUARTER_MS = 900_000

function quarterOf(ms: number): number {
  return Math.floor(ms / QUARTER_MS)
}

/** The sum of settlements for one row of `usage_quarters`. */
export interface QuarterSum {
  readonly key: string
  readonly quarter: number
  readonly tenant: string
  readonly publication: string
  readonly endpoint: string
  requests: number
  inputTokens: number
  cachedInputTokens: number
  cacheWriteTokens: number
  outputTokens: number
  searchUnits: number
  amountNano: bigint
  estimated: number
  unpriced: number
}

export interface KeySum {
  tokens: number
  amountNano: bigint
}

/** The sums of the settlements of one batch, so that each stored sum is written once per batch. */
export class BatchSums {
  readonly quarters = new Map<string, QuarterSum>()
  readonly keys = new Map<string, KeySum>()
  /** The amount to subtract from the balance, by tenant. */
  readonly spent = new Map<string, bigint>()

  add(end: Settlement): void {
    const { key, amountNano, usage, flags } = end
    const tenant = end.tenant ?? ''
    const quarter = quarterOf(end.endedAtMs)
    // No name contains a line break (schema/scalars.ts).
    const id = `${quarter}\n${key}\n${tenant}\n${end.publication}\n${end.endpoint}`
    const sum = this.quarters.get(id) ?? empty(end, quarter, tenant)
    sum.requests += 1
    sum.inputTokens += usage.inputTokens
    sum.cachedInputTokens += usage.cachedInputTokens
    sum.cacheWriteTokens += usage.cacheWriteTokens
    sum.outputTokens += usage.outputTokens
    sum.searchUnits += usage.searchUnits
    sum.amountNano += amountNano
    if (flags.includes('estimated')) sum.estimated += 1
    if (flags.includes('unpriced')) sum.unpriced += 1
    this.quarters.set(id, sum)

    const total = this.keys.get(key) ?? { tokens: 0, amountNano: 0n }
    total.tokens += usage.inputTokens + usage.outputTokens
    total.amountNano += amountNano
    this.keys.set(key, total)

    if (end.tenant !== undefined) {
      this.spent.set(end.tenant, (this.spent.get(end.tenant) ?? 0n) + amountNano)
    }
  }
}

function empty(end: Settlement, quarter: number, tenant: string): QuarterSum {
  return {
    key: end.key,
    quarter,
    tenant,
    publication: end.publication,
    endpoint: end.endpoint,
    requests: 0,
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    searchUnits: 0,
    amountNano: 0n,
    estimated: 0,
    unpriced: 0,
  }
}
