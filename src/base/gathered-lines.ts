import type { Clock, Timer } from './clock.ts'

/** Short enough for whoever follows a log by eye. */
const GATHER_MS = 50
/** What a pipe of Linux holds (pipe(7)): more at once would stop the event loop until its reader has caught up. */
const GATHER_CHARS = 65_536

/**
 * Lines that are written together: a system call for each costs more than to make it. What is written last must be
 * followed by {@link flush}; a process that is killed loses what it had gathered.
 */
export class GatheredLines {
  readonly #write: (text: string) => void
  readonly #clock: Clock
  readonly #gatherMs: number
  #text = ''
  #timer: Timer | undefined

  /**
   * @param write Gets whole lines.
   * @param gatherMs for how long lines are gathered at most.
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
