import type Database from 'better-sqlite3'
import { iso } from '../../../base/iso.ts'
import type { Finding } from '../types.ts'
import { DAY_QUARTERS, NO_SUMS, QUARTER_MS, type UsageSums } from '../usage-sums.ts'
import { isSame, SELECT_SUMS, type SummedRow, toSums } from './place-sums.ts'
import { PLACE_TEXT, placeOf, toText } from './usage-cell.ts'

type Row = SummedRow & { readonly day: number; readonly place: string }

const KEYS = ['select key_name from key_totals', 'select distinct key_name from usage_days']
const selectDays = (table: string) => `
  select day, ${PLACE_TEXT} as place, ${SELECT_SUMS} from ${table} where key_name = ?
  group by day, tenant, publication, endpoint`
const OF_QUARTERS = `(select *, quarter / ${DAY_QUARTERS} as day from usage_quarters)`

/** Compares the sums of days with those of their quarters of an hour, a key for each step. */
export function* compareDays(raw: Database.Database): Generator<readonly Finding[], void> {
  const days = raw.prepare<[string], Row>(selectDays('usage_days'))
  const quarters = raw.prepare<[string], Row>(selectDays(OF_QUARTERS))
  const keys = new Set(KEYS.flatMap(query => raw.prepare<[], string>(query).pluck().all()))
  for (const key of keys) {
    const stored = byDay(days.all(key))
    const added = byDay(quarters.all(key))
    yield [...new Set([...stored.keys(), ...added.keys()])].flatMap(id => {
      const [has = NO_SUMS, sums = NO_SUMS] = [stored.get(id), added.get(id)]
      return isSame(has, sums) ? [] : [finding(id, has, sums)]
    })
  }
}

/** By day and place. */
function byDay(rows: readonly Row[]): ReadonlyMap<string, UsageSums> {
  return new Map(rows.map(({ day, place, ...row }) => [`${day}\n${place}`, toSums(row)]))
}

function finding(id: string, has: UsageSums, sums: UsageSums): Finding {
  const [day = '', ...place] = id.split('\n')
  const { key, publication, endpoint } = placeOf(place.join('\n'))
  const date = iso(Number(day) * DAY_QUARTERS * QUARTER_MS).slice(0, 10)
  return {
    table: 'usage_days',
    row: `${key}, ${publication}, ${endpoint}, day ${date}`,
    problem: `has ${toText(has)}, but its quarters come to ${toText(sums)}`,
  }
}
