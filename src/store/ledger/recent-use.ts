import { type Kysely, sql } from 'kysely'
import type { KeySums, KeySumsQuery } from '../../schema/ledger.ts'
import type { Tables } from '../tables.ts'
import { toNano } from './columns.ts'
import type { NamedUse, PeakUse, UseQuery } from './types.ts'
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
  for (const names of chunks(query.names)) {
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
): Promise<ReadonlyMap<string, number>> {
  if (query.by === 'key') return selectLastUseOfKeys(db, query)
  const column = COLUMNS[query.by]
  const last = new Map<string, number>()
  for (const names of chunks(query.names)) {
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
): Promise<ReadonlyMap<string, number>> {
  const since = Math.floor(sinceMs / QUARTER_MS)
  const { rows } = await sql<{ name: string; last: number | null }>`
    select value as name, (
      select quarter from usage_quarters
      where key_name = value and quarter >= ${since} order by quarter desc limit 1
    ) as last from json_each(${JSON.stringify(names)})`.execute(db)
  return new Map(rows.flatMap(({ name, last }) => (last === null ? [] : [[name, last * QUARTER_MS]])))
}

/** The average minute of the busiest quarter of an hour of each name. */
export async function selectPeaks(
  db: Kysely<Tables>,
  query: UseQuery,
): Promise<ReadonlyMap<string, PeakUse>> {
  const column = COLUMNS[query.by]
  const peaks = new Map<string, PeakUse>()
  for (const names of chunks(query.names)) {
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
  for (const { key, sinceMs } of queries) {
    const total = await db
      .selectFrom('key_totals')
      .select(['tokens', asText('amount_units').as('units'), asText('amount_nano').as('nano')])
      .where('key_name', '=', key)
      .executeTakeFirst()
    const window = await db
      .selectFrom('usage_quarters')
      .select([
        sql<string | null>`cast(sum(amount_units) as text)`.as('units'),
        sql<string | null>`cast(sum(amount_nano) as text)`.as('nano'),
      ])
      .where('key_name', '=', key)
      .where('quarter', '>=', Math.floor(sinceMs / QUARTER_MS))
      .executeTakeFirst()
    sums.push({ key, totalTokens: total?.tokens ?? 0, totalNano: toNano(total), windowNano: toNano(window) })
  }
  return sums
}

function asText(column: string) {
  return sql<string>`cast(${sql.ref(column)} as text)`
}

function* chunks(names: readonly string[]): Generator<readonly string[]> {
  for (let start = 0; start < names.length; start += NAMES_AT_ONCE)
    yield names.slice(start, start + NAMES_AT_ONCE)
}
