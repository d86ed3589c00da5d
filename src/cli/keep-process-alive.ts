/** The longest delay that a timer of Node takes. */
const LONG_MS = 2_147_483_647

/**
 * Keeps the process alive while `work` is under way, and no longer. Timers of a `Clock` let it end, and a command
 * that only waits for the next look at a file has nothing else that holds it.
 */
export async function keepProcessAlive<T>(work: Promise<T>): Promise<T> {
  const awake = setInterval(() => undefined, LONG_MS)
  try {
    return await work
  } finally {
    clearInterval(awake)
  }
}
