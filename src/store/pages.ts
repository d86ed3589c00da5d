import { setImmediate as others } from 'node:timers/promises'

/** So many are read and parsed in a millisecond or two. */
export const PAGE_ROWS = 250

/** Rows a page at a time, each read behind the last row of the one before; between two the event loop is free for others. */
export async function* inPages<Row, Place>(
  start: Place,
  read: (after: Place) => Row[],
  placeOf: (row: Row) => Place,
): AsyncGenerator<Row[], void> {
  for (let after = start; ; ) {
    const rows = read(after)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE_ROWS) return
    after = placeOf(last)
    await others()
  }
}
