import { type Kysely, sql } from 'kysely'
import type { KeySums, KeySumsQuery } from '../../schema/ledger.ts'
import { chunks } from '../chunks.ts'
import type { Tables } from '../tables.ts'
import { toNano } from './columns.ts'
import { type LedgerDialect, SQLITE_LEDGER } from './dialect.ts'
import { PAGE_FILTERS, PAGE_IDS } from './log-pages.ts'
import type { NamedUse, NodeUse, NodeUseQuery, PeakUse, UseQuery } from './types.ts'
import { QUARTER_MS } from './usage-sums.ts'

const COLUMNS = {
  key: 'key_name',
  tenant: 'tenant',
  publication: 'publication',
  endpoint: 'endpoint',
} as const

/** SQLite accepts at most 32766 parameters in a statement. */
const NAMES_AT_ONCE = 5_000
const MINUTES_A_QUARTER = QUARTER_MS / 60_000

/** Settled usage of each name since `sinceMs`, and the time of the last use; unused names are left out. */
export async function selectUse(db: Kysely<Tables>, query: UseQuery): Promise<NamedUse[]> {
  const column = COLUMNS[query.by]
  const found: NamedUse[] = []
  for (const names of chunks(query.names, NAMES_AT_ONCE)) {
    const rows = await db
      .selectFrom('usage_quarters')
      .select(eb => [
        `${column} as name`,
        // A publication has a row per endpoint: together they identify a binding.
        sql<string>`${query.by === 'publication' ? sql.ref('endpoint') : sql`''`}`.as('endpoint'),
        eb.fn.sum<number>('requests').as('requests'),
        sql<number>`sum(input_tokens + output_tokens)`.as('tokens'),
        sql<string>`cast(sum(amount_units) as text)`.as('units'),
        sql<string>`cast(sum(amount_nano) as text)`.as('nano'),
        eb.fn.max('quarter').as('last'),
      ])
      .where('quarter', '>=', Math.floor(query.sinceMs / QUARTER_MS))
      .where(column, 'in', names)
      .groupBy([column, sql`2`])
      .execute()
    for (const { name, endpoint, requests, tokens, units, nano, last } of rows) {
      found.push({
        name,
        endpoint,
        requests,
        tokens,
        amountNano: toNano({ units, nano }),
        lastUsedAtMs: last * QUARTER_MS,
      })
    }
  }
  return found
}

/** When each name was last used since `sinceMs`: reads only an index, so it is cheap even over a busy month. */
export async function selectLastUse(
  db: Kysely<Tables>,
  query: UseQuery,
  dialect: LedgerDialect = SQLITE_LEDGER,
): Promise<ReadonlyMap<string, number>> {
  if (query.by === 'key') return selectLastUseOfKeys(db, query, dialect)
  const column = COLUMNS[query.by]
  const last = new Map<string, number>()
  for (const names of chunks(query.names, NAMES_AT_ONCE)) {
    const rows = await db
      .selectFrom('usage_quarters')
      .select(eb => [`${column} as name`, eb.fn.max('quarter').as('last')])
      .where('quarter', '>=', Math.floor(query.sinceMs / QUARTER_MS))
      .where(column, 'in', names)
      .groupBy(column)
      .execute()
    for (const row of rows) last.set(row.name, row.last * QUARTER_MS)
  }
  return last
}

/** The table is sorted by key and time, so the end of each key is one look-up, however busy the key is. */
async function selectLastUseOfKeys(
  db: Kysely<Tables>,
  { names, sinceMs }: UseQuery,
  { textTable }: LedgerDialect,
): Promise<ReadonlyMap<string, number>> {
  const since = Math.floor(sinceMs / QUARTER_MS)
  const { rows } = await sql<{ name: string; last: number | null }>`
    select value as name, (
      select quarter from usage_quarters
      where key_name = value and quarter >= ${since} order by quarter desc limit 1
    ) as last from ${textTable(names)}`.execute(db)
  return new Map(rows.flatMap(({ name, last }) => (last === null ? [] : [[name, last * QUARTER_MS]])))
}

