import type Database from 'better-sqlite3'
import { CellDifferences } from './cell-differences.ts'
import type { OtherEntry } from './entries.ts'
import { type Cell, Cells, cellText, difference, KEPT_COLUMNS, type KeptRow, sumOf } from './quarter-cells.ts'
import { QUARTER_MS } from './sums.ts'
import type { Finding } from './types.ts'

/**
 * The maximum number of quarters that are compared together as a span, so that the rows of a key are read in one go.
 */
const LONGEST_SPAN = 96
/** The approximate number of rows in a span: few enough for the processor's caches. */
const SPAN_ROWS = 8_000
/** Charges are usually written within minutes after the end of their quarter; later ones are added all the same. */
const LATE_QUARTERS = 2

const LAST = `select max(quarter) from usage_quarters`
const COUNT = `select count(*) from usage_quarters where quarter > ?`
const NEXT = `select min(quarter) from usage_quarters where quarter >= ?`
const KEYS = `select distinct key_name from usage_quarters where quarter >= ? and quarter < ?`
const KEPT = `
  select ${KEPT_COLUMNS} from usage_quarters
  where key_name = ? and quarter >= ? and quarter < ? order by quarter, tenant, publication, endpoint`

/**
 * Adds settlements up by quarters of an hour and compares the sums with the rows of `usage_quarters`, a span of
 * quarters at a time, after the last entry of the span. Entries are nearly in time order, so that little is in memory;
 * a late entry becomes a difference that cancels the one found before.
 *
 *     add ──▶ cells of a span ──▶ compare with its rows ──▶ differences ──▶ findings
 *                                        late settlements ────▶┘
 */
export class QuarterRecount {
  readonly #keys: Database.Statement<[number, number], string>
  readonly #kept: Database.Statement<[string, number, number], KeptRow>
  readonly #next: Database.Statement<[number], number | null>
  readonly #spanQuarters: number
  /** The sums of the settlements of spans that were not yet compared, by the number of the span. */
  readonly #open = new Map<number, Cells>()
  readonly #compared = new Set<number>()
  readonly #differences: CellDifferences
  #newest = Number.NEGATIVE_INFINITY
  #late = new Cells()

  constructor(raw: Database.Database) {
    this.#keys = raw.prepare<[number, number], string>(KEYS).pluck()
    this.#kept = raw.prepare<[string, number, number], KeptRow>(KEPT).raw()
    this.#next = raw.prepare<[number], number | null>(NEXT).pluck()
    this.#differences = new CellDifferences(raw)
    const last = raw.prepare<[], number | null>(LAST).pluck().get() ?? 0
    const dayRows =
      raw
        .prepare<[number], number>(COUNT)
        .pluck()
        .get(last - LONGEST_SPAN) ?? 0
    const fitting = Math.floor((LONGEST_SPAN * SPAN_ROWS) / Math.max(dayRows, 1))
    this.#spanQuarters = Math.max(1, Math.min(LONGEST_SPAN, fitting))
  }

  add(entry: OtherEntry, amountNano: bigint): void {
    const quarter = entry[9]
    const span = Math.floor(quarter / this.#spanQuarters)
    let cells = this.#open.get(span)
    if (!cells) {
      if (this.#compared.has(span)) return this.#late.add(entry, amountNano)
      cells = new Cells()
      this.#open.set(span, cells)
    }
    if (quarter > this.#newest) this.#newest = quarter
    cells.add(entry, amountNano)
  }

  /** Compares the spans that are complete. Call it after each page. */
  compareComplete(): void {
    const past = Math.floor((this.#newest - LATE_QUARTERS) / this.#spanQuarters)
    if (this.#open.size > 1) for (const span of this.#open.keys()) if (span < past) this.#compare(span)
    if (this.#late.size === 0) return
    this.#differences.add(this.#late.left())
    this.#late = new Cells()
  }

  /** Compares the remaining spans, one per step; nothing can be added afterwards. */
  *compareRemaining(): Generator<undefined, void> {
    for (const span of this.#open.keys()) {
      this.#compare(span)
      yield
    }
    // Stored rows of spans without any entry.
    for (let quarter = this.#next.get(Number.MIN_SAFE_INTEGER) ?? null; quarter !== null; ) {
      const span = Math.floor(quarter / this.#spanQuarters)
      if (!this.#compared.has(span)) this.#compare(span)
      quarter = this.#next.get((span + 1) * this.#spanQuarters) ?? null
      yield
    }
  }

  /** The differences, at most `limit`, oldest first. */
  findings(limit: number): Finding[] {
    return this.#differences.take(limit).map(cell => this.#finding(cell))
  }

  #compare(span: number): void {
    const cells = this.#open.get(span) ?? new Cells()
    this.#open.delete(span)
    this.#compared.add(span)
    const [from, to] = [span * this.#spanQuarters, (span + 1) * this.#spanQuarters]
    const left: Cell[] = []
    for (const key of this.#keys.all(from, to)) {
      for (const row of this.#kept.all(key, from, to)) {
        const differing = difference(cells.take(key, row), key, row)
        if (differing) left.push(differing)
      }
    }
    this.#differences.add(left)
    this.#differences.add(cells.left())
  }

  #finding(left: Cell): Finding {
    const { quarter, key, tenant, publication, endpoint } = left
    const kept = this.#kept
      .all(key, quarter, quarter + 1)
      .find(row => row[0] === tenant && row[1] === publication && row[2] === endpoint)
    const added = sumOf(kept, left)
    const at = new Date(quarter * QUARTER_MS).toISOString().slice(0, 16)
    return {
      table: 'usage_quarters',
      row: `${key}, ${publication}, ${endpoint}, quarter ${at}Z`,
      problem: `has ${kept ? cellText(sumOf(kept, NOTHING)) : 'nothing'}, but the entries come to ${
        added.requests === 0 ? 'nothing' : cellText(added)
      }`,
    }
  }
}

const NOTHING: Cell = {
  quarter: 0,
  key: '',
  tenant: '',
  publication: '',
  endpoint: '',
  requests: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  searchUnits: 0,
  amountNano: 0n,
  estimated: 0,
  unpriced: 0,
}
