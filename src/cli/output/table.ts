import { headOfWidth, textWidth } from '../../base/text-width.ts'
import { printable, type Style } from './style.ts'

/** A column of a table. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => string
  /** The minimum width on a narrow terminal; the widest columns shrink first. Absent: the column never shrinks. */
  readonly narrowest?: number
  readonly align?: 'left' | 'right'
  /** Dropped on a narrow terminal, the last one first. JSON has all columns. */
  readonly dispensable?: true
}

const GAP = '  '
/**
 * An aligned table with a header, each line ended by a line feed.
 *
 * @param width of the terminal; `undefined`: no terminal, and no text is cut and no column dropped.
 */
export function table<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  style: Style,
  width: number | undefined,
): string {
  const columns = width === undefined ? all : fitting(all, rows, width)
  const cells = rows.map(row => columns.map(column => printable(column.cell(row))))
  const widths = widthsOf(columns, cells)
  if (width !== undefined) shrink(columns, widths, width)
  const line = (texts: readonly string[]) =>
    texts
      .map((text, at) => fit(text, widths[at] ?? 0, columns[at]?.align ?? 'left'))
      .join(GAP)
      .trimEnd()
  const header = style.strong(line(columns.map(column => column.title)))
  return [header, ...cells.map(line)].map(text => `${text}\n`).join('')
}

function widthsOf<Row>(columns: readonly Column<Row>[], cells: readonly (readonly string[])[]): number[] {
  return columns.map((column, at) =>
    Math.max(textWidth(column.title), ...cells.map(line => textWidth(line[at] ?? ''))),
  )
}

/** The columns that fit at their minimum widths. */
function fitting<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): readonly Column<Row>[] {
  const cells = rows.map(row => all.map(column => printable(column.cell(row))))
  const least = widthsOf(all, cells).map((each, at) => Math.min(each, all[at]?.narrowest ?? each))
  let needed = least.reduce((sum, each) => sum + each, GAP.length * (all.length - 1))
  const kept = new Set(all)
  for (const [at, column] of [...all.entries()].toReversed()) {
    if (needed <= width) break
    if (!column.dispensable) continue
    kept.delete(column)
    needed -= (least[at] ?? 0) + GAP.length
  }
  return all.filter(column => kept.has(column))
}

/** Shrinks the widest shrinkable column by one character at a time, until the line fits or none can shrink. */
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
  const cut = textWidth(text) > width ? `${headOfWidth(text, width - 1)}…` : text
  const padding = ' '.repeat(Math.max(0, width - textWidth(cut)))
  return align === 'right' ? padding + cut : cut + padding
}
