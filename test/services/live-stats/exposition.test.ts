import { describe, expect, it } from 'vitest'
import { parseSamples } from '../../../src/services/live-stats/exposition.ts'

const parse = (text: string) => parseSamples(text, new Set(['a_total', 'b']))

describe('the text format', () => {
  it('is read with its labels as they were meant', () => {
    const text = '# HELP a_total x\na_total{m="q\\"u\\\\o\\nte",n=""} 1.5e3\nb 7\nunwanted 1\n\n'
    expect(parse(text)).toEqual([
      { name: 'a_total', labels: { m: 'q"u\\o\nte', n: '' }, value: 1_500 },
      { name: 'b', labels: {}, value: 7 },
    ])
  })
})
