import { beforeEach, expect, test } from 'vitest'
import { GatheredLines } from '../../src/base/gathered-lines.ts'
import { testClock } from '../support/test-clock.ts'

let written: string[]
const clock = testClock()
let lines: GatheredLines

beforeEach(() => {
  written = []
  lines = new GatheredLines(text => void written.push(text), clock)
})

test('lines that come close together are written at once, in their order', () => {
  lines.write('one\n')
  clock.advance(49)
  lines.write('two\n')
  expect(written).toEqual([])
  clock.advance(1)
  expect(written).toEqual(['one\ntwo\n'])
})

test('they wait for no longer than was asked for', () => {
  const soon = new GatheredLines(text => void written.push(text), clock, 10)
  soon.write('one\n')
  clock.advance(10)
  expect(written).toEqual(['one\n'])
})

test('many lines do not wait', () => {
  const line = `${'x'.repeat(1_000)}\n`
  for (let count = 0; count < 100; count++) lines.write(line)
  expect(written).toHaveLength(1)
  lines.flush()
  expect(written.join('')).toBe(line.repeat(100))
})

test('behind a flush nothing is left to write', () => {
  lines.write('one\n')
  lines.flush()
  clock.advance(1_000)
  lines.flush()
  expect(written).toEqual(['one\n'])
})
