import { iso } from '../../base/iso.ts'
import { textWidth } from '../../base/text-width.ts'
import type { LiveStats } from '../../services/live-stats/types.ts'
import { figure } from '../output/figures.ts'
import { unansweredText } from '../output/live-stats-text.ts'
import { beside, clipped, fitted, type Line, line, rowText } from './lines.ts'
import { detailsOf, PANES, type Pane, type PaneName, panesOf } from './panes.ts'
import { chosenRow, shownRows, type TopState } from './state.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** On smaller screens one pane is shown at a time. */
const NARROW = 60
const LOW = 16
const KEYS = 'tab pane · ↑↓ row · enter details · s sort · / filter · q quit'
const KEYS_NARROW = 'tab ↑↓ enter s / q'
const GAP = 2

/**
 * The whole screen, line by line. It leaves the last line of the terminal free, because writing to it scrolls.
 */
export function layout(liveStats: LiveStats, state: TopState, size: Size): readonly Line[] {
  const width = Math.max(20, size.columns)
  const height = Math.max(6, size.rows - 1)
  const panes = panesOf(liveStats)
  const head = header(liveStats, width)
  const foot = footer(liveStats, state, width)
  const body = height - head.length - foot.length
  const isSmall = width < NARROW || body < LOW
  const middle =
    state.opened === undefined
      ? isSmall
        ? single(panes, state, width, body)
        : board(panes, state, width, body)
      : details(liveStats, state, width, body)
  const padding = Array.from({ length: Math.max(0, body - middle.length) }, () => line(''))
  return [...head, ...middle.slice(0, body), ...padding, ...foot].map(each => clipped(each, width))
}

function header(
  { atMs, gateways, storeRevision, total, seconds }: LiveStats,
  width: number,
): readonly Line[] {
  const states = [...new Set(gateways.map(({ state }) => state))]
  const isFine = states.every(state => state === 'ok')
  const time = iso(atMs).slice(11, 19)
  const revision = storeRevision ?? gateways[0]?.revision
  const state = states.length === 0 ? 'no gateway' : states.join(', ')
  const about = `  ${time}Z  ${revision === undefined ? '' : `revision ${revision}  `}`
  const { requestsPerSecond, tokensPerSecond, inFlight, rejectedPerSecond } = total
  const flow =
    seconds === 0
      ? `${figure(inFlight)} open · measuring …`
      : [
          `${figure(requestsPerSecond)} req/s`,
          `${figure(tokensPerSecond)} tok/s`,
          `${figure(inFlight)} open`,
          ...(rejectedPerSecond === undefined ? [] : [`${figure(rejectedPerSecond)} rejected/s`]),
        ].join(' · ')
  const available = width - 'gw top'.length - about.length
  return [
    [
      { text: 'gw top', tone: 'strong' },
      { text: about, tone: 'faint' },
      {
        text: fitted(state, Math.max(0, available)).trimEnd(),
        tone: isFine && states.length > 0 ? 'good' : 'bad',
      },
    ],
    line(fitted(flow, width).trimEnd(), 'strong'),
  ]
}

function footer(
  { notes, unanswered }: LiveStats,
  { pane, filter, isTyping }: TopState,
  width: number,
): readonly Line[] {
  const text = filter[pane] ?? ''
  const keys = isTyping
    ? `filter ${pane}: ${text}▏ enter keeps it, esc clears it`
    : `${width < NARROW ? KEYS_NARROW : KEYS}${text === '' ? '' : ` · filter: ${text}`}`
  return [
    ...[...notes, unansweredText(unanswered) ?? []]
      .flat()
      .slice(0, 1)
      .map(note => line(fitted(note, width).trimEnd(), 'warn')),
    line(fitted(keys, width).trimEnd(), 'faint'),
  ]
}

type Panes = Readonly<Record<PaneName, Pane>>

/** One pane, below the names of all panes. */
function single(panes: Panes, state: TopState, width: number, height: number): readonly Line[] {
  const tabs = PANES.map(name => (name === state.pane ? `[${name}]` : name)).join(' ')
  return [line(fitted(tabs, width).trimEnd(), 'faint'), ...table(panes[state.pane], state, width, height - 1)]
}

