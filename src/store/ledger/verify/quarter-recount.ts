import type Database from 'better-sqlite3'
import { iso } from '../../../base/iso.ts'
import { NANO_PER_UNIT, type Whole } from '../columns.ts'
import type { Finding } from '../types.ts'
import { minusUsage, NO_SUMS, plusUsage, QUARTER_MS, type UsagePlace, type UsageSums } from '../usage-sums.ts'
import type { Entry } from './entries.ts'
import {
  addEntry,
  type Counts,
  NO_CALLS,
  PLACE_TEXT,
  placeOf,
  sumsOf,
  toText,
  type UsageCell,
} from './usage-cell.ts'
import { UsageDifferences } from './usage-differences.ts'

/**
 * The maximum number of quarters that are compared together as a span, so that the rows of a key, which lie together,
 * are read in one go.
 */
const LONGEST_SPAN = 96
/** The approximate number of rows in a span, which bounds the memory: some 200 bytes each. */
const SPAN_ROWS = 64_000
/** Charges are usually written within minutes after the end of their quarter; later ones are added all the same. */
const LATE_QUARTERS = 2

const LAST = `select max(quarter) from usage_quarters`
const COUNT = `select count(*) from usage_quarters where quarter > ?`
const NEXT = `select min(quarter) from usage_quarters where quarter >= ?`
const KEYS = `select distinct key_name from usage_quarters where quarter >= ? and quarter < ?`
const STORED = `
  select ${PLACE_TEXT} as place, quarter, requests,
    input_tokens as inputTokens, cached_input_tokens as cachedInputTokens, cache_write_tokens as cacheWriteTokens,
    output_tokens as outputTokens, search_units as searchUnits, duration_ms as durationMs, characters, images,
    amount_units as units, amount_nano as nano, estimated, unpriced
  from usage_quarters where key_name = ? and quarter >= ? and quarter < ? order by quarter`

/** A row of `usage_quarters`. */
interface StoredRow extends Counts {
  /** See {@link placeOf}. */
  readonly place: string
  readonly quarter: number
  readonly units: number
  readonly nano: number
}

/** The settlements of one row of `usage_quarters`, added up. */
interface Cell extends UsageCell {
  quarter: number
}

/** The cells of a place (a key, publication, endpoint and tenant) in a span of quarters. */
export interface SpanPlace {
  /** The number of the span; NaN once the span was compared. */
  span: number
  readonly cells: Cell[]
  /** The last of the quarters that have a cell. */
  newest: number
  /** How many cells, from the first one on, were compared. */
  from: number
}

