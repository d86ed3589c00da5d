import type Database from 'better-sqlite3'
import type { ArchivedEntry } from '../../../schema/archive.ts'
import { type NanoParts, plus, toNano, type Whole } from '../columns.ts'
import type { Finding } from '../types.ts'
import { NO_SUMS, SUM_COLUMNS, type UsageSums } from '../usage-sums.ts'
import { amountOf, type Entry } from './entries.ts'
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

/** A row with the columns of {@link SELECT_SUMS}. */
export type SummedRow = Counts & NanoParts

/** Settlements of any time, added up by place: one cell for each key, publication, endpoint and tenant. */
export class PlaceSums {
  readonly #cells = new Map<string, UsageCell>()

  add(place: string, entry: Entry, amountNano: Whole): void {
    addEntry(this.#cellOf(place), entry, amountNano)
  }

  /** @param entries the same, for the recount. */
  addArchived(archived: readonly ArchivedEntry[], entries: readonly Entry[]): void {
    for (const [at, { kind, endpoint, key, model, tenant }] of archived.entries()) {
      const entry = entries[at]
      if (kind !== 'settle' || !entry) continue
      const place = [endpoint, key, model, ...(tenant === undefined ? [] : [tenant])].join('\n')
      this.add(place, entry, amountOf(entry))
    }
  }

  plus(place: string, sums: UsageSums): void {
    const cell = this.#cellOf(place)
    for (const field of FIELDS) cell[field] += sums[field]
    cell.amountNano = plus(cell.amountNano, sums.amountNano)
  }

  *[Symbol.iterator](): Generator<[place: string, sums: UsageSums], void> {
    for (const [place, cell] of this.#cells) yield [place, sumsOf(cell)]
  }

  /**
   * The places whose sums differ from those of the rows, which are in any order, one for each place.
   * @param span the time of the sums, for the findings: `before 2026-09`.
   */
  compare(table: Finding['table'], span: string, rows: Iterable<[string, UsageSums]>): Finding[] {
    const missing = new Map(this)
    const findings: Finding[] = []
    const find = (place: string, stored: UsageSums, added: UsageSums) => {
      if (isSame(stored, added)) return
      const { key, publication, endpoint } = placeOf(place)
      const [has, sums] = [stored, added].map(sum => (sum.requests === 0 ? 'nothing' : toText(sum)))
      const problem = `has ${has}, but the entries come to ${sums}`
      findings.push({ table, row: `${key}, ${publication}, ${endpoint}, ${span}`, problem })
    }
    for (const [place, stored] of rows) {
      find(place, stored, missing.get(place) ?? NO_SUMS)
      missing.delete(place)
    }
    for (const [place, added] of missing) find(place, NO_SUMS, added)
    return findings
  }

  #cellOf(place: string): UsageCell {
    const cell = this.#cells.get(place) ?? { ...NO_CALLS }
    this.#cells.set(place, cell)
    return cell
  }
}

/** The sums of all rows of a table of usage that meet a condition, by place. */
export function* selectPlaces(
  raw: Database.Database,
  table: 'usage_quarters' | 'archived_usage',
  where: string,
  parameter: number,
): Generator<[place: string, sums: UsageSums], void> {
  const rows = raw.prepare<[number], SummedRow & { place: string }>(`
    select ${PLACE_TEXT} as place, ${SELECT_SUMS}
    from ${table} where ${where} group by key_name, tenant, publication, endpoint`)
  for (const { place, ...row } of rows.iterate(parameter)) yield [place, toSums(row)]
}

export function toSums({ units, nano, ...counts }: SummedRow): UsageSums {
  return { ...counts, amountNano: toNano({ units, nano }) }
}

export function isSame(a: UsageSums, b: UsageSums): boolean {
  return a.amountNano === b.amountNano && FIELDS.every(field => a[field] === b[field])
}

const FIELDS = (Object.keys(NO_CALLS) as (keyof UsageCell)[]).filter(field => field !== 'amountNano')

/** Columns that add up the rows of a table of usage. */
export const SELECT_SUMS = [
  ...SUM_COLUMNS.filter(column => !column.startsWith('amount_')).map(
    column => `sum(${column}) as ${column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())}`,
  ),
  'cast(sum(amount_units) as text) as units',
  'cast(sum(amount_nano) as text) as nano',
].join(', ')
