import { formatNano, parseNano } from '../../base/decimal.ts'
import { textWidth } from '../../base/text-width.ts'
import type { UsageReport } from '../../services/usage.ts'
import type { Style } from './style.ts'
import { type Column, table } from './table.ts'

const WIDEST_CHART = 24
/** A shorter bar is not readable. */
const NARROWEST_CHART = 6
const GAP = 2

type UsageRow = UsageReport['data'][number]

/**
 * A table with a total, and on a terminal a bar for each row: of the cost, or of the tokens if nothing is priced. A
 * narrow terminal drops first the bars, then the rarer columns, then the ends of names.
 */
export function usageToText(
  { by, split, data: rows, currency }: UsageReport,
  style: Style,
  width: number | undefined,
): string {
  if (rows.length === 0) return ''
  const all = [...rows, totalOf(rows)]
  const columns = columnsThatFit(all, { by, split }, currency, style, width)
  const chart = chartColumn(rows, freeWidth(columns, all, style, width))
  const lines = table(chart ? [...columns, chart] : columns, all, style, width)
    .trimEnd()
    .split('\n')
  return lines.map((line, at) => `${at === lines.length - 1 ? style.strong(line) : line}\n`).join('')
}

function totalOf(rows: readonly UsageRow[]): UsageRow {
  const sum = (count: (row: UsageRow) => number) => rows.reduce((total, row) => total + count(row), 0)
  return {
    label: 'total',
    requests: sum(row => row.requests),
    input_tokens: sum(row => row.input_tokens),
    cached_input_tokens: sum(row => row.cached_input_tokens),
    cache_write_tokens: sum(row => row.cache_write_tokens),
    output_tokens: sum(row => row.output_tokens),
    search_units: sum(row => row.search_units),
    duration_ms: sum(row => row.duration_ms),
    characters: sum(row => row.characters),
    images: sum(row => row.images),
    cost: formatNano(rows.reduce((total, row) => total + nanoOf(row), 0n)),
    estimated: sum(row => row.estimated),
    unpriced: sum(row => row.unpriced),
  }
}

function nanoOf({ cost }: UsageRow): bigint {
  const nano = parseNano(cost)
  if (typeof nano !== 'bigint') throw new Error(`the cost ${cost} is not a decimal`)
  return nano
}

/** With the rarer columns that are not all zero and fit; the least important one is dropped first. */
function columnsThatFit(
  rows: readonly UsageRow[],
  { by, split }: Pick<UsageReport, 'by' | 'split'>,
  currency: string,
  style: Style,
  width: number | undefined,
): Column<UsageRow>[] {
  const digits = Math.max(...rows.map(({ cost }) => fraction(cost).length))
  const name: Column<UsageRow> = {
    title: by.toUpperCase(),
    cell: row => row.label || '(platform)',
    narrowest: 8,
  }
  const second: Column<UsageRow>[] =
    split === undefined
      ? []
      : [
          {
            title: split.toUpperCase(),
            cell: row => (row.split === undefined ? '' : row.split || '(platform)'),
            narrowest: 8,
          },
        ]
  const plain = [
    name,
    ...second,
    number('REQUESTS', row => row.requests),
    number('INPUT', row => row.input_tokens),
    number('OUTPUT', row => row.output_tokens),
    { title: `COST (${currency})`, cell: (row: UsageRow) => padded(row.cost, digits), align: 'right' },
  ] as const
  const rare = [
    number('UNPRICED', row => row.unpriced),
    number('ESTIMATED', row => row.estimated),
    number('SEARCHES', row => row.search_units),
    number('AUDIO (s)', row => row.duration_ms / 1_000),
    number('CHARACTERS', row => row.characters),
    number('IMAGES', row => row.images),
    number('CACHED', row => row.cached_input_tokens),
  ].filter(column => rows.some(row => column.cell(row) !== '0'))
  for (; ; rare.pop()) {
    const columns = [...plain, ...rare]
    if (rare.length === 0 || freeWidth(columns, rows, style, width) >= 0) return columns
  }
}

function number(title: string, count: (row: UsageRow) => number): Column<UsageRow> {
  return { title, cell: row => String(count(row)), align: 'right' }
}

/** Terminal columns that the table leaves free; 0 without a terminal. */
function freeWidth(
  columns: readonly Column<UsageRow>[],
  rows: readonly UsageRow[],
  style: Style,
  width: number | undefined,
): number {
  if (width === undefined) return 0
  const plain = { ...style, strong: (text: string) => text }
  const widest = Math.max(...table(columns, rows, plain, width).split('\n').map(textWidth))
  return width - widest
}

function chartColumn(rows: readonly UsageRow[], left: number): Column<UsageRow> | undefined {
  const width = Math.min(WIDEST_CHART, left - GAP)
  if (width < NARROWEST_CHART) return undefined
  const isPriced = rows.some(row => nanoOf(row) > 0n)
  const size = (row: UsageRow) => (isPriced ? nanoOf(row) : BigInt(row.input_tokens + row.output_tokens))
  const largest = rows.reduce((most, row) => (size(row) > most ? size(row) : most), 0n)
  const charted = new Set(rows)
  return { title: '', cell: row => (charted.has(row) ? barText(size(row), largest, width) : '') }
}

/** With as many digits after the point as the longest of the column, so that the points are aligned. */
function padded(text: string, digits: number): string {
  if (digits === 0) return text
  const [whole = ''] = text.split('.')
  return `${whole}.${fraction(text).padEnd(digits, '0')}`
}

function fraction(text: string): string {
  return text.split('.')[1] ?? ''
}

/** One to seven eighths of a block (Unicode "Block Elements", U+258F to U+2589), and a whole one. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const
const WHOLE = '█'

/**
 * A bar of `width * value / largest` characters. A value above 0 is always visible.
 */
export function barText(value: bigint, largest: bigint, width: number): string {
  if (value <= 0n || largest <= 0n) return ''
  const eighths = Number((value * BigInt(width * 8) + largest / 2n) / largest)
  const shown = Math.min(Math.max(eighths, 1), width * 8)
  return WHOLE.repeat(Math.floor(shown / 8)) + (EIGHTHS[shown % 8] ?? '')
}
