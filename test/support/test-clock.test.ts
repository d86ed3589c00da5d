import { expect, test } from 'vitest'
import { testClock } from './test-clock.ts'

test('runs what falls due in order of time, each at its own moment, with what it sets itself', () => {
  const clock = testClock(1_000)
  const seen: string[] = []
  const note = (name: string) => () => seen.push(`${name} ${clock.monotonicMs()} ${clock.nowMs()}`)
  clock.after(30, note('late'))
  clock.after(10, () => {
    note('early')()
    clock.after(5, note('within'))
    clock.after(50, note('beyond'))
  })
  clock.after(20, note('cancelled')).cancel()
  clock.advance(30)
  expect(seen).toEqual(['early 10 1010', 'within 15 1015', 'late 30 1030'])
  expect(clock.pending).toBe(1)
})

test('setting the wall clock moves no timer', () => {
  const clock = testClock()
  clock.after(1, () => expect.unreachable())
  clock.setNowMs(5)
  expect([clock.nowMs(), clock.monotonicMs(), clock.pending]).toEqual([5, 0, 1])
})

test('tells when enough timers wait', async () => {
  const clock = testClock()
  const two = clock.waiting(2)
  clock.after(1, () => undefined)
  clock.after(2, () => undefined)
  await two
  expect(clock.pending).toBe(2)
})
