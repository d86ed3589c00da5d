/** A pending timer. */
export interface Timer {
  cancel(): void
}

/** The only source of time. All code that waits or records times takes a `Clock`, so that tests control time. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. For timestamps, never for durations. */
  nowMs(): number
  /** Monotonic clock in milliseconds with fractions. For durations, never for timestamps. */
  monotonicMs(): number
  /** Runs `task` once after `ms`. The timer never keeps the process alive. */
  after(ms: number, task: () => void): Timer
}

/** The limit of Node's timers; a longer one would fire at once. */
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

/** A stopped clock, for queries about one moment. Its timers never fire. */
export function stoppedClock(nowMs: number): Clock {
  return { nowMs: () => nowMs, monotonicMs: () => 0, after: () => ({ cancel: () => undefined }) }
}

/** Resolves after `ms`, or when the signal aborts. */
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
