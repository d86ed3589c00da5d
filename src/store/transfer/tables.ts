/**
 * What a copy of a store has, in an order in which rows refer to earlier tables. Reports of gateways and their shares are
 * not copied: no gateway serves either store. Columns are those of SQLite, which PostgreSQL has as well.
 */
export const TABLES = [
  'revisions',
  'revision_changes',
  'resources',
  'accounts',
  'key_secrets',
  'key_suspensions',
  'maintenance',
  'users',
  'sessions',
  'tokens',
  'login_links',
  'login_origins',
  'audit',
  'stored_secrets',
  'node_join_tokens',
  'node_credentials',
  'node_retired_credentials',
  'node_drains',
  'ledger_names',
  'ledger_prices',
  'ledger',
  'adjustments',
  'wallets',
  'key_totals',
  'usage_quarters',
  'usage_days',
  'usage_key_days',
  'usage_model_days',
  'call_logs',
  'rejected_calls',
  'stored_responses',
] as const

export type TableName = (typeof TABLES)[number]

export interface TableShape {
  readonly name: TableName
  readonly columns: readonly string[]
  /** The columns of the primary key: rows are copied in its order. */
  readonly key: readonly string[]
}

/** A value that both engines have: amounts and ids of requests are text. */
export type Value = string | number | Uint8Array | null

/** The rows of a table in both directions, inside one transaction. */
export interface Side {
  /** In the order of the key. */
  read(table: TableShape): AsyncIterable<readonly (readonly Value[])[]>
  insert(table: TableShape, rows: readonly (readonly Value[])[]): Promise<void>
}

export function isAmount(column: string): boolean {
  return /_(nano|units)$/.test(column)
}

/**
 * The query of a table. Entries of the ledger get new ids, from 1 on without gaps, and adjustments refer to those.
 * @param select the expression for a column.
 */
export function queryOf({ name, columns, key }: TableShape, select: (column: string) => string): string {
  const order = key.map((_, index) => columns.indexOf(key[index] as string) + 1).join(', ')
  const list = (own: string, number: string) =>
    columns.map(column => (column === own ? number : `${select(column)} as ${column}`)).join(', ')
  if (name === 'ledger')
    return `select ${list('id', 'row_number() over (order by id) as id')} from ledger order by ${order}`
  if (name === 'adjustments') {
    return `with numbered as (select id, row_number() over (order by id) as number from ledger)
      select ${list('entry_id', 'number as entry_id')} from adjustments join numbered on id = entry_id order by ${order}`
  }
  return `select ${list('', '')} from ${name} order by ${order}`
}
