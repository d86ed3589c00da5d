import { parts, USAGE_COLUMNS } from './columns.ts'

/** The smallest span that usage is kept for. */
export const QUARTER_MS = 900_000
/** Reports of whole days in UTC read sums by day. */
export const DAY_QUARTERS = 96

/** The sums of some settlements. Token counts stay far below 2⁵³ (`check` of the table `ledger`). */
export interface UsageSums {
  readonly requests: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  readonly searchUnits: number
  readonly durationMs: number
  readonly characters: number
  readonly images: number
  readonly amountNano: bigint
  /** Counts of requests: with estimated usage, and without a price. */
  readonly estimated: number
  readonly unpriced: number
}

/** The primary key of a row of `usage_quarters`. */
export interface UsagePlace {
  readonly key: string
  /** Quarters of an hour since the epoch. */
  readonly quarter: number
  /** Empty for platform keys. */
  readonly tenant: string
  readonly publication: string
  readonly endpoint: string
}

/** The sums of a row without calls. */
export const NO_SUMS: UsageSums = {
  requests: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  searchUnits: 0,
  durationMs: 0,
  characters: 0,
  images: 0,
  amountNano: 0n,
  estimated: 0,
  unpriced: 0,
}

/** The sum of two rows; other fields are those of the first. */
export function plusUsage<Row extends UsageSums>(a: Row, b: UsageSums): Row {
  return {
    ...a,
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    searchUnits: a.searchUnits + b.searchUnits,
    durationMs: a.durationMs + b.durationMs,
    characters: a.characters + b.characters,
    images: a.images + b.images,
    amountNano: a.amountNano + b.amountNano,
    estimated: a.estimated + b.estimated,
    unpriced: a.unpriced + b.unpriced,
  }
}

/** The same sums with the opposite sign. */
export function minusUsage(sums: UsageSums): UsageSums {
  return {
    requests: -sums.requests,
    inputTokens: -sums.inputTokens,
    cachedInputTokens: -sums.cachedInputTokens,
    cacheWriteTokens: -sums.cacheWriteTokens,
    outputTokens: -sums.outputTokens,
    searchUnits: -sums.searchUnits,
    durationMs: -sums.durationMs,
    characters: -sums.characters,
    images: -sums.images,
    amountNano: -sums.amountNano,
    estimated: -sums.estimated,
    unpriced: -sums.unpriced,
  }
}

/** The sums of a row of `usage_quarters`, with the amount in two parts. */
export const SUM_COLUMNS = [
  'requests',
  ...USAGE_COLUMNS,
  'amount_units',
  'amount_nano',
  'estimated',
  'unpriced',
] as const

/** The columns of a place, in the order of {@link usageValues}. */
const PLACE_COLUMNS = ['key_name', 'quarter', 'tenant', 'publication', 'endpoint'] as const

/**
 * A statement that adds a row to a table with these columns.
 * @param place the primary key of the table.
 */
export function addUsageTo(table: string, place: readonly string[] = PLACE_COLUMNS): string {
  const columns = [...place, ...SUM_COLUMNS]
  return `
    insert into ${table} (${columns.join(', ')})
    values (${columns.map(() => '?').join(', ')})
    on conflict do update set ${SUM_COLUMNS.map(column => `${column} = ${column} + excluded.${column}`).join(', ')}`
}

/** The parameters of {@link addUsageTo} for the whole place; `quarter` is the value of its span. */
export function usageValues(row: UsagePlace & UsageSums): (string | number | bigint)[] {
  return [row.key, row.quarter, row.tenant, row.publication, row.endpoint, ...sumValues(row)]
}

/** The parameters of {@link addUsageTo} after those of the place. */
export function sumValues(row: UsageSums): (number | bigint)[] {
  return [
    row.requests,
    row.inputTokens,
    row.cachedInputTokens,
    row.cacheWriteTokens,
    row.outputTokens,
    row.searchUnits,
    row.durationMs,
    row.characters,
    row.images,
    ...parts(row.amountNano),
    row.estimated,
    row.unpriced,
  ]
}
