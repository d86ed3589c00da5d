import { headOfWidth, textWidth } from '../../base/text-width.ts'

/** A column of a pane. */
export interface PaneColumn {
  readonly title: string
  readonly width: number
  readonly align: 'left' | 'right'
}

/** The meaning of a text; the screen chooses its colour. */
export type Tone = 'plain' | 'strong' | 'faint' | 'good' | 'warn' | 'bad' | 'chosen'

export interface Span {
  readonly text: string
  readonly tone: Tone
}

/** One line of the screen, never wider than it. */
export type Line = readonly Span[]

/** With a wider column it is hard to see which numbers belong to a name. */
const WIDEST_NAME = 48

const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu

/** Exactly `width` columns: cut with an ellipsis, or padded. Control characters of names are replaced. */
export function fitted(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const legible = text.replace(CONTROL, '\u{fffd}')
  const isCut = textWidth(legible) > width
  const shown = isCut ? `${headOfWidth(legible, width - 1)}${width > 0 ? '…' : ''}` : legible
  const padding = ' '.repeat(Math.max(0, width - textWidth(shown)))
  return align === 'right' ? padding + shown : shown + padding
}

/** The cells of a row; the first column takes the remaining width. Columns that do not fit are dropped. */
export function rowText(cells: readonly string[], columns: readonly PaneColumn[], width: number): string {
  const shown = columns.length - droppedColumns(columns, width)
  const fixed = columns.slice(1, shown).reduce((sum, column) => sum + column.width + 1, 0)
  return columns
    .slice(0, shown)
    .map((column, at) =>
      fitted(cells[at] ?? '', at === 0 ? Math.min(WIDEST_NAME, width - fixed) : column.width, column.align),
    )
    .join(' ')
}

/** The number of columns from the right that do not fit beside the narrowest first one. */
function droppedColumns(columns: readonly PaneColumn[], width: number): number {
  let used = columns.reduce((sum, column) => sum + column.width + 1, -1)
  let dropped = 0
  while (used > width && dropped < columns.length - 1) {
    used -= (columns.at(-1 - dropped)?.width ?? 0) + 1
    dropped++
  }
  return dropped
}

export function line(text: string, tone: Tone = 'plain'): Line {
  return [{ text, tone }]
}

/** Two lines beside each other, the first of exactly `width` columns. */
export function beside(a: Line | undefined, width: number, b: Line | undefined): Line {
  const used = (a ?? []).reduce((sum, { text }) => sum + textWidth(text), 0)
  return [...(a ?? []), { text: ' '.repeat(Math.max(0, width - used)), tone: 'plain' }, ...(b ?? [])]
}

/** Cut to a width. */
export function clipped(spans: Line, width: number): Line {
  let left = width
  return spans.flatMap(span => {
    const text = headOfWidth(span.text, Math.max(0, left))
    left -= textWidth(text)
    return text === '' ? [] : [{ ...span, text }]
  })
}
