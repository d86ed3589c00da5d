import type { Io } from './io.ts'

const WIDTH = 80
/** Moves to the first column and erases the line (ECMA-48 §8.3.41, EL 2). */
const OVER = '\r\u001B[2K'

/** A line that is written over as the work goes on. */
export interface ProgressLine {
  show(text: string): void
  /** Takes it away, so that what is said next begins on an empty line. */
  clear(): void
}

/** Talk on a terminal; nothing at all where there is none. */
export function progressLine({ stderr, environment }: Pick<Io, 'stderr' | 'environment'>): ProgressLine {
  const isShown = stderr.isTTY === true && environment['TERM'] !== 'dumb'
  let standing = ''
  return {
    show(text) {
      if (!isShown || text === standing) return
      standing = text
      // Some terminals say that they are 0 wide.
      stderr.write(OVER + text.slice(0, (stderr.columns || WIDTH) - 1))
    },
    clear() {
      if (standing !== '') stderr.write(OVER)
      standing = ''
    },
  }
}
