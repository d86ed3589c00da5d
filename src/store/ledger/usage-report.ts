import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import { toNano } from './columns.ts'
import type { UsageQuery, UsageRow } from './types.ts'
import { plusUsage, QUARTER_MS } from './usage-sums.ts'

const LABELS = {
  key: 'key_name',
  tenant: 'tenant',
  model: 'publication',
  endpoint: 'endpoint',
} as const

/** Above this part of all rows, reading the table in its own order is faster than finding the rows by the index. */
const SCAN_ABOVE = 1 / 4

/** Adds up the quarters of an hour that overlap the time span. */
export async function selectUsage(db: Kysely<Tables>, query: UsageQuery): Promise<UsageRow[]> {
  const [from, to] = [Math.floor(query.sinceMs / QUARTER_MS), Math.ceil(query.untilMs / QUARTER_MS)]
  // A plus sign hides a column from the index of quarters. A key's rows lie together, in the order of quarters.
  const isScan = query.key === undefined && (await partOf(db, from, to)) > SCAN_ABOVE
  const quarter = isScan ? sql<number>`+quarter` : sql<number>`quarter`
  const column: RawBuilder<unknown> = query.by === 'day' ? quarter : sql.ref(LABELS[query.by])
  let select = db
    .selectFrom('usage_quarters')
    .select(eb => [
      column.as('label'),
      eb.fn.sum<number>('requests').as('requests'),
      eb.fn.sum<number>('input_tokens').as('inputTokens'),
      eb.fn.sum<number>('cached_input_tokens').as('cachedInputTokens'),
      eb.fn.sum<number>('cache_write_tokens').as('cacheWriteTokens'),
      eb.fn.sum<number>('output_tokens').as('outputTokens'),
      eb.fn.sum<number>('search_units').as('searchUnits'),
      eb.fn.sum<number>('duration_ms').as('durationMs'),
      eb.fn.sum<number>('characters').as('characters'),
      eb.fn.sum<number>('images').as('images'),
      sql<string>`cast(sum(amount_units) as text)`.as('units'),
      sql<string>`cast(sum(amount_nano) as text)`.as('nano'),
      eb.fn.sum<number>('estimated').as('estimated'),
      eb.fn.sum<number>('unpriced').as('unpriced'),
    ])
    .where(quarter, '>=', from)
    .where(quarter, '<', to)
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

/** The approximate part of all rows that is in a span of quarters: rows are taken to be spread evenly. */
async function partOf(db: Kysely<Tables>, from: number, to: number): Promise<number> {
  // Each is one look at the end of the index, but only alone in its query.
  const ends = db.selectFrom('usage_quarters').select('quarter').limit(1)
  const first = await ends.orderBy('quarter').executeTakeFirst()
  const last = await ends.orderBy('quarter', 'desc').executeTakeFirst()
  if (!first || !last) return 0
  const inside = Math.min(to, last.quarter + 1) - Math.max(from, first.quarter)
  return inside / (last.quarter + 1 - first.quarter)
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