/** By place as text, see {@link placeOf}. */
type SpanPlaces = Map<string, SpanPlace>

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
  readonly #stored: Database.Statement<[string, number, number], StoredRow>
  readonly #next: Database.Statement<[number], number | null>
  readonly from: number
  readonly #spanQuarters: number
  /** The spans that were not yet compared, by their numbers. */
  readonly #open = new Map<number, SpanPlaces>()
  readonly #compared = new Set<number>()
  readonly #differences: UsageDifferences
  /** Compared cells, to be used again: as garbage they would outlive several collections first. */
  readonly #free: Cell[] = []
  #newest = Number.NEGATIVE_INFINITY
  #late: SpanPlaces = new Map()

  /** @param from the first quarter to compare: no earlier one is added. */
  constructor(raw: Database.Database, from: number) {
    this.from = from
    this.#keys = raw.prepare<[number, number], string>(KEYS).pluck()
    this.#stored = raw.prepare<[string, number, number], StoredRow>(STORED)
    this.#next = raw.prepare<[number], number | null>(NEXT).pluck()
    this.#differences = new UsageDifferences(raw)
    const last = raw.prepare<[], number | null>(LAST).pluck().get() ?? 0
    const count = raw.prepare<[number], number>(COUNT).pluck()
    const dayRows = count.get(last - LONGEST_SPAN) ?? 0
    const fitting = Math.floor((LONGEST_SPAN * SPAN_ROWS) / Math.max(dayRows, 1))
    this.#spanQuarters = Math.max(1, Math.min(LONGEST_SPAN, fitting))
  }

  /**
   * Adds a settlement.
   * @param text its place, see {@link placeOf}.
   * @param known what the last call for this place returned: saves a look-up if the span is the same.
   */
  add(text: string, entry: Entry, amountNano: Whole, known: SpanPlace | undefined): SpanPlace {
    const [, , quarter] = entry
    const span = Math.floor(quarter / this.#spanQuarters)
    const place = known?.span === span ? known : this.#placeOf(text, span)
    if (quarter > this.#newest) this.#newest = quarter
    addEntry(this.#cellOf(place, quarter), entry, amountNano)
    return place
  }

  /** Compares the spans that are complete. Call it after each page. */
  compareComplete(): void {
    const past = Math.floor((this.#newest - LATE_QUARTERS) / this.#spanQuarters)
    if (this.#open.size > 1) for (const span of this.#open.keys()) if (span < past) this.#compare(span)
    if (this.#late.size === 0) return
    this.#addLeft(this.#late)
    this.#late = new Map()
  }

  /** Compares the remaining spans, one per step; nothing can be added afterwards. */
  *compareRemaining(): Generator<undefined, void> {
    for (const span of this.#open.keys()) {
      this.#compare(span)
      yield
    }
    // Stored rows of spans without any entry.
    for (let quarter = this.#next.get(this.from) ?? null; quarter !== null; ) {
      const span = Math.floor(quarter / this.#spanQuarters)
      if (!this.#compared.has(span)) this.#compare(span)
      quarter = this.#next.get((span + 1) * this.#spanQuarters) ?? null
      yield
    }
  }

  /** The differences, at most `limit`, oldest first. */
  findings(limit: number): Finding[] {
    return this.#differences.take(limit).map(difference => this.#finding(difference))
  }

  #placeOf(text: string, span: number): SpanPlace {
    const isLate = this.#compared.has(span)
    const places = isLate ? this.#late : (this.#open.get(span) ?? new Map<string, SpanPlace>())
    if (!isLate) this.#open.set(span, places)
    const place = places.get(text) ?? newPlace(isLate ? Number.NaN : span)
    places.set(text, place)
    return place
  }

  #cellOf(place: SpanPlace, quarter: number): Cell {
    const { cells } = place
    // Most entries are of the newest quarter, which is at the end, or begin the next one.
    for (let at = cells.length - 1; at >= 0 && quarter <= place.newest; at--) {
      const cell = cells[at] as Cell
      if (cell.quarter === quarter) return cell
    }
    const cell: Cell = this.#free.pop() ?? { ...NO_CALLS, quarter }
    cell.quarter = quarter
    cells.push(cell)
    if (quarter > place.newest) place.newest = quarter
    return cell
  }

  #compare(span: number): void {
    const places = this.#open.get(span) ?? new Map<string, SpanPlace>()
    this.#open.delete(span)
    this.#compared.add(span)
    const from = Math.max(span * this.#spanQuarters, this.from)
    const to = (span + 1) * this.#spanQuarters
    for (const key of this.#keys.all(from, to)) {
      for (const row of this.#stored.all(key, from, to)) {
        const place = places.get(row.place)
        const cell = place && take(place, row.quarter)
        if (!cell || !isSame(cell, row)) {
          const added = cell ? sumsOf(cell) : NO_SUMS
          this.#differences.add({ ...plusUsage(added, minusUsage(storedSums(row))), ...toPlace(row) })
        }
        if (cell) this.#recycle(cell)
      }
    }
    this.#addLeft(places)
  }

  /** The cells without a stored row. */
  #addLeft(places: SpanPlaces): void {
    for (const [text, place] of places) {
      place.span = Number.NaN
      for (let at = place.from; at < place.cells.length; at++) {
        const cell = place.cells[at] as Cell
        this.#differences.add({ ...sumsOf(cell), ...toPlace({ place: text, quarter: cell.quarter }) })
        this.#recycle(cell)
      }
    }
  }

  #recycle(cell: Cell): void {
    this.#free.push(Object.assign(cell, NO_CALLS))
  }

  #finding(difference: UsagePlace & UsageSums): Finding {
    const { quarter, key, tenant, publication, endpoint } = difference
    const text = [endpoint, key, publication, ...(tenant === '' ? [] : [tenant])].join('\n')
    const row = this.#stored.all(key, quarter, quarter + 1).find(({ place }) => place === text)
    const stored = row ? storedSums(row) : NO_SUMS
    const added = plusUsage(stored, difference)
    const at = iso(quarter * QUARTER_MS).slice(0, 16)
    return {
      table: 'usage_quarters',
      row: `${key}, ${publication}, ${endpoint}, quarter ${at}Z`,
      problem: `has ${row ? toText(stored) : 'nothing'}, but the entries come to ${
        added.requests === 0 ? 'nothing' : toText(added)
      }`,
    }
  }
}

function newPlace(span: number): SpanPlace {
  return { span, cells: [], newest: Number.NEGATIVE_INFINITY, from: 0 }
}

/** Removes and returns the cell of a quarter. Takes constant time if called in the order of quarters. */
function take(place: SpanPlace, quarter: number): Cell | undefined {
  const { cells, from } = place
  for (let at = from; at < cells.length; at++) {
    const cell = cells[at] as Cell
    if (cell.quarter !== quarter) continue
    cells[at] = cells[from] as Cell
    place.from += 1
    return cell
  }
  return undefined
}

function isSame(cell: Cell, row: StoredRow): boolean {
  return (
    cell.requests === row.requests &&
    cell.inputTokens === row.inputTokens &&
    cell.cachedInputTokens === row.cachedInputTokens &&
    cell.cacheWriteTokens === row.cacheWriteTokens &&
    cell.outputTokens === row.outputTokens &&
    cell.searchUnits === row.searchUnits &&
    cell.durationMs === row.durationMs &&
    cell.characters === row.characters &&
    cell.images === row.images &&
    cell.estimated === row.estimated &&
    cell.unpriced === row.unpriced &&
    isSameAmount(cell.amountNano, row)
  )
}

function isSameAmount(amountNano: Whole, { units, nano }: StoredRow): boolean {
  const unitsNano = units * NANO_PER_UNIT
  if (Number.isSafeInteger(unitsNano) && amountNano === unitsNano + nano) return true
  return BigInt(amountNano) === storedNano({ units, nano })
}

function storedSums(row: StoredRow): UsageSums {
  return { ...row, amountNano: storedNano(row) }
}

function storedNano({ units, nano }: Pick<StoredRow, 'units' | 'nano'>): bigint {
  return BigInt(units) * BigInt(NANO_PER_UNIT) + BigInt(nano)
}

function toPlace({ place, quarter }: Pick<StoredRow, 'place' | 'quarter'>): UsagePlace {
  return { ...placeOf(place), quarter }
}
