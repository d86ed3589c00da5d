/**
 * Counts failures since the last success, and whether they have several sources. A client that repeats one prompt is one
 * source: the prompt may be the cause.
 */
export class FailureRow {
  #count = 0
  #source: string | undefined
  #isSpread = false

  get count(): number {
    return this.#count
  }

  /** Several clients got failures, or a failure had no request as its cause. */
  get isSpread(): boolean {
    return this.#isSpread
  }

  /** @param source The source of the failed request; undefined if nothing of it was sent. */
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

/** The last success of the two latest sources, to know whether an endpoint serves other sources than a failing one. */
export class RecentSuccesses {
  #source = ''
  #atMs = Number.NEGATIVE_INFINITY
  /** Last success of the previous source. */
  #otherAtMs = Number.NEGATIVE_INFINITY

  add(source: string, nowMs: number): void {
    if (source !== this.#source) {
      this.#otherAtMs = this.#atMs
      this.#source = source
    }
    this.#atMs = nowMs
  }

  /** Time of the last success of another source. */
  lastOfOthers(source: string): number {
    return source === this.#source ? this.#otherAtMs : this.#atMs
  }
}
