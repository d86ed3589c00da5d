import { pluralize } from '../../base/pluralize.ts'
import { INFERENCE_PATHS } from '../../schema/paths.ts'
import type { ProbeProgress, ProbeRow } from '../../services/probe-round.ts'
import { printable, type Style } from './style.ts'
import { type Column, table } from './table.ts'
import { wrapText } from './wrap-text.ts'

const COLUMNS: readonly Column<ProbeRow>[] = [
  { title: 'ENDPOINT', cell: row => row.endpoint, narrowest: 8 },
  { title: 'PROTOCOL', cell: row => row.protocol, dispensable: true },
  { title: 'MODEL', cell: row => row.model, narrowest: 8, dispensable: true },
  { title: 'LATENCY', cell: latency, align: 'right' },
  { title: 'RESULT', cell: result },
]

/** The column after `cause:`. */
const INDENT = 9

/** A table, then the cause and the hint of each failure, and the verdict last. */
export function probesToText(rows: readonly ProbeRow[], style: Style, width: number | undefined): string {
  if (rows.length === 0) return ''
  const failures = rows.map(row => failureToText(row, style, width)).join('')
  const paths = rows.map(row => pathsToText(row, style)).join('')
  return `${table(COLUMNS, rows, style, width)}\n${failures}${paths}${verdict(rows)}\n`
}

/** `probing: 3 of 12, 1 failed` */
export function progressToText({ done, total, failed }: ProbeProgress): string {
  return `probing: ${done} of ${total}${failed > 0 ? `, ${failed} failed` : ''}`
}

function verdict(rows: readonly ProbeRow[]): string {
  const count = (state: ProbeRow['state']) => rows.filter(row => row.state === state).length
  return `${pluralize(rows.length, 'probe')}: ${count('ok')} ok, ${count('failed')} failed, ${count('skipped')} skipped`
}

function latency(row: ProbeRow): string {
  const ms = 'latencyMs' in row ? row.latencyMs : undefined
  return ms === undefined ? '–' : `${Math.round(ms)} ms`
}

function result(row: ProbeRow): string {
  switch (row.state) {
    case 'ok':
      return row.by === 'chat' ? 'ok' : `ok (${row.by.replace('_', ' ')})`
    case 'failed':
      return `failed: ${row.diagnosis.fault.replaceAll('_', ' ')}`
    case 'skipped':
      return row.reason === 'nodes'
        ? 'skipped: on nodes, which judge it themselves'
        : `skipped: ${row.reason}`
  }
}

/** The line to write into the endpoint. Empty if its paths were not asked for. */
function pathsToText(row: ProbeRow, style: Style): string {
  if (!('paths' in row) || row.paths === undefined) return ''
  const all = INFERENCE_PATHS.filter(({ protocol }) => protocol === row.protocol).length
  if (row.paths === 'unknown') return `${style.strong(row.endpoint)} does not say which paths it serves\n`
  if (row.paths.length === all) return `${style.strong(row.endpoint)} serves every path of ${row.protocol}\n`
  return `${style.strong(row.endpoint)} serves ${row.paths.length} of ${all} paths of ${row.protocol}\n  paths: [${row.paths.join(', ')}]\n`
}

function failureToText(row: ProbeRow, style: Style, width: number | undefined): string {
  if (row.state !== 'failed') return ''
  const { cause, hint } = row.diagnosis
  const head = style.fault(`${row.endpoint}, ${printable(row.model)}`)
  const wrapped = (text: string) =>
    width === undefined ? `${printable(text)}\n` : wrapText(printable(text), width, INDENT).slice(INDENT)
  return `${head}\n  ${style.faint('cause:')} ${wrapped(cause)}  ${style.faint('hint:')}  ${wrapped(hint)}\n`
}