const BANDS: readonly (readonly PaneName[])[] = [
  ['endpoints'],
  ['models', 'keys'],
  ['rejections', 'gateways'],
]
/** The minimum of a band: head, one row, the line that counts hidden rows, and an empty line. */
const LEAST = 4

/** All panes: endpoints above, then models beside keys, and rejections beside gateways. */
function board(panes: Panes, state: TopState, width: number, height: number): readonly Line[] {
  const half = Math.floor((width - GAP) / 2)
  const heights = bandHeights(panes, state, height)
  return BANDS.flatMap(([first, second], at) => {
    const bandHeight = (heights[at] ?? LEAST) - 1
    if (first === undefined) return []
    const lines = table(panes[first], state, second === undefined ? width : half, bandHeight)
    const others = second === undefined ? [] : table(panes[second], state, width - half - GAP, bandHeight)
    const both = Array.from({ length: Math.max(lines.length, others.length) }, (_, row) =>
      second === undefined ? (lines[row] ?? line('')) : beside(lines[row], half + GAP, others[row]),
    )
    return [...both, line('')]
  })
}

/** Lines for each band: all that it needs if they fit; otherwise the active band grows first. */
function bandHeights(panes: Panes, state: TopState, height: number): readonly number[] {
  const needs = BANDS.map(
    names => 2 + Math.max(1, ...names.map(name => shownRows(panes[name], state).length)),
  )
  const heights = needs.map(need => Math.min(need, LEAST))
  let left = height - heights.reduce((sum, each) => sum + each, 0)
  const active = BANDS.findIndex(names => names.includes(state.pane))
  while (left > 0 && heights.some((each, at) => each < (needs[at] ?? 0))) {
    for (const at of [active, ...BANDS.keys()]) {
      const current = heights[at] ?? 0
      if (left === 0 || current >= (needs[at] ?? 0)) continue
      heights[at] = current + 1
      left--
    }
  }
  return heights
}

/** A pane of `height` lines, including its head; hidden rows are counted in the last line. */
function table(pane: Pane, state: TopState, width: number, height: number): readonly Line[] {
  const isActive = pane.name === state.pane
  const rows = shownRows(pane, state)
  const sorted = state.sort[pane.name] ?? pane.sort
  const titles = pane.columns.map(({ title }, at) => (isActive && at === sorted ? `${title}▾` : title))
  const wide = pane.columns.map((column, at) => ({
    ...column,
    width: Math.max(column.width, textWidth(titles[at] ?? '')),
  }))
  const inner = width - GAP
  const head = line(
    `${isActive ? '› ' : '  '}${rowText(titles, wide, inner)}`.trimEnd(),
    isActive ? 'strong' : 'faint',
  )
  if (rows.length === 0)
    return [
      head,
      line(`  ${fitted(pane.rows.length > 0 ? 'no row matches' : pane.empty, inner).trimEnd()}`, 'faint'),
    ]
  const bodyHeight = Math.max(1, height - 1)
  const chosen = isActive ? chosenRow(state, { [pane.name]: pane } as Panes)?.name : undefined
  const at = Math.max(
    0,
    rows.findIndex(row => row.name === chosen),
  )
  const fits = rows.length > bodyHeight ? Math.max(1, bodyHeight - 1) : bodyHeight
  const from = Math.min(Math.max(0, at - fits + 1), Math.max(0, rows.length - fits))
  const shown = rows.slice(from, from + fits).map(row => {
    const isChosen = row.name === chosen
    const text = `${isChosen ? '> ' : '  '}${rowText(row.cells, wide, inner)}`
    return line(isChosen ? text : text.trimEnd(), isChosen && row.tone === 'plain' ? 'chosen' : row.tone)
  })
  const more = rows.length - shown.length
  return [head, ...shown, ...(more > 0 && bodyHeight > 1 ? [line(`  … ${more} more`, 'faint')] : [])]
}

function details(
  liveStats: LiveStats,
  { pane, opened = '' }: TopState,
  width: number,
  height: number,
): readonly Line[] {
  const known = detailsOf(liveStats, pane, opened) ?? ['No longer present.']
  return [
    line(fitted(`${pane.replace(/s$/, '')} ${opened}`, width).trimEnd(), 'strong'),
    line(''),
    ...known.map(text => line(fitted(`  ${text}`, width).trimEnd())),
    line(''),
    line('  esc back', 'faint'),
  ].slice(0, height)
}
