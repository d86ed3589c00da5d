import type Database from 'better-sqlite3'
import { iso } from '../../../base/iso.ts'
import type { Finding } from '../types.ts'
import { DAY_QUARTERS, minusUsage, NO_SUMS, plusUsage, QUARTER_MS, type UsageSums } from '../usage-sums.ts'
import { isSame, SELECT_SUMS, type SummedRow, toSums } from './place-sums.ts'
import { PLACE_TEXT, placeOf, toText } from './usage-cell.ts'
import { UsageDifferences } from './usage-differences.ts'

type Row = SummedRow & { readonly day: number; readonly place: string }

const KEYS = [
  'select key_name from key_totals',
  'select distinct key_name from usage_days',
  'select distinct key_name from usage_key_days',
]
const selectDays = (table: string) => `
  select day, ${PLACE_TEXT} as place, ${SELECT_SUMS} from ${table} where key_name = ?
  group by day, tenant, publication, endpoint`
const OF_QUARTERS = `(select *, quarter / ${DAY_QUARTERS} as day from usage_quarters)`
const KEY_DAYS = `
  select day, tenant as place, ${SELECT_SUMS} from usage_key_days where key_name = ? group by day, tenant`
const MODEL_DAYS = `
  select day, tenant, publication, endpoint, ${SELECT_SUMS} from usage_model_days
  group by day, tenant, publication, endpoint`

interface ModelRow extends SummedRow {
  readonly day: number
  readonly tenant: string
  readonly publication: string
  readonly endpoint: string
}

/** Rows of all models for each step at their end. */
const STEP_ROWS = 5_000

/**
 * Compares the sums of days with those of their quarters of an hour: a key for each step, and then those without a key.
 * @param limit of the findings about sums without a key.
 */
export function* compareDays(raw: Database.Database, limit: number): Generator<readonly Finding[], void> {
  const days = raw.prepare<[string], Row>(selectDays('usage_days'))
  const quarters = raw.prepare<[string], Row>(selectDays(OF_QUARTERS))
  const keyDays = raw.prepare<[string], Row>(KEY_DAYS)
  const ofModels = new UsageDifferences(raw)
  const keys = new Set(KEYS.flatMap(query => raw.prepare<[], string>(query).pluck().all()))
  for (const key of keys) {
    const added = byDay(quarters.all(key))
    const ofKey = new Map<string, UsageSums>()
    for (const [id, sums] of added) {
      const { day, tenant, publication, endpoint } = dayOf(id)
      ofModels.add({ key: '', quarter: day, tenant, publication, endpoint, ...sums })
      const place = `${day}\n${tenant}`
      ofKey.set(place, plusUsage(ofKey.get(place) ?? NO_SUMS, sums))
    }
    yield [
      ...differences('usage_days', byDay(days.all(key)), added, id => {
        const { day, publication, endpoint } = dayOf(id)
        return `${key}, ${publication}, ${endpoint}, day ${dateOf(day)}`
      }),
      ...differences('usage_key_days', byDay(keyDays.all(key)), ofKey, id => {
        const [day, tenant] = id.split('\n')
        return `${key}${tenant ? ` of ${tenant}` : ''}, day ${dateOf(Number(day))}`
      }),
    ]
  }
  let count = 0
  for (const { day, tenant, publication, endpoint, ...row } of raw.prepare<[], ModelRow>(MODEL_DAYS).all()) {
    ofModels.add({ key: '', quarter: day, tenant, publication, endpoint, ...minusUsage(toSums(row)) })
    if (++count % STEP_ROWS === 0) yield []
  }
  yield ofModels.take(limit).map(({ quarter, publication, endpoint, ...sums }) => ({
    table: 'usage_model_days',
    row: `${publication}, ${endpoint}, day ${dateOf(quarter)}`,
    problem: `its quarters come to more by ${toText(sums)}`,
  }))
}

/** By day and place. */
function byDay(rows: readonly Row[]): ReadonlyMap<string, UsageSums> {
  return new Map(rows.map(({ day, place, ...row }) => [`${day}\n${place}`, toSums(row)]))
}

function dayOf(id: string) {
  const end = id.indexOf('\n')
  return { day: Number(id.slice(0, end)), ...placeOf(id.slice(end + 1)) }
}

function dateOf(day: number): string {
  return iso(day * DAY_QUARTERS * QUARTER_MS).slice(0, 10)
}

function differences(
  table: Finding['table'],
  stored: ReadonlyMap<string, UsageSums>,
  added: ReadonlyMap<string, UsageSums>,
  rowOf: (id: string) => string,
): Finding[] {
  return [...new Set([...stored.keys(), ...added.keys()])].flatMap(id => {
    const [has = NO_SUMS, sums = NO_SUMS] = [stored.get(id), added.get(id)]
    if (isSame(has, sums)) return []
    return [
      { table, row: rowOf(id), problem: `has ${toText(has)}, but its quarters come to ${toText(sums)}` },
    ]
  })
}
