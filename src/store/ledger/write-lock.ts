import { isBusy } from '../faults.ts'

/**
 * Other writers of the store hold the lock for about a millisecond; SQLite's own waits (1, 2, 5, 10 ms …) would double
 * that.
 */
const SHORT_MS = 0.2
const SHORT_TIMES = 25
const LONG_MS = 5
/** With the short waits a second: a lock that lasts longer is reported as an error. */
const LONG_TIMES = 199

/**
 * Retries work that needs a lock which another connection may hold, on a connection without a `busy_timeout`. It blocks
 * its thread: only for a thread without other work.
 * @throws {Database.SqliteError} if the lock is not released within a second.
 */
export function onceUnlocked<T>(attempt: () => T): T {
  for (let times = 0; ; times++) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || times === SHORT_TIMES + LONG_TIMES) throw error
    }
    sleep(times < SHORT_TIMES ? SHORT_MS : LONG_MS)
  }
}

/** Blocks the thread; nothing wakes it before the time is over. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, ms)
}
