import type Database from 'better-sqlite3'
import { fromRequestId, requestIdOf } from '../ledger/columns.ts'
import {
  isAmount,
  queryOf,
  type Side,
  TABLES,
  type TableName,
  type TableShape,
  type Value,
} from './tables.ts'

const PAGE_ROWS = 1_000

/** The tables of a copy, as SQLite has them. */
export function shapesOf(raw: Database.Database): readonly TableShape[] {
  return TABLES.map(name => ({ name, ...shapeOf(raw, name) }))
}

function shapeOf(raw: Database.Database, name: TableName): Omit<TableShape, 'name'> {
  const columns = raw.pragma(`table_info(${name})`) as readonly {
    readonly name: string
    readonly pk: number
  }[]
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  return { columns: columns.map(column => column.name), key: key.map(column => column.name) }
}

/** @param raw in a transaction */
export class SqliteSide implements Side {
  readonly #raw: Database.Database

  constructor(raw: Database.Database) {
    this.#raw = raw
  }

  async *read(table: TableShape): AsyncIterable<readonly (readonly Value[])[]> {
    const rows = this.#raw.prepare(queryOf(table, select)).raw().iterate() as IterableIterator<
      readonly Value[]
    >
    let page: (readonly Value[])[] = []
    for (const row of rows) {
      page.push(row)
      if (page.length < PAGE_ROWS) continue
      yield page
      page = []
    }
    yield page
  }

  async insert({ name, columns }: TableShape, rows: readonly (readonly Value[])[]): Promise<void> {
    const statement = this.#raw.prepare(
      `insert into ${name} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
    )
    for (const row of rows) statement.run(row.map((value, at) => toStored(columns[at] as string, value)))
  }
}

function select(column: string): string {
  if (column === 'request') return requestIdOf(column)
  return isAmount(column) ? `cast(${column} as text)` : column
}

function toStored(column: string, value: Value): Value | bigint {
  if (typeof value !== 'string') return value
  if (column === 'request') return fromRequestId(value)
  return isAmount(column) ? BigInt(value) : value
}

/**
 * Rows of a copy come in the order of their keys, not in that of their history: some triggers are off meanwhile.
 * @returns what restores them.
 */
export function withoutTriggers(raw: Database.Database): () => void {
  const triggers = raw
    .prepare<[], { name: string; sql: string }>(`select name, sql from sqlite_schema where type = 'trigger'`)
    .all()
  for (const { name } of triggers) raw.exec(`drop trigger ${name}`)
  return () => {
    for (const { sql } of triggers) raw.exec(sql)
  }
}

/** What follows from the copied rows, and is not in them. */
export function deriveInSqlite(raw: Database.Database): void {
  const filters = ['tenant_id', 'publication_id', 'endpoint_id', 'outcome_id', 'status', 'node_id']
  raw.exec(`
    update ledger_head set wallet_version = (select coalesce(max(entry_id), 0) from adjustments);
    insert into call_log_pages (page, first_at_ms, last_at_ms)
      select id / 4096, min(at_ms), max(at_ms) from call_logs group by 1;
    insert into call_log_values (filter, value, page) ${filters
      .map(
        (column, index) =>
          `select ${index + 1}, ${column}, id / 4096 from call_logs where ${column} is not null`,
      )
      .join(' union ')}`)
}
