import type { Clock, Timer } from '../../src/base/clock.ts'

interface Pending extends Timer {
  readonly dueMs: number
  readonly task: () => void
}

/** Time that stands still until the test moves it. */
export interface TestClock extends Clock {
  /**
   * Moves both clocks on by `ms` and runs what falls due on the way, in order of time, each at its own moment;
   * also what those tasks themselves set, where it falls within the same span.
   */
  advance(ms: number): void
  /** Sets the wall clock alone, as an administrator or NTP would; no timer runs. */
  setNowMs(nowMs: number): void
  /** How many timers wait. */
  readonly pending: number
  /** Resolves as soon as at least `count` timers wait: from then on `advance` reaches them. */
  waiting(count?: number): Promise<void>
  /** Resolves as soon as no timer waits any more, because all have run or were cancelled. */
  idle(): Promise<void>
}

const START_MS = Date.UTC(2026, 0, 15, 12)

export function testClock(startMs: number = START_MS): TestClock {
  let wallMs = startMs
  let elapsedMs = 0
  const timers = new Set<Pending>()
  const watchers = new Set<{ holds: () => boolean; resolve: () => void }>()

  function when(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve()
    return new Promise(resolve => watchers.add({ holds, resolve }))
  }

  function changed(): void {
    for (const watcher of watchers) {
      if (!watcher.holds()) continue
      watchers.delete(watcher)
      watcher.resolve()
    }
  }

  function remove(timer: Pending): void {
    if (timers.delete(timer)) changed()
  }

  function earliest(limitMs: number): Pending | undefined {
    let first: Pending | undefined
    for (const timer of timers) {
      if (timer.dueMs <= limitMs && (first === undefined || timer.dueMs < first.dueMs)) first = timer
    }
    return first
  }

  function moveTo(targetMs: number): void {
    wallMs += targetMs - elapsedMs
    elapsedMs = targetMs
  }

  return {
    nowMs: () => wallMs,
    monotonicMs: () => elapsedMs,
    after(ms, task) {
      const timer: Pending = { dueMs: elapsedMs + Math.max(0, ms), task, cancel: () => remove(timer) }
      timers.add(timer)
      changed()
      return timer
    },
    advance(ms) {
      const endMs = elapsedMs + ms
      for (let due = earliest(endMs); due !== undefined; due = earliest(endMs)) {
        moveTo(Math.max(elapsedMs, due.dueMs))
        timers.delete(due)
        due.task()
        changed()
      }
      moveTo(endMs)
    },
    setNowMs(nowMs) {
      wallMs = nowMs
    },
    get pending() {
      return timers.size
    },
    waiting: (count = 1) => when(() => timers.size >= count),
    idle: () => when(() => timers.size === 0),
  }
}
