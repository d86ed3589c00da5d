import { expect, test } from 'vitest'
import { StoreClock } from '../../src/server/store-clock.ts'
import { testClock } from '../support/test-clock.ts'

const HOUR_MS = 3_600_000

test('its time is that of the store, also while the clock of the machine is set', async () => {
  const own = testClock()
  const startMs = own.nowMs()
  let offMs = 0
  const clock = new StoreClock(own, async () => offMs)
  await clock.follow()
  own.setNowMs(startMs - HOUR_MS)
  // A second at most: then the difference is known.
  expect(clock.nowMs()).toBe(startMs - HOUR_MS)
  offMs = HOUR_MS
  await clock.follow()
  expect(clock.nowMs()).toBe(startMs)
  own.setNowMs(startMs + 5 * HOUR_MS)
  own.advance(1_500)
  expect([clock.nowMs(), clock.monotonicMs()]).toEqual([startMs + 1_500, own.monotonicMs()])
  offMs = -5 * HOUR_MS
  await clock.follow()
  expect(clock.nowMs()).toBe(startMs + 1_500)
})

test('while the store is away, its last answer counts', async () => {
  const own = testClock()
  const startMs = own.nowMs()
  const answers = [Promise.resolve(HOUR_MS), Promise.reject(new Error('away'))]
  const clock = new StoreClock(own, () => answers.shift() as Promise<number>)
  await clock.follow()
  await expect(clock.follow()).rejects.toThrow('away')
  own.advance(2_000)
  expect(clock.nowMs()).toBe(startMs + HOUR_MS + 2_000)
})
