import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { yieldToEventLoop } from '../../src/base/yield-to-event-loop.ts'
import { testClock } from '../support/test-clock.ts'

test('long work lets others have their turn every few milliseconds, and comes to its result', async () => {
  const clock = testClock()
  const over = new AbortController()
  const others = (async () => {
    let turns = 0
    for (; !over.signal.aborted; turns++) await turn()
    return turns
  })()
  function* work(): Generator<undefined, string> {
    for (let step = 0; step < 100; step++) {
      clock.advance(1)
      yield
    }
    return 'done'
  }
  expect(await yieldToEventLoop(work(), clock)).toBe('done')
  over.abort()
  // 100 ms of work, rested after 5 ms each.
  expect(await others).toBeGreaterThanOrEqual(19)
})

test('work begins in a turn of its own, and is done in it where it is short', async () => {
  let turns = 0
  const count = (): void => {
    turns++
    if (turns < 10) setImmediate(count)
  }
  setImmediate(count)
  function* work(): Generator<undefined, [began: number, ended: number]> {
    const began = turns
    yield
    return [began, turns]
  }
  expect(await yieldToEventLoop(work(), testClock())).toEqual([1, 1])
})
