const BLOCK_BYTES = 16_384

/**
 * Received bytes that wait for their reader. They are copied into blocks: a view of one byte would keep the whole read
 * alive in which it came, and a million of them would cost a hundred times their bytes.
 */
export class ByteQueue {
  #blocks: Buffer[] = []
  /** Fill of the last block. */
  #fill = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  add(bytes: Buffer): void {
    this.#length += bytes.length
    let at = 0
    while (at < bytes.length) {
      let last = this.#blocks.at(-1)
      if (!last || this.#fill === last.length) {
        // A short answer should not cost a block.
        last = Buffer.allocUnsafeSlow(
          last ? BLOCK_BYTES : Math.max(1_024, Math.min(bytes.length, BLOCK_BYTES)),
        )
        this.#blocks.push(last)
        this.#fill = 0
      }
      const size = bytes.copy(last, this.#fill, at)
      this.#fill += size
      at += size
    }
  }

  /** The oldest block; undefined if the queue is empty. */
  shift(): Buffer | undefined {
    const block = this.#blocks.shift()
    if (!block) return undefined
    const isLast = this.#blocks.length === 0
    const bytes = isLast ? block.subarray(0, this.#fill) : block
    if (isLast) this.#fill = 0
    this.#length -= bytes.length
    return bytes
  }

  clear(): void {
    this.#blocks = []
    this.#fill = 0
    this.#length = 0
  }
}
