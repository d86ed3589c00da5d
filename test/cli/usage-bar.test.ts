import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { barText } from '../../src/cli/output/usage-text.ts'

describe('a bar', () => {
  it.each<[bigint, string]>([
    [0n, ''],
    [1n, '▏'],
    [100n, '▍'],
    [1_000n, '████'],
    [500n, '██'],
    [625n, '██▌'],
  ])('of %i in a thousand is %s', (value, bar) => {
    expect(barText(value, 1_000n, 4)).toBe(bar)
  })

  it('is as wide as it may be for the largest, visible for the smallest, and never longer for less', () => {
    const amount = fc.bigInt({ min: 1n, max: 10n ** 24n })
    fc.assert(
      fc.property(amount, amount, fc.integer({ min: 1, max: 80 }), (a, b, width) => {
        const [less, most] = a < b ? [a, b] : [b, a]
        expect(barText(most, most, width)).toHaveLength(width)
        expect(barText(less, most, width).length).toBeGreaterThan(0)
        expect(barText(less, most, width).length).toBeLessThanOrEqual(width)
      }),
    )
  })
})
