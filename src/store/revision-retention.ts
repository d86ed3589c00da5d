import type Database from 'better-sqlite3'
import type { StateRetention } from './types.ts'

/** Enough to free the pages of a batch of deletions, too few to block the thread for long. */
const VACUUM_PAGES = 50

const FIRST_YOUNGER = `select id from revisions where id > ? and created_at_ms > ? order by id limit 1`
const ANY_OLDER = `select 1 from revision_changes where revision <= ? limit 1`
const DELETE_OLDER = `
  delete from revision_changes where (revision, kind, name) in (
    select revision, kind, name from revision_changes where revision <= ? order by revision limit ?)`

/**
 * The oldest revision with a kept state: the one that was current when the retention period began, but at least
 * `leastBack` revisions back. Reads no more revisions than it advances.
 */
export function statesToKeepFrom(
  raw: Database.Database,
  { keptSinceMs, leastBack }: StateRetention,
): { readonly from: number; readonly isWorkLeft: boolean } {
  const head = raw
    .prepare<[], { revision: number; from: number }>('select revision, states_from as "from" from head')
    .get() as { revision: number; from: number }
  const younger = raw.prepare<[number, number], number>(FIRST_YOUNGER).pluck().get(head.from, keptSinceMs)
  const current = (younger ?? head.revision + 1) - 1
  const from = Math.max(head.from, Math.min(current, head.revision - leastBack))
  const isWorkLeft = from > head.from || raw.prepare(ANY_OLDER).get(from) !== undefined
  return { from, isWorkLeft }
}

/**
 * Deletes changes that only older states need, at most `maxRows`. Runs in a transaction. Returns how many it deleted.
 * @param from of {@link statesToKeepFrom}.
 */
export function dropStates(raw: Database.Database, from: number, maxRows: number): number {
  raw.prepare('update head set states_from = ? where states_from < ?').run(from, from)
  const { changes } = raw.prepare(DELETE_OLDER).run(from, maxRows)
  raw.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
  return changes
}
