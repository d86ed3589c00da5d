import fc from 'fast-check'
import { expect, it } from 'vitest'
import { agoText, figure, latencyText, shareText } from '../../src/cli/output/figures.ts'

it.each([
  [0, '0'],
  [0.254, '0.25'],
  [7.54, '7.5'],
  [9.999, '10'],
  [123.4, '123'],
  [999.96, '1k'],
  [4_560, '4.6k'],
  [999_960, '1M'],
  [12_345_678, '12M'],
])('%d is %s', (value, text) => {
  expect(figure(value)).toBe(text)
})

it('a figure never takes more than five characters', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e11, noNaN: true }), value => {
      expect(figure(value).length).toBeLessThanOrEqual(5)
    }),
  )
})

it('times are shown as people say them', () => {
  expect([undefined, 0.4, 8, 340.4, 1_234, 59_000, 200_000].map(latencyText)).toEqual([
    '-',
    '0.4ms',
    '8ms',
    '340ms',
    '1.2s',
    '59s',
    '3m20s',
  ])
  expect([4_000, 720_000, 18_000_000, 260_000_000].map(agoText)).toEqual(['4s', '12m', '5h', '3d'])
})

it('more than nothing is never 0%', () => {
  expect([0, 0.001, 0.5, 1.2].map(shareText)).toEqual(['0%', '<1%', '50%', '120%'])
})
