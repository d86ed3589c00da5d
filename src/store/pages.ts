import { setImmediate as others } from 'node:timers/promises'

/** Reading and parsing one page takes a millisecond or two. */
export const PAGE_ROWS = 250

/** For an `offset` alone: SQLite wants a limit beside it, and PostgreSQL has no negative ones. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER

/**
 * Rows a page at a time, each page starting after the last row of the previous one; yields to the event loop between
 * two pages.
 */
export async function* inPages<Row, Place>(
  start: Place,
  read: (after: Place) => Row[] | Promise<Row[]>,
  placeOf: (row: Row) => Place,
): AsyncGenerator<Row[], void> {
  for (let after = start; ; ) {
    const rows = await read(after)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE_ROWS) return
    after = placeOf(last)
    await others()
  }
}
