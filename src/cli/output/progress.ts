import type { Io } from '../io.ts'

const WIDTH = 80
/** Moves to the first column and erases the line (ECMA-48 §8.3.41, EL 2). */
const OVER = '\r\u001B[2K'

/** A line that is overwritten during the work. */
export interface ProgressLine {
  show(text: string): void
  /** Erases the line, so that the next message begins on an empty line. */
  clear(): void
}

/** Shown only on a terminal. */
export function progressLine({ stderr, environment }: Pick<Io, 'stderr' | 'environment'>): ProgressLine {
  const isShown = stderr.isTTY === true && environment['TERM'] !== 'dumb'
  let shown = ''
  return {
    show(text) {
      if (!isShown || text === shown) return
      shown = text
      // Some terminals report a width of 0.
      stderr.write(OVER + text.slice(0, (stderr.columns || WIDTH) - 1))
    },
    clear() {
      if (shown !== '') stderr.write(OVER)
      shown = ''
    },
  }
}
