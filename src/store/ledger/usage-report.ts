import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import { toNano } from './columns.ts'
import type { UsageQuery, UsageRow } from './types.ts'
import { DAY_QUARTERS, plusUsage, QUARTER_MS } from './usage-sums.ts'

const LABELS = {
  key: 'key_name',
  tenant: 'tenant',
  model: 'publication',
  endpoint: 'endpoint',
} as const

/** Above this part of all rows, reading the table in its own order is faster than finding the rows by the index. */
const SCAN_ABOVE = 1 / 4

/** Adds up the quarters of an hour that overlap the time span: of whole days in UTC by their sums. */
export async function selectUsage(db: Kysely<Tables>, query: UsageQuery): Promise<UsageRow[]> {
  const [from, to] = [Math.floor(query.sinceMs / QUARTER_MS), Math.ceil(query.untilMs / QUARTER_MS)]
  const [firstDay, endDay] = [Math.ceil(from / DAY_QUARTERS), Math.floor(to / DAY_QUARTERS)]
  const { timezone = 'UTC' } = query
  const hasDays = endDay > firstDay && query.by !== 'hour' && (query.by !== 'day' || timezone === 'UTC')
  const parts = hasDays
    ? [
        await selectSpan(db, QUARTERS, from, firstDay * DAY_QUARTERS, query),
        await selectSpan(db, DAYS, firstDay, endDay, query),
        await selectSpan(db, QUARTERS, endDay * DAY_QUARTERS, to, query),
      ]
    : [await selectSpan(db, QUARTERS, from, to, query)]
  if (isTime(query.by)) return addedUp(parts.flat(), timeLabel(query.by, timezone))
  const rows = addedUp(parts.flat(), ({ label }) => label)
  return rows.sort((a, b) => descending(a.amountNano, b.amountNano) || b.requests - a.requests)
}

/** A table of sums, and its unit of time. */
type Span = typeof QUARTERS | typeof DAYS
const QUARTERS = { table: 'usage_quarters', column: 'quarter', quarters: 1 } as const
const DAYS = { table: 'usage_days', column: 'day', quarters: DAY_QUARTERS } as const

/** Rows by label, those of days and hours by the first quarter of their time, in the order of time. */
async function selectSpan(
  db: Kysely<Tables>,
  { table, column, quarters }: Span,
  from: number,
  to: number,
  query: UsageQuery,
): Promise<UsageRow[]> {
  if (to <= from) return []
  // A plus sign hides a column from the index of times. A key's rows lie together, in the order of time.
  const isScan = query.key === undefined && (await partOf(db, { table, column }, from, to)) > SCAN_ABOVE
  const time = isScan ? sql.raw<number>(`+${column}`) : sql.raw<number>(column)
  const label: RawBuilder<unknown> = isTime(query.by)
    ? sql`${time} * ${sql.lit(quarters)}`
    : sql.ref(LABELS[query.by])
  // Of a query without a second dimension a constant, so that its rows are grouped by the first alone.
  const split: RawBuilder<string> = query.split === undefined ? sql.lit('') : sql.ref(LABELS[query.split])
  let select = db
    .selectFrom(table as 'usage_quarters')
    .select(eb => [
      label.as('label'),
      split.as('split'),
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
    .where(time, '>=', from)
    .where(time, '<', to)
    .groupBy(label)
    .orderBy(label)
  if (query.split !== undefined) select = select.groupBy(split).orderBy(split)
  if (query.key !== undefined) select = select.where('key_name', '=', query.key)
  if (query.tenant !== undefined) select = select.where('tenant', '=', query.tenant)
  if (query.publication !== undefined) select = select.where('publication', '=', query.publication)
  if (query.endpoint !== undefined) select = select.where('endpoint', '=', query.endpoint)
  return (await select.execute()).map(({ units, nano, label, split: second, ...row }) => ({
    ...row,
    label: String(label),
    ...(query.split !== undefined && { split: second }),
    amountNano: toNano({ units, nano }),
  }))
}

/** The approximate part of all rows that is in a span of time: rows are taken to be spread evenly. */
async function partOf(
  db: Kysely<Tables>,
  { table, column }: Pick<Span, 'table' | 'column'>,
  from: number,
  to: number,
): Promise<number> {
  // Each is one look at the end of the index, but only alone in its query.
  const ends = db
    .selectFrom(table as 'usage_quarters')
    .select(sql.ref<number>(column).as('time'))
    .limit(1)
  const first = await ends.orderBy('time').executeTakeFirst()
  const last = await ends.orderBy('time', 'desc').executeTakeFirst()
  if (!first || !last) return 0
  const inside = Math.min(to, last.time + 1) - Math.max(from, first.time)
  return inside / (last.time + 1 - first.time)
}

function isTime(by: UsageQuery['by']): by is 'day' | 'hour' {
  return by === 'day' || by === 'hour'
}

const HOUR_MS = 4 * QUARTER_MS

/** Of a row by quarter: its day in a time zone, or its hour in UTC. */
function timeLabel(by: 'day' | 'hour', timeZone: string): (row: UsageRow) => string {
  const atMs = ({ label }: UsageRow) => Number(label) * QUARTER_MS
  if (by === 'hour') return row => new Date(Math.floor(atMs(row) / HOUR_MS) * HOUR_MS).toISOString()
  // This locale writes 2026-03-29.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  return row => format.format(atMs(row))
}

/** Rows with the same label and split become one, in the order of the first ones. */
function addedUp(rows: readonly UsageRow[], labelOf: (row: UsageRow) => string): UsageRow[] {
  const sums = new Map<string, UsageRow>()
  for (const row of rows) {
    const label = labelOf(row)
    // No name has a line break.
    const id = `${label}\n${row.split ?? ''}`
    const sum = sums.get(id)
    sums.set(id, { ...(sum ? plusUsage(sum, row) : row), label })
  }
  return [...sums.values()]
}

function descending(a: bigint, b: bigint): number {
  return a === b ? 0 : a > b ? -1 : 1
}
