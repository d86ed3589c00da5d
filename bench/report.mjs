// @ts-check

/**
 * @typedef {object} Measure one run of one contestant
 * @property {number} perSecond
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number | undefined} cpuUs microseconds of CPU for each unit
 *
 * @typedef {object} Pair two runs, one right after the other
 * @property {Measure} subject
 * @property {Measure} reference
 *
 * @typedef {object} Figure medians over all rounds; `ratio` is the median of the ratios within each round
 * @property {number} subject
 * @property {number} reference
 * @property {number} ratio
 *
 * @typedef {object} Report
 * @property {string} scenario
 * @property {string} unit
 * @property {Figure} perSecond
 * @property {Figure} p50Ms
 * @property {Figure} p99Ms
 * @property {Figure | undefined} cpuUs
 */

/**
 * @param {import('./scenarios.mjs').Scenario} scenario
 * @param {readonly Pair[]} pairs
 * @returns {Report}
 */
export function summarise({ name, unit }, pairs) {
  const figure = (/** @type {(measure: Measure) => number} */ of) => ({
    subject: median(pairs.map(pair => of(pair.subject))),
    reference: median(pairs.map(pair => of(pair.reference))),
    ratio: median(pairs.map(pair => of(pair.subject) / of(pair.reference))),
  })
  const knowsCpu = pairs.every(pair => pair.subject.cpuUs !== undefined && pair.reference.cpuUs !== undefined)
  return {
    scenario: name,
    unit,
    perSecond: figure(measure => measure.perSecond),
    p50Ms: figure(measure => measure.p50Ms),
    p99Ms: figure(measure => measure.p99Ms),
    cpuUs: knowsCpu ? figure(measure => measure.cpuUs ?? Number.NaN) : undefined,
  }
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}

/**
 * @param {readonly Report[]} reports
 * @param {{ subject: string, reference: string }} names
 */
export function table(reports, { subject, reference }) {
  const head = ['scenario', 'throughput', 'p50', 'p99', 'CPU', `${subject}/s`, `${reference}/s`, 'CPU µs', '']
  const rows = reports.map(report => [
    report.scenario,
    ratio(report.perSecond),
    ratio(report.p50Ms),
    ratio(report.p99Ms),
    ratio(report.cpuUs),
    Math.round(report.perSecond.subject).toLocaleString('en'),
    Math.round(report.perSecond.reference).toLocaleString('en'),
    report.cpuUs ? `${report.cpuUs.subject.toFixed(1)} : ${report.cpuUs.reference.toFixed(1)}` : '–',
    `per ${report.unit}`,
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)))
  const line = (/** @type {readonly string[]} */ row) =>
    row.map((cell, i) =>
      i === 0 || i === row.length - 1 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0),
    )
  const lines = [head, ...rows].map(row => line(row).join('  ').trimEnd())
  return `${subject} : ${reference}, medians of the ratios (throughput: more is better; the rest: less is)\n\n${lines.join('\n')}`
}

/** @param {Figure | undefined} figure */
function ratio(figure) {
  return figure === undefined ? '–' : `× ${figure.ratio.toFixed(2)}`
}
