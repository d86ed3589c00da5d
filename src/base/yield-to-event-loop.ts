import { setImmediate as others } from 'node:timers/promises'
import type { Clock } from './clock.ts'

/** Short enough to go unnoticed, long enough to keep the overhead of yielding small. */
const SLICE_MS = 5

/** Runs a generator to its end, and lets the event loop run at a `yield` when a time slice is over. */
export async function yieldToEventLoop<Result>(
  work: Generator<undefined, Result>,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<Result> {
  // Earlier work of this turn has already used time.
  await others()
  let began = clock.monotonicMs()
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    if (clock.monotonicMs() - began < SLICE_MS) continue
    await others()
    began = clock.monotonicMs()
  }
}
