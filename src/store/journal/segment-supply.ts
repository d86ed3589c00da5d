import type { JournalFiles } from './files.ts'

/** Room for some 40,000 calls; filled with zeros in a moment. */
export const SEGMENT_BYTES = 16_777_216
/** The first segment of a journal: a gateway with few calls never needs another. */
const FIRST_SEGMENT_BYTES = 1_048_576
/** Free segments that are kept for their next use. */
const MAX_FREE = 2

export interface SegmentSupplyCallbacks {
  readonly onPrepared: () => void
  readonly onError: (error: Error) => void
}

/** Prepares the next segment of a journal while the present one is in use, from segments that are free if there are any. */
export class SegmentSupply {
  readonly #files: JournalFiles
  readonly #bytes: number
  readonly #callbacks: SegmentSupplyCallbacks
  #spare: number | undefined
  #preparing: Promise<void> | undefined
  #lastNumber: number
  readonly #free: number[] = []
  #isClosed = false

  /** The number of the first segment, after those of earlier processes. */
  readonly firstNumber: number

  /** @param bytes The size of a segment. */
  constructor(files: JournalFiles, bytes: number, callbacks: SegmentSupplyCallbacks) {
    this.#files = files
    this.#bytes = bytes
    this.#callbacks = callbacks
    this.#lastNumber = files.list().at(-1) ?? 0
    this.firstNumber = this.#lastNumber + 1
  }

  /** Whether a segment is prepared. */
  get hasSpare(): boolean {
    return this.#spare !== undefined
  }

  /** @throws {NodeJS.ErrnoException} if the folder cannot be written. */
  async prepareFirst(): Promise<void> {
    await this.#files.prepare(this.firstNumber, Math.min(this.#bytes, FIRST_SEGMENT_BYTES))
    this.#lastNumber = this.firstNumber
    this.#spare = this.firstNumber
  }

  /** Prepares a segment in the background, unless there is one. */
  prepare(): void {
    if (this.#spare !== undefined || this.#preparing || this.#isClosed) return
    const number = ++this.#lastNumber
    const free = this.#free.shift()
    const prepared =
      free === undefined ? this.#files.prepare(number, this.#bytes) : this.#files.recycle(free, number)
    this.#preparing = prepared.then(
      () => this.#onPrepared(number),
      (error: Error) => this.#onUnprepared(error),
    )
  }

  /** @returns the number of the prepared segment, which is in use from now on; undefined if there is none. */
  take(): number | undefined {
    const number = this.#spare
    this.#spare = undefined
    return number
  }

  /** These segments are needed no more. */
  release(numbers: readonly number[]): void {
    for (const number of numbers) {
      if (this.#free.includes(number)) continue
      if (this.#free.length < MAX_FREE) this.#free.push(number)
      // If it stays, it is released again after the next start.
      else this.#files.remove(number).catch(() => undefined)
    }
  }

  /** Prepares nothing more. Resolves when nothing is being prepared. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#preparing
  }

  async removeAll(): Promise<void> {
    // In order: what is left after an interruption is the end of the journal, without a gap. The next start removes it.
    for (const number of this.#files.list()) await this.#files.remove(number).catch(() => undefined)
  }

  #onPrepared(number: number): void {
    this.#preparing = undefined
    this.#spare = number
    this.#callbacks.onPrepared()
  }

  #onUnprepared(error: Error): void {
    this.#preparing = undefined
    this.#callbacks.onError(error)
  }
}
