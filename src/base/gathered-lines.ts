import type { Clock, Timer } from './clock.ts'

/** Short enough to follow a log live. */
const GATHER_MS = 50
/** The capacity of a pipe in Linux (pipe(7)): a larger write would block the event loop until the reader catches up. */
const GATHER_CHARS = 65_536

/**
 * Writes lines in batches: a system call per line costs more than making the line. Call {@link flush} after the last
 * line; a killed process loses its unwritten lines.
 */
export class GatheredLines {
  readonly #write: (text: string) => void
  readonly #clock: Clock
  readonly #gatherMs: number
  #text = ''
  #timer: Timer | undefined

  /**
   * @param write Gets whole lines.
   * @param gatherMs The maximum delay of a line.
   */
  constructor(write: (text: string) => void, clock: Clock, gatherMs: number = GATHER_MS) {
    this.#write = write
    this.#clock = clock
    this.#gatherMs = gatherMs
  }

  /** @param line With its line break. */
  write(line: string): void {
    this.#text += line
    if (this.#text.length >= GATHER_CHARS) this.flush()
    else this.#timer ??= this.#clock.after(this.#gatherMs, () => this.flush())
  }

  flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const text = this.#text
    this.#text = ''
    if (text !== '') this.#write(text)
  }
}
