import type Database from 'better-sqlite3'
import type { StateRetention } from './types.ts'

/** Enough to give back what a batch of deletions frees, too few to hold the thread for long. */
const VACUUM_PAGES = 50

const FIRST_YOUNGER = `select id from revisions where id > ? and created_at_ms > ? order by id limit 1`
const ANY_OLDER = `select 1 from revision_changes where revision <= ? limit 1`
const DELETE_OLDER = `
  delete from revision_changes where (revision, kind, name) in (
    select revision, kind, name from revision_changes where revision <= ? order by revision limit ?)`

/**
 * From which revision on states are to be kept: the one that stood when the retention began, and as many as must always
 * be there to go back to. Looks at no more revisions than it moves on by.
 */
export function statesToKeepFrom(
  raw: Database.Database,
  { keptSinceMs, leastBack }: StateRetention,
): { readonly from: number; readonly isWorkLeft: boolean } {
  const head = raw
    .prepare<[], { revision: number; from: number }>('select revision, states_from as "from" from head')
    .get() as { revision: number; from: number }
  const younger = raw.prepare<[number, number], number>(FIRST_YOUNGER).pluck().get(head.from, keptSinceMs)
  const standing = (younger ?? head.revision + 1) - 1
  const from = Math.max(head.from, Math.min(standing, head.revision - leastBack))
  const isWorkLeft = from > head.from || raw.prepare(ANY_OLDER).get(from) !== undefined
  return { from, isWorkLeft }
}

/**
 * Deletes changes that are needed for older states alone, at most so many. In a transaction. How many there were.
 * @param from of {@link statesToKeepFrom}.
 */
export function dropStates(raw: Database.Database, from: number, maxRows: number): number {
  raw.prepare('update head set states_from = ? where states_from < ?').run(from, from)
  const { changes } = raw.prepare(DELETE_OLDER).run(from, maxRows)
  raw.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
  return changes
}
