import { Box, Text, useInput, useWindowSize } from 'ink'
import { type ReactElement, useReducer } from 'react'
import type { LiveStats } from '../../services/live-stats/types.ts'
import { layout } from './layout.ts'
import type { Span, Tone } from './lines.ts'
import { panesOf } from './panes.ts'
import { FIRST_STATE, type KeyPress, pressed, type TopState } from './state.ts'

export interface ScreenProps {
  /** The newest sample. */
  readonly liveStats: LiveStats
  readonly hasColour: boolean
  readonly onQuit: () => void
}

const COLOURS: Readonly<Partial<Record<Tone, string>>> = { good: 'green', warn: 'yellow', bad: 'red' }

/** The live screen of `gw top`. */
export function Screen({ liveStats, hasColour, onQuit }: ScreenProps): ReactElement {
  const size = useWindowSize()
  const [state, press] = useReducer(
    (before: TopState, { key, of }: { readonly key: KeyPress; readonly of: LiveStats }) =>
      pressed(before, key, panesOf(of)),
    FIRST_STATE,
  )
  useInput((input, key) => {
    if ((key.ctrl && input === 'c') || (input === 'q' && !state.isTyping)) onQuit()
    else press({ key: named(input, key), of: liveStats })
  })
  return (
    <Box flexDirection="column" width={size.columns}>
      {layout(liveStats, state, size).map((spans, row) => (
        <Text key={row} wrap="truncate">
          {spans.length === 0 ? ' ' : spans.map((span, at) => painted(span, at, hasColour))}
        </Text>
      ))}
    </Box>
  )
}

function painted({ text, tone }: Span, at: number, hasColour: boolean): ReactElement {
  const colour = hasColour ? COLOURS[tone] : undefined
  return (
    <Text
      key={at}
      bold={tone === 'strong'}
      dimColor={tone === 'faint'}
      inverse={tone === 'chosen'}
      {...(colour !== undefined && { color: colour })}
    >
      {text}
    </Text>
  )
}

interface InkKey {
  readonly upArrow: boolean
  readonly downArrow: boolean
  readonly tab: boolean
  readonly shift: boolean
  readonly return: boolean
  readonly escape: boolean
  readonly backspace: boolean
  readonly delete: boolean
}

function named(input: string, key: InkKey): KeyPress {
  if (key.upArrow) return { input, name: 'up' }
  if (key.downArrow) return { input, name: 'down' }
  if (key.tab) return { input, name: key.shift ? 'back-tab' : 'tab' }
  if (key.return) return { input, name: 'enter' }
  if (key.escape) return { input, name: 'escape' }
  // Most terminals send DEL for the backspace key.
  return key.backspace || key.delete ? { input, name: 'backspace' } : { input }
}
