import { PANES, type Pane, type PaneName, type PaneRow } from './panes.ts'

/** The view that the user has chosen. */
export interface TopState {
  readonly pane: PaneName
  /** By pane: the sort column; absent: the default. */
  readonly sort: Readonly<Partial<Record<PaneName, number>>>
  /** By pane: only rows with this text in their name are shown. */
  readonly filter: Readonly<Partial<Record<PaneName, string>>>
  /** The user is typing the filter. */
  readonly isTyping: boolean
  /** The name of the chosen row; it stays chosen when rows move. */
  readonly chosen: string | undefined
  /** The row whose details are shown. */
  readonly opened: string | undefined
}

export const FIRST_STATE: TopState = {
  pane: 'endpoints',
  sort: {},
  filter: {},
  isTyping: false,
  chosen: undefined,
  opened: undefined,
}

/** A key press. */
export interface KeyPress {
  readonly input: string
  readonly name?: 'up' | 'down' | 'tab' | 'back-tab' | 'enter' | 'escape' | 'backspace'
}

type Panes = Readonly<Record<PaneName, Pane>>

/** The rows of a pane as they are shown: filtered, and sorted. */
export function shownRows({ name, rows, sort }: Pane, state: TopState): readonly PaneRow[] {
  const filter = (state.filter[name] ?? '').toLowerCase()
  const column = state.sort[name] ?? sort
  return rows
    .filter(row => row.name.toLowerCase().includes(filter))
    .toSorted((a, b) => compared(a.values[column], b.values[column]) || compared(a.name, b.name))
}

function compared(a: string | number | undefined, b: string | number | undefined): number {
  if (typeof a === 'number' && typeof b === 'number') return b - a
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0
}

/** The state after a key press. The screen handles `quit` itself. */
export function pressed(state: TopState, key: KeyPress, panes: Panes): TopState {
  if (state.isTyping) return typed(state, key)
  if (state.opened !== undefined) {
    return key.name === 'escape' || key.name === 'enter' ? { ...state, opened: undefined } : state
  }
  if (key.name === 'tab') return turned(state, 1)
  if (key.name === 'back-tab') return turned(state, PANES.length - 1)
  if (key.name === 'up') return moved(state, -1, panes)
  if (key.name === 'down') return moved(state, 1, panes)
  if (key.name === 'enter') return { ...state, opened: chosenRow(state, panes)?.name }
  if (key.name === 'escape') return { ...state, filter: { ...state.filter, [state.pane]: '' } }
  return plainKey(state, key.input, panes)
}

function plainKey(state: TopState, input: string, panes: Panes): TopState {
  const pane = panes[state.pane]
  if (input === 'k') return moved(state, -1, panes)
  if (input === 'j') return moved(state, 1, panes)
  if (input === '/') return { ...state, isTyping: true }
  if (input !== 's') return state
  const column = ((state.sort[state.pane] ?? pane.sort) + 1) % pane.columns.length
  return { ...state, sort: { ...state.sort, [state.pane]: column } }
}

function typed(state: TopState, { input, name }: KeyPress): TopState {
  const text = state.filter[state.pane] ?? ''
  const filter = (next: string) => ({ ...state.filter, [state.pane]: next })
  if (name === 'enter') return { ...state, isTyping: false }
  if (name === 'escape') return { ...state, isTyping: false, filter: filter('') }
  if (name === 'backspace') return { ...state, filter: filter(text.slice(0, -1)) }
  return name === undefined && /^[^\p{C}]+$/u.test(input) ? { ...state, filter: filter(text + input) } : state
}

function turned(state: TopState, by: number): TopState {
  const pane = PANES[(PANES.indexOf(state.pane) + by) % PANES.length] ?? state.pane
  return { ...state, pane, chosen: undefined }
}

function moved(state: TopState, by: number, panes: Panes): TopState {
  const rows = shownRows(panes[state.pane], state)
  const at = Math.max(
    0,
    rows.findIndex(row => row.name === state.chosen),
  )
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))]
  return { ...state, chosen: next?.name }
}

/** The row that `enter` opens: the chosen one, or the first if that no longer exists. */
export function chosenRow(state: TopState, panes: Panes): PaneRow | undefined {
  const rows = shownRows(panes[state.pane], state)
  return rows.find(row => row.name === state.chosen) ?? rows[0]
}
