/** Bytes that request bodies share: in memory, or in temporary files. */
export class ByteCapacity {
  readonly bytes: number
  #usedBytes = 0

  constructor(bytes: number) {
    this.bytes = bytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** @returns false if there is no room. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.bytes) return false
    this.#usedBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes
  }
}

/** What one body takes of a capacity, while it grows and until it is released. */
export class CapacityShare {
  readonly #capacity: ByteCapacity
  #bytes = 0

  constructor(capacity: ByteCapacity) {
    this.#capacity = capacity
  }

  /** @returns false if there is no room. */
  growTo(bytes: number): boolean {
    if (!this.#capacity.take(bytes - this.#bytes)) return false
    this.#bytes = bytes
    return true
  }

  /** May be called more than once. */
  release(): void {
    this.#capacity.release(this.#bytes)
    this.#bytes = 0
  }
}
