import { setImmediate as others } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'

/** Nobody notices a wait of this length, and few slices are spent on waiting for a turn. */
const SLICE_MS = 5

/** Runs work that may be rested at each `yield` to its end, without holding up the event loop. */
export async function yieldToEventLoop<Result>(
  work: Generator<undefined, Result>,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<Result> {
  // What came before in this turn has taken its time, too.
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
