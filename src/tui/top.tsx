import type { Readable, Writable } from 'node:stream'
import { render } from 'ink'
import type { LiveStats } from '../app/live-stats/types.ts'
import { Screen } from './screen.tsx'

/** The second screen of a terminal (DEC private mode 1049): what stood before comes back when it is left. */
const ENTER = '\u001B[?1049h\u001B[H'
/** The cursor is shown as well, whatever had hidden it. */
const LEAVE = '\u001B[?1049l\u001B[?25h'

export interface TopPorts {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly hasColour: boolean
  /** Calls back when the process ends by whatever way; gives what takes that back. */
  readonly onExit: (restore: () => void) => () => void
  readonly signal: AbortSignal
}

/**
 * Shows one look after the other until somebody quits or the signal comes, and leaves the terminal as it was: also
 * where a look fails, and where the process ends in between.
 *
 * @param samples ends or throws once `quit` is aborted.
 * @throws what a look has thrown.
 */
export async function showTop(
  samples: (quit: AbortSignal) => AsyncIterable<LiveStats>,
  { stdin, stdout, stderr, hasColour, onExit, signal }: TopPorts,
): Promise<void> {
  const quit = new AbortController()
  const end = () => quit.abort()
  signal.addEventListener('abort', end, { once: true })
  stdout.write(ENTER)
  const forget = onExit(() => stdout.write(LEAVE))
  let instance: ReturnType<typeof render> | undefined
  try {
    for await (const liveStats of samples(quit.signal)) {
      const screen = <Screen liveStats={liveStats} hasColour={hasColour} onQuit={end} />
      if (instance) instance.rerender(screen)
      else {
        instance = render(screen, {
          stdin: stdin as NodeJS.ReadStream,
          stdout: stdout as NodeJS.WriteStream,
          stderr: stderr as NodeJS.WriteStream,
          exitOnCtrlC: false,
          patchConsole: false,
        })
      }
    }
  } finally {
    instance?.unmount()
    stdout.write(LEAVE)
    forget()
    signal.removeEventListener('abort', end)
  }
}
