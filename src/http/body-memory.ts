/** The memory that the large bodies of a process take together: each is at most `limits.body`, but there may be many. */
export class BodyMemory {
  readonly #capacityBytes: number
  #usedBytes = 0

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** @returns false if there is no room. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#capacityBytes) return false
    this.#usedBytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes
  }
}

/** The memory of one body. */
export class HeldBody {
  readonly #memory: BodyMemory
  #bytes = 0

  constructor(memory: BodyMemory) {
    this.#memory = memory
  }

  /** @returns false if there is no room. */
  growTo(bytes: number): boolean {
    if (!this.#memory.take(bytes - this.#bytes)) return false
    this.#bytes = bytes
    return true
  }

  release(): void {
    this.#memory.give(this.#bytes)
    this.#bytes = 0
  }
}
