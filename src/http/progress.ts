/** How something moves that should: bytes of a body, or of an answer. */
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

  /** @param bytes How far it has come, by the same count as at its start. */
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
