// @ts-check

/**
 * @typedef {object} Row one figure of a scenario
 * @property {string} what
 * @property {string} unit
 * @property {number} subject
 * @property {number} [reference] absent where there is nothing to compare with
 * @property {number} [ratio]
 *
 * @typedef {object} Report
 * @property {string} scenario
 * @property {string} what
 * @property {readonly Row[]} rows
 */

/**
 * @param {readonly Report[]} reports
 * @param {{ subject: string, reference: string }} names
 */
export function table(reports, { subject, reference }) {
  const head = ['scenario', 'figure', subject, reference, 'ratio']
  const rows = reports.flatMap(({ scenario, rows }) =>
    rows.map((row, i) => [
      i === 0 ? scenario : '',
      row.what,
      amount(row.subject, row.unit),
      row.reference === undefined ? '' : amount(row.reference, row.unit),
      row.ratio === undefined ? '' : `× ${row.ratio.toFixed(2)}`,
    ]),
  )
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)))
  const line = (/** @type {readonly string[]} */ row) =>
    row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')
  return [head, ...rows].map(row => line(row).trimEnd()).join('\n')
}

/**
 * @param {number} value
 * @param {string} unit
 */
function amount(value, unit) {
  if (Number.isNaN(value)) return '–'
  const digits = value >= 1_000 ? 0 : value >= 10 ? 1 : 2
  return `${value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`.trimEnd()
}
