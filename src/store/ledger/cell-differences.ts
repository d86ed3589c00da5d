import type Database from 'better-sqlite3'
import { parts, toNano } from './columns.ts'
import { type Cell, isZero, type Place } from './quarter-cells.ts'

/**
 * How many cells stay in memory; more go to a temporary table of the connection, which a read-only connection can have,
 * too.
 */
const MAX_IN_MEMORY = 20_000

/**
 * The differences between the sums of the entries and the stored cells. A consistent ledger with entries in time order
 * has none; in the worst case there are as many as there are cells.
 */
export class CellDifferences {
  readonly #raw: Database.Database
  #waiting: Cell[] = []
  #isTable = false

  constructor(raw: Database.Database) {
    this.#raw = raw
  }

  /** A cell may be added in several parts. */
  add(cells: Iterable<Cell>): void {
    for (const cell of cells) this.#waiting.push(cell)
    if (this.#waiting.length > MAX_IN_MEMORY) this.#write()
  }

  /** The differences other than zero, at most `limit`, oldest first. Call it once, after the last `add`. */
  take(limit: number): Cell[] {
    if (this.#waiting.length === 0 && !this.#isTable) return []
    this.#write()
    const rows = this.#raw.prepare<[number], TableRow>(SELECT).all(limit)
    this.#raw.exec('drop table temp.differences')
    return rows.map(toCell).filter(cell => !isZero(cell))
  }

  #write(): void {
    if (!this.#isTable) this.#raw.exec(`drop table if exists temp.differences; ${CREATE}`)
    this.#isTable = true
    const add = this.#raw.prepare(ADD)
    for (const cell of this.#waiting) {
      add.run(
        cell.quarter,
        cell.key,
        cell.tenant,
        cell.publication,
        cell.endpoint,
        cell.requests,
        cell.inputTokens,
        cell.cachedInputTokens,
        cell.cacheWriteTokens,
        cell.outputTokens,
        cell.searchUnits,
        ...parts(cell.amountNano),
        cell.estimated,
        cell.unpriced,
      )
    }
    this.#waiting = []
  }
}

const CREATE = `
  create temp table differences (
    quarter integer, key_name text, tenant text, publication text, endpoint text, requests integer,
    input_tokens integer, cached_input_tokens integer, cache_write_tokens integer, output_tokens integer,
    search_units integer, amount_units integer, amount_nano integer, estimated integer, unpriced integer,
    primary key (quarter, key_name, tenant, publication, endpoint)
  ) without rowid`

const ADD = `
  insert into temp.differences values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict do update set
    requests = requests + excluded.requests,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    search_units = search_units + excluded.search_units,
    amount_units = amount_units + excluded.amount_units,
    amount_nano = amount_nano + excluded.amount_nano,
    estimated = estimated + excluded.estimated,
    unpriced = unpriced + excluded.unpriced`

const SELECT = `
  select quarter, key_name, tenant, publication, endpoint, requests, input_tokens, cached_input_tokens,
    cache_write_tokens, output_tokens, search_units, cast(amount_units as text) as units,
    cast(amount_nano as text) as nano, estimated, unpriced
  from temp.differences
  where requests or input_tokens or cached_input_tokens or cache_write_tokens or output_tokens or search_units
    or amount_units + amount_nano / 1000000000 or amount_nano % 1000000000 or estimated or unpriced
  order by quarter, key_name, tenant, publication, endpoint limit ?`

interface TableRow extends Omit<Place, 'key'> {
  readonly key_name: string
  readonly requests: number
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly cache_write_tokens: number
  readonly output_tokens: number
  readonly search_units: number
  readonly units: string
  readonly nano: string
  readonly estimated: number
  readonly unpriced: number
}

function toCell(row: TableRow): Cell {
  return {
    quarter: row.quarter,
    key: row.key_name,
    tenant: row.tenant,
    publication: row.publication,
    endpoint: row.endpoint,
    requests: row.requests,
    inputTokens: row.input_tokens,
    cachedInputTokens: row.cached_input_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    outputTokens: row.output_tokens,
    searchUnits: row.search_units,
    amountNano: toNano(row),
    estimated: row.estimated,
    unpriced: row.unpriced,
  }
}
