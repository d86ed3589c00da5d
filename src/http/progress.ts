/** Tracks the progress of a transfer: the bytes of a body or an answer. */
export class Progress {
  readonly #startedMs: number
  readonly #startBytes: number
  #bytes: number
  #movedMs: number

  constructor(nowMs: number, bytes: number) {
    this.#startedMs = nowMs
    this.#startBytes = bytes
    this.#bytes = bytes
    this.#movedMs = nowMs
  }

  /** @param bytes The current count, as in the constructor. */
  at(nowMs: number, bytes: number): { bytes: number; idleMs: number; totalMs: number } {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes
      this.#movedMs = nowMs
    }
    return {
      bytes: bytes - this.#startBytes,
      idleMs: nowMs - this.#movedMs,
      totalMs: nowMs - this.#startedMs,
    }
  }
}
