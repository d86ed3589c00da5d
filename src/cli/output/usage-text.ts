import { formatNano } from '../../base/decimal.ts'
import { textWidth } from '../../base/text-width.ts'
import type { Json } from '../../schema/kinds.ts'
import type { UsageReport } from '../../services/usage.ts'
import { sumsToJson } from '../../store/ledger/to-json.ts'
import type { UsageQuery, UsageRow } from '../../store/ledger/types.ts'
import { NO_USAGE, plusUsage } from '../../store/ledger/usage-sums.ts'
import { barText } from './bar.ts'
import type { Style } from './style.ts'
import { type Column, table } from './table.ts'

const WIDEST_CHART = 24
/** A shorter bar is not readable. */
const NARROWEST_CHART = 6
const GAP = 2

type By = UsageQuery['by']

/**
 * A table with a total, and on a terminal a bar for each row: of the cost, or of the tokens if nothing is priced. A
 * narrow terminal drops first the bars, then the rarer columns, then the ends of names.
 */
export function usageToText(
  { rows, currency }: UsageReport,
  by: By,
  style: Style,
  width: number | undefined,
): string {
  if (rows.length === 0) return ''
  const total = rows.reduce(plusUsage, { ...NO_USAGE, label: 'total' })
  const all = [...rows, total]
  const columns = columnsThatFit(all, by, currency, style, width)
  const chart = chartColumn(rows, freeWidth(columns, all, style, width))
  const lines = table(chart ? [...columns, chart] : columns, all, style, width)
    .trimEnd()
    .split('\n')
  return lines.map((line, at) => `${at === lines.length - 1 ? style.strong(line) : line}\n`).join('')
}

export function usageToJson({ rows, currency, fromMs, toMs }: UsageReport, by: By): Json {
  return rows.map(row => ({
    // Platform keys have no tenant.
    [by]: by === 'tenant' && row.label === '' ? null : row.label,
    ...sumsToJson(row),
    currency,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
  }))
}

/** With the rarer columns that are not all zero and fit; the least important one is dropped first. */
function columnsThatFit(
  rows: readonly UsageRow[],
  by: By,
  currency: string,
  style: Style,
  width: number | undefined,
): Column<UsageRow>[] {
  const digits = Math.max(...rows.map(({ amountNano }) => fraction(formatNano(amountNano)).length))
  const name: Column<UsageRow> = {
    title: by.toUpperCase(),
    cell: row => row.label || '(platform)',
    narrowest: 8,
  }
  const plain = [
    name,
    number('REQUESTS', row => row.requests),
    number('INPUT', row => row.inputTokens),
    number('OUTPUT', row => row.outputTokens),
    { title: `COST (${currency})`, cell: (row: UsageRow) => padded(row.amountNano, digits), align: 'right' },
  ] as const
  const rare = [
    number('UNPRICED', row => row.unpriced),
    number('ESTIMATED', row => row.estimated),
    number('SEARCHES', row => row.searchUnits),
    number('CACHED', row => row.cachedInputTokens),
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
  const isPriced = rows.some(row => row.amountNano > 0n)
  const size = (row: UsageRow) => (isPriced ? row.amountNano : BigInt(row.inputTokens + row.outputTokens))
  const largest = rows.reduce((most, row) => (size(row) > most ? size(row) : most), 0n)
  const charted = new Set(rows)
  return { title: '', cell: row => (charted.has(row) ? barText(size(row), largest, width) : '') }
}

/** With as many digits after the point as the longest of the column, so that the points are aligned. */
function padded(nano: bigint, digits: number): string {
  const text = formatNano(nano)
  if (digits === 0) return text
  const [whole = ''] = text.split('.')
  return `${whole}.${fraction(text).padEnd(digits, '0')}`
}

function fraction(text: string): string {
  return text.split('.')[1] ?? ''
}
