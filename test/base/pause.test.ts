import { expect, test } from 'vitest'
import { pause } from '../../src/base/clock.ts'
import { testClock } from '../support/test-clock.ts'

/** Whether it has resolved, once everything that could resolve it has had its turn. */
async function isOver(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), new Promise<false>(resolve => setImmediate(resolve, false))])
}

test('a pause lasts as long as it was asked to', async () => {
  const clock = testClock()
  const paused = pause(clock, 1_000, new AbortController().signal)

  clock.advance(999)
  expect(await isOver(paused)).toBe(false)
  clock.advance(1)
  expect(await isOver(paused)).toBe(true)
})

test('a pause ends with its signal, and leaves no timer behind', async () => {
  const clock = testClock()
  const leaving = new AbortController()
  const paused = pause(clock, 1_000, leaving.signal)

  leaving.abort()
  expect(await isOver(paused)).toBe(true)
  expect(clock.pending).toBe(0)
})

test('a signal that came before is no pause at all', async () => {
  const clock = testClock()

  expect(await isOver(pause(clock, 1_000, AbortSignal.abort()))).toBe(true)
  expect(clock.pending).toBe(0)
})
