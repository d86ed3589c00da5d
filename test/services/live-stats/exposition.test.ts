import { describe, expect, it } from 'vitest'
import { growth, parseSamples, quantile, type Sample } from '../../../src/services/live-stats/exposition.ts'

const parse = (text: string) => parseSamples(text, new Set(['a_total', 'b']))

describe('the text format', () => {
  it('is read with its labels as they were meant', () => {
    const text = '# HELP a_total x\na_total{m="q\\"u\\\\o\\nte",n=""} 1.5e3\nb 7\nunwanted 1\n\n'
    expect([...parse(text).values()]).toEqual([
      { name: 'a_total', labels: { m: 'q"u\\o\nte', n: '' }, value: 1_500 },
      { name: 'b', labels: {}, value: 7 },
    ])
  })
})

describe('growth', () => {
  const grown = (before: string, after: string) =>
    growth(parse(before), parse(after)).map(({ value }) => value)

  it('is what a counter has grown by', () => {
    expect(grown('a_total{x="1"} 5\n', 'a_total{x="1"} 8\na_total{x="2"} 4\n')).toEqual([3, 4])
  })

  it('is all of a counter that began anew', () => {
    expect(grown('a_total{x="1"} 500\n', 'a_total{x="1"} 8\n')).toEqual([8])
  })
})

describe('a quantile', () => {
  const buckets = (...counts: readonly (readonly [le: string, count: number])[]): readonly Sample[] =>
    counts.map(([le, value]) => ({ name: 'h_bucket', labels: { le }, value }))

  it('lies inside its bucket, as Prometheus has it', () => {
    const even = buckets(['1', 50], ['2', 100], ['+Inf', 100])
    expect(quantile(0.5, even)).toBe(1)
    expect(quantile(0.75, even)).toBe(1.5)
    expect(quantile(0.95, even)).toBeCloseTo(1.9)
  })

  it('of what lies beyond all bounds is the last bound', () => {
    expect(quantile(0.95, buckets(['1', 1], ['+Inf', 100]))).toBe(1)
  })

  it('adds up series with the same bounds, and is none of nothing', () => {
    expect(quantile(0.5, [...buckets(['1', 1], ['+Inf', 1]), ...buckets(['1', 1], ['+Inf', 1])])).toBe(0.5)
    expect(quantile(0.5, buckets(['1', 0], ['+Inf', 0]))).toBeUndefined()
    expect(quantile(0.5, [])).toBeUndefined()
  })
})
