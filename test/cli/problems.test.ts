import { describe, expect, it } from 'vitest'
import { problemsToText } from '../../src/cli/output/problems.ts'
import { styled } from '../../src/cli/output/style.ts'
import type { Problem } from '../../src/config/types.ts'

const plain = styled(false)
const problem: Problem = {
  code: 'value_out_of_range',
  severity: 'error',
  message: '50% of a:b,c\r\nis not much',
  place: { file: 'a,b:c%.yaml', line: 3, column: 7 },
  hint: 'more\nof it',
}

describe('an annotation', () => {
  it('is one line that GitHub reads as it was meant, whatever the names and messages hold', () => {
    expect(problemsToText([problem], 'github', plain)).toBe(
      '::error file=a%2Cb%3Ac%25.yaml,line=3,col=7,title=GW1205::50%25 of a:b,c%0D%0Ais not much%0Amore%0Aof it\n',
    )
  })
})

describe('a problem as text', () => {
  it('lets no file steer the terminal by its name or by what it holds', () => {
    const hostile: Problem = {
      ...problem,
      message: 'a\u001B[2Jb',
      place: { file: 'x\u001B]0;y\u0007.yaml', line: 1, column: 1 },
      frame: '> 1 | \u001B[31mred\n    | ^',
      hint: '\u009Bc',
    }
    const text = problemsToText([hostile], 'text', plain)
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(text).toContain('> 1 | \\u{1b}[31mred\n')
  })

  it('is one of at most 100, errors before warnings, and the rest is counted', () => {
    const at = (severity: Problem['severity'], line: number): Problem => ({
      ...problem,
      severity,
      place: { file: 'gw.yaml', line, column: 1 },
    })
    const warnings = Array.from({ length: 80 }, (_, index) => at('warning', index + 1))
    const errors = Array.from({ length: 40 }, (_, index) => at('error', index + 101))
    const text = problemsToText([...warnings, ...errors], 'text', plain)
    const lines = [...text.matchAll(/^gw\.yaml:(\d+):1 /gm)].map(([, line]) => Number(line))
    expect(lines).toEqual([...range(101, 140), ...range(1, 60)])
    expect(text).toMatch(/\n\nand 20 more: `--format json` has them all\n\n$/)

    const annotations = problemsToText([...warnings, ...errors], 'github', plain)
    expect(annotations.match(/^::/gm)).toHaveLength(120)
  })
})

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
