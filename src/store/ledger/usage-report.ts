import { type Kysely, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import { toNano } from './columns.ts'
import { QUARTER_MS } from './sums.ts'
import type { UsageQuery, UsageRow } from './types.ts'
import { plusUsage } from './usage-row.ts'

const LABELS = {
  key: 'key_name',
  tenant: 'tenant',
  model: 'publication',
  endpoint: 'endpoint',
  /** By quarters first: SQLite knows no time zones. */
  day: 'quarter',
} as const

/** Adds up the quarters of an hour that overlap the time span. */
export async function selectUsage(db: Kysely<Tables>, query: UsageQuery): Promise<UsageRow[]> {
  const column = LABELS[query.by]
  let select = db
    .selectFrom('usage_quarters')
    .select(eb => [
      `${column} as label`,
      eb.fn.sum<number>('requests').as('requests'),
      eb.fn.sum<number>('input_tokens').as('inputTokens'),
      eb.fn.sum<number>('cached_input_tokens').as('cachedInputTokens'),
      eb.fn.sum<number>('cache_write_tokens').as('cacheWriteTokens'),
      eb.fn.sum<number>('output_tokens').as('outputTokens'),
      eb.fn.sum<number>('search_units').as('searchUnits'),
      sql<string>`cast(sum(amount_units) as text)`.as('units'),
      sql<string>`cast(sum(amount_nano) as text)`.as('nano'),
      eb.fn.sum<number>('estimated').as('estimated'),
      eb.fn.sum<number>('unpriced').as('unpriced'),
    ])
    .where('quarter', '>=', Math.floor(query.sinceMs / QUARTER_MS))
    .where('quarter', '<', Math.ceil(query.untilMs / QUARTER_MS))
    .groupBy(column)
    .orderBy(column)
  if (query.key !== undefined) select = select.where('key_name', '=', query.key)
  if (query.tenant !== undefined) select = select.where('tenant', '=', query.tenant)
  if (query.publication !== undefined) select = select.where('publication', '=', query.publication)
  if (query.endpoint !== undefined) select = select.where('endpoint', '=', query.endpoint)

  const rows = (await select.execute()).map(({ units, nano, label, ...row }) => ({
    ...row,
    label: String(label),
    amountNano: toNano({ units, nano }),
  }))
  if (query.by === 'day') return byDay(rows, query.timezone ?? 'UTC')
  return rows.sort((a, b) => descending(a.amountNano, b.amountNano) || b.requests - a.requests)
}

/** Quarters in the order of time → days of a time zone, in the same order. */
function byDay(quarters: readonly UsageRow[], timeZone: string): UsageRow[] {
  // This locale writes 2026-03-29.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  const days = new Map<string, UsageRow>()
  for (const quarter of quarters) {
    const label = format.format(Number(quarter.label) * QUARTER_MS)
    const day = days.get(label)
    days.set(label, { ...(day ? plusUsage(day, quarter) : quarter), label })
  }
  return [...days.values()]
}

function descending(a: bigint, b: bigint): number {
  return a === b ? 0 : a > b ? -1 : 1
}
