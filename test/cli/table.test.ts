import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textWidth } from '../../src/base/text-width.ts'
import { printable, styled } from '../../src/cli/output/style.ts'
import { type Column, table } from '../../src/cli/output/table.ts'

interface Row {
  readonly name: string
  readonly count: string
}
const COLUMNS: readonly Column<Row>[] = [
  { title: 'NAME', cell: row => row.name, narrowest: 6 },
  { title: 'COUNT', cell: row => row.count, align: 'right' },
]
const plain = styled(false)

describe('a table', () => {
  it('aligns its columns under a header, without white space at the ends of lines', () => {
    const rows = [
      { name: 'a', count: '7' },
      { name: 'longer', count: '1200' },
    ]
    expect(table(COLUMNS, rows, plain, undefined)).toBe(
      ['NAME    COUNT', 'a           7', 'longer   1200', ''].join('\n'),
    )
  })

  it('fits the terminal: the widest column that may give way is cut, with a sign that it was', () => {
    const text = table(COLUMNS, [{ name: 'a-name-that-is-much-too-long', count: '12' }], plain, 20)
    expect(text).toBe(['NAME           COUNT', 'a-name-that-…     12', ''].join('\n'))
  })

  it('cuts nothing where a program reads', () => {
    const name = 'x'.repeat(500)
    expect(table(COLUMNS, [{ name, count: '1' }], plain, undefined)).toContain(name)
  })

  it('counts wide characters as the two columns that they take', () => {
    const [header, row] = table(COLUMNS, [{ name: '模型', count: '1' }], plain, undefined).split('\n')
    expect(textWidth('模型')).toBe(4)
    expect(textWidth(row ?? '')).toBe(textWidth(header ?? ''))
  })

  it('never exceeds a terminal that is wide enough for its fixed columns, whatever the cells hold', () => {
    const cell = fc.string({ unit: 'grapheme', maxLength: 60 })
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: cell, count: fc.constantFrom('1', '12345') })),
        fc.integer({ min: 20, max: 90 }),
        (rows, width) => {
          for (const line of table(COLUMNS, rows, plain, width).split('\n')) {
            expect(textWidth(line)).toBeLessThanOrEqual(width)
          }
        },
      ),
    )
  })
})

describe('printable', () => {
  it('lets no name move the cursor, change colours or reorder what is read', () => {
    expect(printable('a\u001B[2Jb\u009Bc\u202Ed\ne')).toBe('a\\u{1b}[2Jb\\u{9b}c\\u{202e}d\\u{a}e')
  })
})
