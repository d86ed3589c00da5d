import type Database from 'better-sqlite3'
import { toNano } from '../columns.ts'
import {
  addUsageTo,
  plusUsage,
  SUM_COLUMNS,
  type UsagePlace,
  type UsageSums,
  usageValues,
} from '../usage-sums.ts'

type Difference = UsagePlace & UsageSums

/**
 * How many differences stay in memory; more go to a temporary table of the connection, which a read-only connection can
 * have, too.
 */
const MAX_IN_MEMORY = 20_000

/**
 * The differences between what was added up and the rows of a table of usage, by place. For `usage_quarters` a consistent
 * ledger with entries in time order has none; in the worst case there are as many as there are rows.
 */
export class UsageDifferences {
  readonly #raw: Database.Database
  readonly #waiting = new Map<string, Difference>()
  #isTable = false

  constructor(raw: Database.Database) {
    this.#raw = raw
  }

  /** The difference of a row may be added in several parts. */
  add(difference: Difference): void {
    const { key, quarter, tenant, publication, endpoint } = difference
    // No name contains a line break.
    const id = `${quarter}\n${key}\n${tenant}\n${publication}\n${endpoint}`
    const other = this.#waiting.get(id)
    this.#waiting.set(id, other ? plusUsage(other, difference) : difference)
    if (this.#waiting.size > MAX_IN_MEMORY) this.#write()
  }

  /** The differences other than zero, at most `limit`, oldest first. Call it once, after the last `add`. */
  take(limit: number): Difference[] {
    if (this.#waiting.size === 0 && !this.#isTable) return []
    this.#write()
    const rows = this.#raw.prepare<[number], TableRow>(SELECT).all(limit)
    this.#raw.exec('drop table temp.differences')
    return rows.map(({ units, nano, ...row }) => ({ ...row, amountNano: toNano({ units, nano }) }))
  }

  #write(): void {
    if (!this.#isTable) this.#raw.exec(`drop table if exists temp.differences; ${CREATE}`)
    this.#isTable = true
    const add = this.#raw.prepare(ADD)
    for (const difference of this.#waiting.values()) add.run(...usageValues(difference))
    this.#waiting.clear()
  }
}

const CREATE = `
  create temp table differences (key_name text, quarter integer, tenant text, publication text, endpoint text,
    ${SUM_COLUMNS.map(column => `${column} integer`).join(', ')},
    primary key (quarter, key_name, tenant, publication, endpoint)) without rowid`

const ADD = addUsageTo('temp.differences')

interface TableRow extends Omit<Difference, 'amountNano'> {
  readonly units: string
  readonly nano: string
}

const SELECT = `
  select quarter, key_name as key, tenant, publication, endpoint, requests, input_tokens as inputTokens,
    cached_input_tokens as cachedInputTokens, cache_write_tokens as cacheWriteTokens, output_tokens as outputTokens,
    search_units as searchUnits, duration_ms as durationMs, characters, images, cast(amount_units as text) as units, cast(amount_nano as text) as nano, estimated,
    unpriced
  from temp.differences
  where requests or input_tokens or cached_input_tokens or cache_write_tokens or output_tokens or search_units
    or duration_ms or characters or images or amount_units + amount_nano / 1000000000 or amount_nano % 1000000000 or estimated or unpriced
  order by quarter, key_name, tenant, publication, endpoint limit ?`
