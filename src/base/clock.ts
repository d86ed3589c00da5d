/** What a pending timer gives back. */
export interface Timer {
  cancel(): void
}

/**
 * The only source of time. Everything that waits or stamps takes a `Clock`, so that a test owns time.
 */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. For stamps, never for measuring. */
  nowMs(): number
  /** Monotonic clock in milliseconds with fractions. For measuring, never for stamps. */
  monotonicMs(): number
  /** Runs `task` once after `ms`. The timer never keeps the process alive by itself. */
  after(ms: number, task: () => void): Timer
}

/** What a timer of Node can wait for; a longer one would run at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, task) {
    const handle = setTimeout(task, Math.min(ms, MAX_TIMER_MS))
    handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** A clock that stands still: for questions about a moment. What waits on it waits for ever. */
export function stoppedClock(nowMs: number): Clock {
  return { nowMs: () => nowMs, monotonicMs: () => 0, after: () => ({ cancel: () => undefined }) }
}

/** Resolves after `ms`, or when the signal comes. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
