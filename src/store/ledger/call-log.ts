import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import { protocolOfPath } from '../../schema/paths.ts'
import type { Tables } from '../tables.ts'
import { nameOf, toFlags, toUsage, USAGE_COLUMNS } from './columns.ts'
import { type LedgerDialect, SQLITE_LEDGER } from './dialect.ts'
import { PAGE_FILTERS, PAGE_IDS, type PageFilter } from './log-pages.ts'
import type { CallLogQuery, StoredCall } from './types.ts'

/** How many pages a query looks up at once, growing while it finds too few rows. */
const FIRST_PAGES = 16
const MAX_PAGES = 1_024
const GROWTH = 8
/** More than any status: an integer of PostgreSQL. */
const MAX_STATUS = 2 ** 31 - 1

/** A span of ids. */
interface Span {
  readonly from: number
  readonly to: number
}

/** A condition on rows and, if it names a filter, on pages that have such rows. */
interface Condition {
  readonly filter: PageFilter | 'key_id'
  readonly min: number
  readonly max: number
}

export async function selectCalls(
  db: Kysely<Tables>,
  query: CallLogQuery,
  dialect: LedgerDialect = SQLITE_LEDGER,
): Promise<StoredCall[]> {
  const limit = query.limit ?? 100
  const conditions = await conditionsOf(db, query)
  if (!conditions) return []
  const rowsIn = (span: Span | undefined, most: number) =>
    selectRows(db, dialect, query, conditions, span, most)
  if (query.requestId !== undefined || !dialect.hasLogPages) return rowsIn(undefined, limit)
  const calls: StoredCall[] = []
  for await (const span of spans(db, query, conditions)) {
    calls.push(...(await rowsIn(span, limit - calls.length)))
    if (calls.length >= limit) break
  }
  return calls
}

/** Undefined if a name was never logged. */
async function conditionsOf(db: Kysely<Tables>, query: CallLogQuery): Promise<Condition[] | undefined> {
  const named = [
    ['key_id', query.key],
    ['tenant_id', query.tenant],
    ['publication_id', query.publication],
    ['endpoint_id', query.endpoint],
    ['outcome_id', query.outcome],
    ['node_id', query.node],
  ] as const
  const conditions: Condition[] = []
  for (const [filter, name] of named) {
    if (name === undefined) continue
    const row = await db.selectFrom('ledger_names').select('id').where('name', '=', name).executeTakeFirst()
    if (!row) return undefined
    conditions.push({ filter, min: row.id, max: row.id })
  }
  const { minStatus, maxStatus } = query
  if (minStatus !== undefined || maxStatus !== undefined)
    conditions.push({ filter: 'status', min: minStatus ?? 0, max: maxStatus ?? MAX_STATUS })
  return conditions
}

/** The spans of ids that may have matching rows, in the order of the answer. */
async function* spans(
  db: Kysely<Tables>,
  query: CallLogQuery,
  conditions: readonly Condition[],
): AsyncGenerator<Span> {
  const isForward = query.after !== undefined
  const { before = Number.MAX_SAFE_INTEGER, after = -1, sinceMs, untilMs } = query
  let [from, to] = [pageOf(after + 1), pageOf(before - 1)]
  for (let count = FIRST_PAGES; ; count = Math.min(count * GROWTH, MAX_PAGES)) {
    let select = db
      .selectFrom('call_log_pages as p')
      .select('page')
      .where('page', '>=', from)
      .where('page', '<=', to)
      .orderBy('page', isForward ? 'asc' : 'desc')
      .limit(count)
    if (sinceMs !== undefined) select = select.where('last_at_ms', '>=', sinceMs)
    if (untilMs !== undefined) select = select.where('first_at_ms', '<', untilMs)
    for (const { filter, min, max } of conditions) {
      if (filter !== 'key_id') select = select.where(hasValue(PAGE_FILTERS[filter], min, max))
    }
    const pages = (await select.execute()).map(({ page }) => page)
    yield* joined(pages)
    const last = pages.at(-1)
    if (last === undefined || pages.length < count) return
    if (isForward) from = last + 1
    else to = last - 1
  }
}

