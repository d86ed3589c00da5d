import { printable, type Style } from './style.ts'

/** A column of a table. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => string
  /** The width down to which it gives way, widest first, where the terminal is narrow. Absent: it never does. */
  readonly narrowest?: number
  readonly align?: 'left' | 'right'
}

const GAP = '  '
/** Characters that terminals draw two columns wide (Unicode TR 11, the blocks in common use). */
const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Extended_Pictographic}/u
const ZERO = /\p{Mn}|\p{Me}/u

/**
 * An aligned table with a header, each line ended by a line feed.
 *
 * @param width of the terminal; `undefined` where there is none: nothing is ever cut from what a program reads.
 */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  style: Style,
  width: number | undefined,
): string {
  const cells = rows.map(row => columns.map(column => printable(column.cell(row))))
  const widths = columns.map((column, at) =>
    Math.max(textWidth(column.title), ...cells.map(line => textWidth(line[at] ?? ''))),
  )
  if (width !== undefined) shrink(columns, widths, width)
  const line = (texts: readonly string[]) =>
    texts
      .map((text, at) => fit(text, widths[at] ?? 0, columns[at]?.align ?? 'left'))
      .join(GAP)
      .trimEnd()
  const header = style.strong(line(columns.map(column => column.title)))
  return [header, ...cells.map(line)].map(text => `${text}\n`).join('')
}

/** Takes one column at a time off the widest one that may give way, until the line fits or none can. */
function shrink<Row>(columns: readonly Column<Row>[], widths: number[], width: number): void {
  const gaps = GAP.length * (columns.length - 1)
  let excess = widths.reduce((sum, each) => sum + each, gaps) - width
  while (excess > 0) {
    let widest = -1
    for (const [at, column] of columns.entries()) {
      const here = widths[at] ?? 0
      if (here > (column.narrowest ?? here) && here > (widths[widest] ?? 0)) widest = at
    }
    if (widest < 0) return
    widths[widest] = (widths[widest] ?? 0) - 1
    excess--
  }
}

function fit(text: string, width: number, align: 'left' | 'right'): string {
  const cut = textWidth(text) > width ? `${head(text, width - 1)}…` : text
  const padding = ' '.repeat(Math.max(0, width - textWidth(cut)))
  return align === 'right' ? padding + cut : cut + padding
}

function head(text: string, width: number): string {
  let taken = ''
  let used = 0
  for (const character of text) {
    used += characterWidth(character)
    if (used > width) break
    taken += character
  }
  return taken
}

/** Columns that a terminal gives to a text without control characters. */
export function textWidth(text: string): number {
  let sum = 0
  for (const character of text) sum += characterWidth(character)
  return sum
}

function characterWidth(character: string): number {
  if (character < '\u0300') return 1
  if (ZERO.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
