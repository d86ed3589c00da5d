import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import { toNano } from './columns.ts'
import type { UsageQuery, UsageRow } from './types.ts'
import { DAY_QUARTERS, minusUsage, plusUsage, QUARTER_MS, type UsageSums } from './usage-sums.ts'

const LABELS = {
  key: 'key_name',
  tenant: 'tenant',
  model: 'publication',
  endpoint: 'endpoint',
} as const

type Count = Exclude<keyof UsageSums, 'amountNano'>

/** The columns of the counts, none of which is ever negative. */
const COLUMN_OF = {
  requests: 'requests',
  inputTokens: 'input_tokens',
  cachedInputTokens: 'cached_input_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  searchUnits: 'search_units',
  durationMs: 'duration_ms',
  characters: 'characters',
  images: 'images',
  estimated: 'estimated',
  unpriced: 'unpriced',
} as const satisfies Readonly<Record<Count, string>>
const COUNTS = Object.keys(COLUMN_OF) as Count[]

/** Above this part of all rows, reading the table in its own order is faster than finding the rows by the index. */
const SCAN_ABOVE = 1 / 4

/**
 * Adds up the quarters of an hour that overlap the time span, by the sums of days in UTC where that is less work:
 *
 *     since 15:00                                until 22:00
 *       ├── + ──┼── day ──┼── day ──┼──── day ───┼─ − ─┤
 *
 * Of a day that the span cuts, the shorter part is added or subtracted.
 */
export async function selectUsage(db: Kysely<Tables>, query: UsageQuery): Promise<UsageRow[]> {
  const [from, to] = [Math.floor(query.sinceMs / QUARTER_MS), Math.ceil(query.untilMs / QUARTER_MS)]
  const { timezone = 'UTC' } = query
  const canUseDays = query.by !== 'hour' && (query.by !== 'day' || timezone === 'UTC')
  const days = canUseDays ? await nearestDays(db, from, to) : undefined
  const parts = days
    ? [
        await selectQuarters(db, from, days.first * DAY_QUARTERS, query),
        await selectSpan(db, daysFor(query), days.first, days.end, query),
        await selectQuarters(db, days.end * DAY_QUARTERS, to, query),
      ]
    : [await selectQuarters(db, from, to, query)]
  if (isTime(query.by)) return addedUp(parts.flat(), timeLabel(query.by, timezone)).sort(byLabel)
  const rows = addedUp(parts.flat(), ({ label }) => label)
  return rows.sort((a, b) => descending(a.amountNano, b.amountNano) || b.requests - a.requests)
}

/** The whole days nearest to a span; undefined if its own quarters are fewer than those that must be corrected. */
async function nearestDays(db: Kysely<Tables>, from: number, to: number) {
  const last = await endOf(db, QUARTERS, 'desc')
  // Up to now today is whole: nothing comes after it.
  const isLast = last === undefined || last < to
  const [first, end] = [
    Math.round(from / DAY_QUARTERS),
    isLast ? Math.ceil(to / DAY_QUARTERS) : Math.round(to / DAY_QUARTERS),
  ]
  const corrected = Math.abs(from - first * DAY_QUARTERS) + (isLast ? 0 : Math.abs(to - end * DAY_QUARTERS))
  return end > first && corrected < to - from ? { first, end } : undefined
}

/** A table of sums, and its unit of time. */
interface Span {
  readonly table: 'usage_quarters' | 'usage_days' | 'usage_key_days' | 'usage_model_days'
  readonly column: 'quarter' | 'day'
  readonly quarters: number
}
const QUARTERS = { table: 'usage_quarters', column: 'quarter', quarters: 1 } as const
const DAYS = { table: 'usage_days', column: 'day', quarters: DAY_QUARTERS } as const
const KEY_DAYS = { ...DAYS, table: 'usage_key_days' } as const
const MODEL_DAYS = { ...DAYS, table: 'usage_model_days' } as const

/** The sums of days with the fewest rows that know all that a query names. */
function daysFor({ by, split, key, publication, endpoint }: UsageQuery): Span {
  const names = (name: 'key' | 'model' | 'endpoint') => by === name || split === name
  if (key === undefined && !names('key')) return MODEL_DAYS
  const isWhole = publication === undefined && endpoint === undefined && !names('model') && !names('endpoint')
  return isWhole ? KEY_DAYS : DAYS
}

/** The sums of the quarters between two; if the second is the earlier one, with the opposite sign. */
async function selectQuarters(
  db: Kysely<Tables>,
  from: number,
  to: number,
  query: UsageQuery,
): Promise<UsageRow[]> {
  if (from <= to) return selectSpan(db, QUARTERS, from, to, query)
  const rows = await selectSpan(db, QUARTERS, to, from, query)
  return rows.map(row => ({ ...row, ...minusUsage(row) }))
}

