import type { PostgresClient } from '../postgres/connection.ts'
import type { Database } from '../postgres/ledger/lane-connection.ts'
import { Partitions } from '../postgres/ledger/partitions.ts'
import { requestIdOf, toRequestBytes } from '../postgres/ledger/request-id.ts'
import { isAmount, queryOf, type Side, type TableShape, type Value } from './tables.ts'

const PAGE_ROWS = 1_000
/** The protocol has 16 bits for their number. */
const MAX_PARAMETERS = 60_000
/** Entries of an instance that does not exist count as folded. */
const NO_INSTANCE = 0
const CALL_KINDS = 1

/** @param client in a transaction */
export class PostgresSide implements Side {
  readonly #client: PostgresClient
  readonly #partitions = new Partitions()

  constructor(client: PostgresClient) {
    this.#client = client
  }

  async *read(table: TableShape): AsyncIterable<readonly (readonly Value[])[]> {
    await this.#client.query(`declare copied no scroll cursor for ${queryOf(table, select)}`)
    for (;;) {
      const { rows } = await this.#client.query<Record<string, Value>>(`fetch ${PAGE_ROWS} from copied`)
      yield rows.map(row => table.columns.map(column => row[column] as Value))
      if (rows.length < PAGE_ROWS) break
    }
    await this.#client.query('close copied')
  }

  async insert(table: TableShape, rows: readonly (readonly Value[])[]): Promise<void> {
    const { name } = table
    const { columns, values } =
      name === 'ledger' ? withOwner(table, rows) : { columns: table.columns, values: rows }
    if (name === 'ledger') await this.#ensure('ledger', columns, values, 'opened_at_ms')
    if (name === 'call_logs') await this.#ensure('call_logs', columns, values, 'at_ms')
    const most = Math.floor(MAX_PARAMETERS / columns.length)
    for (let start = 0; start < values.length; start += most) {
      const some = values.slice(start, start + most)
      const places = some.map(
        (_, row) => `(${columns.map((_, at) => `$${row * columns.length + at + 1}`).join(', ')})`,
      )
      await this.#client.query(
        `insert into ${name} (${columns.join(', ')}) values ${places.join(', ')}`,
        some.flatMap(row => row.map((value, at) => toStored(columns[at] as string, value))),
      )
    }
  }

  async #ensure(
    table: 'ledger' | 'call_logs',
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    column: string,
  ): Promise<void> {
    const at = columns.indexOf(column)
    const database: Database = {
      query: async (text, values = []) => {
        const { rows: found, rowCount } = await this.#client.query<object>(text, values)
        return { rows: found.map(row => Object.values(row) as unknown[]), count: rowCount }
      },
    }
    await this.#partitions.ensure(database, table, new Set(rows.map(row => Number(row[at]))))
  }
}

/** With the columns of an entry that PostgreSQL has besides. */
function withOwner({ columns }: TableShape, rows: readonly (readonly Value[])[]) {
  const [kind, atMs, openMs] = ['kind', 'at_ms', 'open_ms'].map(column => columns.indexOf(column)) as [
    number,
    number,
    number,
  ]
  return {
    columns: [...columns, 'instance', 'opened_at_ms'],
    values: rows.map(row => [
      ...row,
      Number(row[kind]) <= CALL_KINDS ? NO_INSTANCE : null,
      Number(row[atMs]) - Number(row[openMs] ?? 0),
    ]),
  }
}

function select(column: string): string {
  if (column === 'request') return requestIdOf(column)
  return isAmount(column) || column === 'spec' ? `cast(${column} as text)` : column
}

function toStored(column: string, value: Value): Value {
  return column === 'request' && typeof value === 'string' ? toRequestBytes(value) : value
}

/** What follows from the copied rows, and is not in them: among it the next ids. */
export async function deriveInPostgres(client: PostgresClient): Promise<void> {
  await client.query(
    'update ledger_head set wallet_version = (select coalesce(max(entry_id), 0) from adjustments)',
  )
  const next = (sequence: string, table: string) =>
    `select setval(${sequence}, greatest((select max(id) from ${table}), 1), exists (select from ${table}))`
  await client.query(next(`'ledger_ids'`, 'ledger'))
  await client.query(next(`'call_log_ids'`, 'call_logs'))
  for (const table of ['key_secrets', 'users', 'audit', 'ledger_names', 'ledger_prices', 'rejected_calls'])
    await client.query(next(`pg_get_serial_sequence('${table}', 'id')`, table))
}
