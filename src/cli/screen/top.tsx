import type { Readable, Writable } from 'node:stream'
import { render } from 'ink'
import type { LiveStats } from '../../services/live-stats/types.ts'
import { Screen } from './screen.tsx'

/** The second screen of a terminal (DEC private mode 1049): leaving it restores the former content. */
const ENTER = '\u001B[?1049h\u001B[H'
/** Shows the cursor as well, in case it was hidden. */
const LEAVE = '\u001B[?1049l\u001B[?25h'

export interface TopPorts {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly hasColour: boolean
  /** Registers a callback for the exit of the process; returns the function that removes it. */
  readonly onExit: (restore: () => void) => () => void
  readonly signal: AbortSignal
}

/**
 * Shows samples until the user quits or the signal is aborted, and always restores the terminal, also if a sample fails
 * or the process ends.
 *
 * @param samples ends or throws once `quit` is aborted.
 * @throws the error of a failed sample.
 */
export async function showTop(
  samples: (quit: AbortSignal) => AsyncIterable<LiveStats>,
  { stdin, stdout, stderr, hasColour, onExit, signal }: TopPorts,
): Promise<void> {
  const quit = new AbortController()
  const end = () => quit.abort()
  signal.addEventListener('abort', end, { once: true })
  stdout.write(ENTER)
  const removeExitHandler = onExit(() => stdout.write(LEAVE))
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
    removeExitHandler()
    signal.removeEventListener('abort', end)
  }
}