/** Rows by label, those of days and hours by the first quarter of their time, in the order of time. */
async function selectSpan(
  db: Kysely<Tables>,
  span: Span,
  from: number,
  to: number,
  query: UsageQuery,
): Promise<UsageRow[]> {
  if (to <= from) return []
  const { table, column, quarters } = span
  // The rows of all keys, in their order. A plus sign hides a column from the index of times.
  const isOfKeys = span !== MODEL_DAYS && query.key === undefined
  const isScan = isOfKeys && (await partOf(db, span, from, to)) > SCAN_ABOVE
  const counts = isOfKeys && span !== QUARTERS ? await countsOf(db, from, to, query) : new Set(COUNTS)
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
      sql<string>`cast(sum(amount_units) as text)`.as('units'),
      sql<string>`cast(sum(amount_nano) as text)`.as('nano'),
      ...COUNTS.map(count =>
        (counts.has(count) ? eb.fn.sum<number>(COLUMN_OF[count]) : sql.lit(0)).as(count),
      ),
    ])
    .where(time, '>=', from)
    .where(time, '<', to)
    .groupBy(label)
    .orderBy(label)
  if (query.split !== undefined) select = select.groupBy(split).orderBy(split)
  if (query.key !== undefined) select = select.where('key_name', '=', query.key)
  // Finds the days of each key in turn, however long the table is.
  else if (span === KEY_DAYS && !isScan)
    select = select.where('key_name', 'in', eb => eb.selectFrom('key_totals').select('key_totals.key_name'))
  const filters = filtersOf(query)
  if (filters) select = select.where(eb => eb.and(filters))
  return (await select.execute()).map(({ units, nano, label, split: second, ...row }) => ({
    ...row,
    label: String(label),
    ...(query.split !== undefined && { split: second }),
    amountNano: toNano({ units, nano }),
  }))
}

/** What a query asks for besides a key and a time; undefined: nothing. */
function filtersOf({ tenant, publication, endpoint }: UsageQuery) {
  const filters = {
    ...(tenant !== undefined && { tenant }),
    ...(publication !== undefined && { publication }),
    ...(endpoint !== undefined && { endpoint }),
  }
  return Object.keys(filters).length === 0 ? undefined : filters
}

/** The counts that are above 0 for all keys together: only these are added up for each of thousands of keys, which takes half of the time. */
async function countsOf(
  db: Kysely<Tables>,
  first: number,
  end: number,
  query: UsageQuery,
): Promise<ReadonlySet<Count>> {
  let select = db
    .selectFrom('usage_model_days')
    .select(eb => COUNTS.map(count => eb.fn.sum<number | null>(COLUMN_OF[count]).as(count)))
    .where('day', '>=', first)
    .where('day', '<', end)
  const filters = filtersOf(query)
  if (filters) select = select.where(eb => eb.and(filters))
  const sums = await select.executeTakeFirst()
  return new Set(COUNTS.filter(count => (sums?.[count] ?? 0) > 0))
}

/** The approximate part of all rows that is in a span of time: rows are taken to be spread evenly. */
async function partOf(db: Kysely<Tables>, span: Span, from: number, to: number): Promise<number> {
  // The days of keys alone have no index of times, and are the same.
  const indexed = span === KEY_DAYS ? DAYS : span
  const first = await endOf(db, indexed)
  const last = await endOf(db, indexed, 'desc')
  if (first === undefined || last === undefined) return 0
  const inside = Math.min(to, last + 1) - Math.max(from, first)
  return inside / (last + 1 - first)
}

/** The first or last time of a table: one look at the end of its index, but only alone in its query. */
async function endOf(
  db: Kysely<Tables>,
  { table, column }: Span,
  order?: 'desc',
): Promise<number | undefined> {
  const row = await db
    .selectFrom(table as 'usage_quarters')
    .select(sql.ref<number>(column).as('time'))
    .orderBy('time', order)
    .limit(1)
    .executeTakeFirst()
  return row?.time
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
  // What was subtracted may have been all.
  return [...sums.values()].filter(({ requests }) => requests !== 0)
}

function byLabel(a: UsageRow, b: UsageRow): number {
  if (a.label !== b.label) return a.label < b.label ? -1 : 1
  const [first = '', second = ''] = [a.split, b.split]
  return first < second ? -1 : first > second ? 1 : 0
}

function descending(a: bigint, b: bigint): number {
  return a === b ? 0 : a > b ? -1 : 1
}
