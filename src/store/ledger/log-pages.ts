import type Database from 'better-sqlite3'

/** The columns of `call_logs` whose values are recorded for each page, with their codes. */
export const PAGE_FILTERS = {
  tenant_id: 1,
  publication_id: 2,
  endpoint_id: 3,
  outcome_id: 4,
  status: 5,
  node_id: 6,
} as const
export type PageFilter = keyof typeof PAGE_FILTERS

/** A row of the call log, as far as its page has it. */
export type LoggedRow = Readonly<Record<PageFilter, number | null>> & { readonly atMs: number }

/** How many ids are a page. */
export const PAGE_IDS = 4_096

const ADD_VALUE = 'insert into call_log_values (filter, value, page) values (?, ?, ?) on conflict do nothing'
const ADD_TIMES = `
  insert into call_log_pages (page, first_at_ms, last_at_ms) values (?, ?, ?)
  on conflict do update set
    first_at_ms = min(first_at_ms, excluded.first_at_ms), last_at_ms = max(last_at_ms, excluded.last_at_ms)`

/**
 * Records for each page of the call log which times and values its rows have: a query reads only the pages that may match, also
 * if it matches few of millions of rows. Costs a write for each value of a page, where indexes would cost one for each row.
 */
export class LogPages {
  readonly #addValue: Database.Statement
  readonly #addTimes: Database.Statement
  #page = -1
  #firstMs = Number.POSITIVE_INFINITY
  #lastMs = Number.NEGATIVE_INFINITY
  /** The values that are recorded for this page. */
  readonly #known = new Set<number>()
  /** The last row whose values were recorded. */
  #last: LoggedRow | undefined

  constructor(raw: Database.Database) {
    this.#addValue = raw.prepare(ADD_VALUE)
    this.#addTimes = raw.prepare(ADD_TIMES)
  }

  /** Rows with ids from `firstId` on. */
  add(firstId: number, rows: readonly LoggedRow[]): void {
    for (let index = 0; index < rows.length; index++) this.#add(firstId + index, rows[index] as LoggedRow)
  }

  #add(id: number, row: LoggedRow): void {
    const page = Math.floor(id / PAGE_IDS)
    if (page !== this.#page) {
      this.endBatch()
      this.#page = page
      this.#known.clear()
      this.#last = undefined
    }
    if (row.atMs < this.#firstMs) this.#firstMs = row.atMs
    if (row.atMs > this.#lastMs) this.#lastMs = row.atMs
    // Most rows are like the one before.
    if (this.#last && hasSameValues(row, this.#last)) return
    this.#last = row
    this.#record(PAGE_FILTERS.tenant_id, row.tenant_id)
    this.#record(PAGE_FILTERS.publication_id, row.publication_id)
    this.#record(PAGE_FILTERS.endpoint_id, row.endpoint_id)
    this.#record(PAGE_FILTERS.outcome_id, row.outcome_id)
    this.#record(PAGE_FILTERS.status, row.status)
    this.#record(PAGE_FILTERS.node_id, row.node_id)
  }

  /** Call it before the commit. */
  endBatch(): void {
    if (this.#firstMs <= this.#lastMs) this.#addTimes.run(this.#page, this.#firstMs, this.#lastMs)
    this.#firstMs = Number.POSITIVE_INFINITY
    this.#lastMs = Number.NEGATIVE_INFINITY
  }

  /** The batch was not committed. */
  rollBack(): void {
    this.#page = -1
    this.#firstMs = Number.POSITIVE_INFINITY
    this.#lastMs = Number.NEGATIVE_INFINITY
  }

  #record(filter: number, value: number | null): void {
    if (value === null) return
    const known = value * 8 + filter
    if (this.#known.has(known)) return
    this.#addValue.run(filter, value, this.#page)
    this.#known.add(known)
  }
}

function hasSameValues(a: LoggedRow, b: LoggedRow): boolean {
  return (
    a.tenant_id === b.tenant_id &&
    a.publication_id === b.publication_id &&
    a.endpoint_id === b.endpoint_id &&
    a.outcome_id === b.outcome_id &&
    a.status === b.status &&
    a.node_id === b.node_id
  )
}
