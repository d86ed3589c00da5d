import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { EventLoopPacer } from '../../src/admin/event-loop-pacer.ts'

test('many at once pass a few at a time, in their order, with turns for others in between', async () => {
  const eventLoopPacer = new EventLoopPacer(2)
  const passed: number[] = []
  for (let index = 0; index < 5; index++) eventLoopPacer.schedule(() => void passed.push(index))
  const counts: number[] = [passed.length]
  while (passed.length < 5) {
    await turn()
    counts.push(passed.length)
  }
  expect([counts, passed]).toEqual([
    [0, 2, 4, 5],
    [0, 1, 2, 3, 4],
  ])
})

test('one that comes later passes, too', async () => {
  const eventLoopPacer = new EventLoopPacer(1)
  const passed: string[] = []
  eventLoopPacer.schedule(() => {
    passed.push('first')
    eventLoopPacer.schedule(() => void passed.push('from within'))
  })
  await turn()
  await turn()
  eventLoopPacer.schedule(() => void passed.push('later'))
  await turn()
  expect(passed).toEqual(['first', 'from within', 'later'])
})