function hasValue(filter: number, min: number, max: number): Expression<SqlBool> {
  return sql<SqlBool>`exists (select 1 from call_log_values v
    where v.filter = ${filter} and v.value between ${min} and ${max} and v.page = p.page)`
}

function pageOf(id: number): number {
  return Math.floor(id / PAGE_IDS)
}

/** Neighbours are one span. */
function* joined(pages: readonly number[]): Generator<Span> {
  let first = 0
  for (let at = 1; at <= pages.length; at++) {
    const [page, previous] = [pages[at], pages[at - 1] as number]
    if (page !== undefined && Math.abs(page - previous) === 1) continue
    const ends = [pages[first] as number, previous]
    yield { from: Math.min(...ends) * PAGE_IDS, to: (Math.max(...ends) + 1) * PAGE_IDS - 1 }
    first = at
  }
}

const NAMES = {
  key: 'key_id',
  tenant: 'tenant_id',
  publication: 'publication_id',
  endpoint: 'endpoint_id',
  node: 'node_id',
  path: 'path_id',
  outcome: 'outcome_id',
  errorCode: 'error_code_id',
} as const

/** @param span Absent: rows of any id. */
async function selectRows(
  db: Kysely<Tables>,
  { requestIdOf, toRequest }: LedgerDialect,
  query: CallLogQuery,
  conditions: readonly Condition[],
  span: Span | undefined,
  limit: number,
): Promise<StoredCall[]> {
  let select = db
    .selectFrom('call_logs')
    .select(['id', 'at_ms', 'status', 'stream', ...USAGE_COLUMNS, 'flags', 'latency_ms'])
    .select(['first_byte_ms', 'attempts', 'reason', 'failed_attempts'])
    .select([
      sql<string>`cast(amount_nano as text)`.as('nano'),
      sql.raw<string>(requestIdOf('request')).as('requestId'),
      sql.raw<string>(nameOf(NAMES.key)).as('key'),
      sql.raw<string | null>(nameOf(NAMES.tenant)).as('tenant'),
      sql.raw<string>(nameOf(NAMES.publication)).as('publication'),
      sql.raw<string | null>(nameOf(NAMES.endpoint)).as('endpoint'),
      sql.raw<string | null>(nameOf(NAMES.node)).as('node'),
      sql.raw<string>(nameOf(NAMES.path)).as('path'),
      sql.raw<string>(nameOf(NAMES.outcome)).as('outcome'),
      sql.raw<string | null>(nameOf(NAMES.errorCode)).as('errorCode'),
    ])
    .orderBy('id', query.after === undefined ? 'desc' : 'asc')
    .limit(limit)
  if (span) select = select.where('id', '>=', span.from).where('id', '<=', span.to)
  if (query.after !== undefined) select = select.where('id', '>', query.after)
  if (query.before !== undefined) select = select.where('id', '<', query.before)
  if (query.requestId !== undefined) select = select.where('request', '=', toRequest(query.requestId))
  for (const { filter, min, max } of conditions) {
    select =
      min === max ? select.where(filter, '=', min) : select.where(filter, '>=', min).where(filter, '<=', max)
  }
  if (query.sinceMs !== undefined) select = select.where('at_ms', '>=', query.sinceMs)
  if (query.untilMs !== undefined) select = select.where('at_ms', '<', query.untilMs)
  return (await select.execute()).map(row => ({
    id: row.id,
    requestId: row.requestId,
    atMs: row.at_ms,
    key: row.key,
    ...(row.tenant !== null && { tenant: row.tenant }),
    publication: row.publication,
    ...(row.endpoint !== null && { endpoint: row.endpoint }),
    ...(row.node !== null && { node: row.node }),
    protocol: protocolOfPath(row.path),
    path: row.path,
    status: row.status,
    stream: row.stream === 1,
    outcome: row.outcome,
    ...(row.errorCode !== null && { errorCode: row.errorCode }),
    ...(row.input_tokens !== null && { usage: toUsage(row) }),
    amountNano: BigInt(row.nano),
    flags: toFlags(row.flags),
    latencyMs: row.latency_ms,
    ...(row.first_byte_ms !== null && { firstByteMs: row.first_byte_ms }),
    attempts: row.attempts,
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.failed_attempts !== null && { failedAttempts: JSON.parse(row.failed_attempts) as string[] }),
  }))
}
