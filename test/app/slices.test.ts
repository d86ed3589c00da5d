import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { inSlices } from '../../src/app/slices.ts'
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
  expect(await inSlices(work(), clock)).toBe('done')
  over.abort()
  // 100 ms of work, rested after 5 ms each.
  expect(await others).toBeGreaterThanOrEqual(19)
})

test('short work is done in one turn', async () => {
  let turned = false
  setImmediate(() => {
    turned = true
  })
  function* work(): Generator<undefined, boolean> {
    yield
    return turned
  }
  expect(await inSlices(work(), testClock())).toBe(false)
})
