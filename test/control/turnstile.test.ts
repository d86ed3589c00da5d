import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Turnstile } from '../../src/control/turnstile.ts'

test('a crowd passes a few at a time, in its order, with turns for others in between', async () => {
  const turnstile = new Turnstile(2)
  const passed: number[] = []
  for (let index = 0; index < 5; index++) turnstile.pass(() => void passed.push(index))
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
  const turnstile = new Turnstile(1)
  const passed: string[] = []
  turnstile.pass(() => {
    passed.push('first')
    turnstile.pass(() => void passed.push('from within'))
  })
  await turn()
  await turn()
  turnstile.pass(() => void passed.push('later'))
  await turn()
  expect(passed).toEqual(['first', 'from within', 'later'])
})
