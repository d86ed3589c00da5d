/**
 * Failures since the last success, and whether they have more than one source. One client that sends the same prompt
 * again and again is one source: it may fail because of that prompt.
 */
export class FailureRow {
  #count = 0
  #source: string | undefined
  #isSpread = false

  get count(): number {
    return this.#count
  }

  /** More than one client met them, or no request can have caused them. */
  get isSpread(): boolean {
    return this.#isSpread
  }

  /** @param source Whose request failed; undefined where nothing of a request had been sent. */
  add(source: string | undefined): void {
    this.#count++
    if (source === undefined || (this.#source !== undefined && this.#source !== source)) this.#isSpread = true
    this.#source ??= source
  }

  clear(): void {
    this.#count = 0
    this.#source = undefined
    this.#isSpread = false
  }
}

/** When the last two of all sources were answered, to know whether an endpoint serves others than the one that fails. */
export class RecentSuccesses {
  #source = ''
  #atMs = Number.NEGATIVE_INFINITY
  /** Of the last source that was another one. */
  #otherAtMs = Number.NEGATIVE_INFINITY

  add(source: string, nowMs: number): void {
    if (source !== this.#source) {
      this.#otherAtMs = this.#atMs
      this.#source = source
    }
    this.#atMs = nowMs
  }

  /** When somebody else than `source` was answered last. */
  lastOfOthers(source: string): number {
    return source === this.#source ? this.#otherAtMs : this.#atMs
  }
}
