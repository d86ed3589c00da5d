import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Tarpit } from '../../src/admin/tarpit.ts'
import { testClock } from '../support/test-clock.ts'

const answer = () => new ServerResponse(new IncomingMessage(new Socket()))

test('many at once are answered late, and one by one', async () => {
  const clock = testClock()
  const late = new Tarpit(clock)
  const answered: number[] = []
  for (let index = 0; index < 5; index++) void late.delay(answer()).then(() => answered.push(index))

  clock.advance(1_499)
  await Promise.resolve()
  expect(answered).toEqual([])
  clock.advance(1)
  await Promise.resolve()
  expect(answered).toEqual([0])
  clock.advance(4 * 100)
  await Promise.resolve()
  expect(answered).toEqual([0, 1, 2, 3, 4])
  expect(clock.pending).toBe(0)
})

test('a client that leaves frees its place', async () => {
  const clock = testClock()
  const late = new Tarpit(clock)
  const leaving = answer()
  const left = late.delay(leaving)

  leaving.emit('close')
  await left
  expect(clock.pending).toBe(0)

  const answered: string[] = []
  void late.delay(answer()).then(() => answered.push('the next one'))
  clock.advance(1_500)
  await Promise.resolve()
  expect(answered).toEqual(['the next one'])
})
