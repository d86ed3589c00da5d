/** The longest text that is written character by character, which is faster than a call of `Buffer.write`. */
const SHORT_TEXT = 48
const BYTE = 0x80

/** Appends values to a buffer, which grows as needed. Its counterpart is `ByteReader`. */
export class ByteWriter {
  #bytes: Buffer
  #length = 0

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity)
  }

  get length(): number {
    return this.#length
  }

  /** The written bytes; valid until the next write. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Leaves room for bytes that are written later. */
  skip(count: number): void {
    this.#reserve(count)
    this.#length += count
  }

  /** Forgets the bytes from `length` on. */
  truncate(length: number): void {
    this.#length = length
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** A whole number from 0 to `max`, in groups of seven bits, the lowest first. @throws {RangeError} */
  count(value: number, max = Number.MAX_SAFE_INTEGER): void {
    if (!(value >= 0 && value <= max && Number.isInteger(value)))
      throw new RangeError(`${value} is not a whole number from 0 to ${max}`)
    this.#reserve(8)
    let rest = value
    while (rest >= BYTE) {
      this.#bytes[this.#length++] = (rest % BYTE) | BYTE
      rest = Math.floor(rest / BYTE)
    }
    this.#bytes[this.#length++] = rest
  }

  /** A whole number from 0 to 2⁶³ − 1. @throws {RangeError} */
  amount(value: bigint): void {
    if (value < 0n) throw new RangeError(`the amount ${value} is negative`)
    this.#reserve(8)
    this.#length = this.#bytes.writeBigInt64LE(value, this.#length)
  }

  /** UTF-8, after its length in bytes. */
  text(value: string): void {
    this.#reserve(8 + 3 * value.length)
    if (value.length > SHORT_TEXT || !this.#ascii(value)) {
      const bytes = Buffer.byteLength(value)
      this.count(bytes)
      this.#length += this.#bytes.write(value, this.#length)
    }
  }

  /** @returns false, with nothing written, if the text is not ASCII. */
  #ascii(value: string): boolean {
    const start = this.#length
    const bytes = this.#bytes
    bytes[start] = value.length
    for (let at = 0; at < value.length; at++) {
      const unit = value.charCodeAt(at)
      if (unit >= BYTE) return false
      bytes[start + 1 + at] = unit
    }
    this.#length = start + 1 + value.length
    return true
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

/** Reads what a `ByteWriter` wrote. @throws {RangeError} if the bytes end too early. */
export class ByteReader {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor(bytes: Buffer, from: number, end: number) {
    this.#bytes = bytes
    this.#at = from
    this.#end = end
  }

  get done(): boolean {
    return this.#at >= this.#end
  }

  byte(): number {
    const at = this.#take(1)
    return this.#bytes[at] as number
  }

  count(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.byte()
      value += (byte % BYTE) * scale
      if (byte < BYTE) break
      scale *= BYTE
    }
    if (!Number.isSafeInteger(value)) throw new RangeError('a count of more than 53 bits')
    return value
  }

  amount(): bigint {
    return this.#bytes.readBigInt64LE(this.#take(8))
  }

  text(): string {
    const length = this.count()
    const at = this.#take(length)
    return this.#bytes.toString('utf8', at, at + length)
  }

  #take(count: number): number {
    const at = this.#at
    if (at + count > this.#end) throw new RangeError('the bytes end too early')
    this.#at += count
    return at
  }
}
