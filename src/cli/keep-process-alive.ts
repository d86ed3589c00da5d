/** The longest delay of a Node timer. */
const LONG_MS = 2_147_483_647

/**
 * Keeps the process alive until `work` has ended. Timers of a `Clock` are unreferenced, so a command that only waits
 * for the next poll of a file would exit.
 */
export async function keepProcessAlive<T>(work: Promise<T>): Promise<T> {
  const awake = setInterval(() => undefined, LONG_MS)
  try {
    return await work
  } finally {
    clearInterval(awake)
  }
}
