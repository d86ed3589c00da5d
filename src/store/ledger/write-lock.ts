import { isBusy } from '../faults.ts'

/** Other writers of the store are through in a millisecond: SQLite's own waits (1, 2, 5, 10 ms …) are as long again. */
const SHORT_MS = 0.2
const SHORT_TIMES = 25
const LONG_MS = 5
/** With the short ones a second: a lock that lasts longer is trouble to tell of, not to wait for. */
const LONG_TIMES = 199

/**
 * Does what needs the lock that another connection may have just now, on a connection without a `busy_timeout`. It stops
 * its thread: for one that has nothing else to do.
 *
 * @throws {Database.SqliteError} where the lock is not given up within a second.
 */
export function onceUnlocked<T>(attempt: () => T): T {
  for (let times = 0; ; times++) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || times === SHORT_TIMES + LONG_TIMES) throw error
    }
    rest(times < SHORT_TIMES ? SHORT_MS : LONG_MS)
  }
}

/** Nobody wakes who waits here. */
function rest(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, ms)
}