/** Reads only the pages of the call log that have one of the nodes. */
export async function selectNodeUse(
  db: Kysely<Tables>,
  { nodes, sinceMs }: NodeUseQuery,
): Promise<readonly NodeUse[]> {
  const { rows } = await sql<NodeUse>`
    with nodes as (select id, name from ledger_names where name in (select value from json_each(${JSON.stringify(nodes)}))),
      pages as (
        select distinct v.page from call_log_values v join call_log_pages p on p.page = v.page
        where v.filter = ${PAGE_FILTERS.node_id} and v.value in (select id from nodes) and p.last_at_ms >= ${sinceMs})
    select nodes.name as node, endpoints.name as endpoint, count(*) as requests
    from pages
      cross join call_logs c on c.id between pages.page * ${PAGE_IDS} and pages.page * ${PAGE_IDS} + ${PAGE_IDS - 1}
      join nodes on nodes.id = c.node_id
      join ledger_names endpoints on endpoints.id = c.endpoint_id
    where c.at_ms >= ${sinceMs}
    group by c.node_id, c.endpoint_id`.execute(db)
  return rows
}

/** The average minute of the busiest quarter of an hour of each name. */
export async function selectPeaks(
  db: Kysely<Tables>,
  query: UseQuery,
): Promise<ReadonlyMap<string, PeakUse>> {
  const column = COLUMNS[query.by]
  const peaks = new Map<string, PeakUse>()
  for (const names of chunks(query.names, NAMES_AT_ONCE)) {
    const rows = await db
      .selectFrom('usage_quarters')
      .select(eb => [
        `${column} as name`,
        eb.fn.sum<number>('requests').as('requests'),
        sql<number>`sum(input_tokens + output_tokens)`.as('tokens'),
      ])
      .where('quarter', '>=', Math.floor(query.sinceMs / QUARTER_MS))
      .where(column, 'in', names)
      .groupBy([column, 'quarter'])
      .execute()
    for (const { name, requests, tokens } of rows) {
      const peak = peaks.get(name)
      peaks.set(name, {
        requestsPerMinute: Math.max(peak?.requestsPerMinute ?? 0, requests / MINUTES_A_QUARTER),
        tokensPerMinute: Math.max(peak?.tokensPerMinute ?? 0, tokens / MINUTES_A_QUARTER),
      })
    }
  }
  return peaks
}

/** Usage of keys, in total and since a moment; one answer per query, zeros without usage. */
export async function selectKeySums(
  db: Kysely<Tables>,
  queries: readonly KeySumsQuery[],
): Promise<KeySums[]> {
  const sums: KeySums[] = []
  for (const some of chunks(queries, NAMES_AT_ONCE)) {
    const wanted = some.map(
      ({ key, sinceMs }, place) =>
        sql`(cast(${place} as bigint), cast(${key} as text), cast(${Math.floor(sinceMs / QUARTER_MS)} as bigint))`,
    )
    // One statement for thousands of keys: each is a look-up, and a span of a table that is sorted by key and time.
    const { rows } = await sql<KeySumsRow>`
      with wanted (place, key_name, since) as (values ${sql.join(wanted)})
      select
        tokens, cast(amount_units as text) as units, cast(amount_nano as text) as nano,
        (${windowSum('amount_units')}) as window_units, (${windowSum('amount_nano')}) as window_nano
      from wanted left join key_totals on key_totals.key_name = wanted.key_name
      order by place`.execute(db)
    for (const [at, { tokens, units, nano, window_units, window_nano }] of rows.entries()) {
      sums.push({
        key: some[at]?.key ?? '',
        totalTokens: tokens ?? 0,
        totalNano: toNano({ units, nano }),
        windowNano: toNano({ units: window_units, nano: window_nano }),
      })
    }
  }
  return sums
}

interface KeySumsRow {
  readonly tokens: number | null
  readonly units: string | null
  readonly nano: string | null
  readonly window_units: string | null
  readonly window_nano: string | null
}

function windowSum(column: 'amount_units' | 'amount_nano') {
  return sql`select cast(sum(${sql.ref(column)}) as text) from usage_quarters
    where usage_quarters.key_name = wanted.key_name and quarter >= since`
}
