/** The longest text that is written character by character, which is faster than a call of `Buffer.write`. */
const SHORT_TEXT = 48
const BYTE = 0x80

const MAX_AMOUNT = 2n ** 63n - 1n

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Appends values to a buffer, which grows as needed. Its counterpart is `ByteReader`. */
export class ByteWriter {
  #bytes: Buffer
  #view: DataView
  #length = 0

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity)
    this.#view = viewOf(this.#bytes)
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
    // Unlike `Buffer.writeBigInt64LE`, this throws nothing.
    if (value > MAX_AMOUNT) throw new RangeError(`the amount ${value} has more than 64 bits`)
    this.#view.setBigInt64(this.#length, value, true)
    this.#length += 8
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
    this.#view = viewOf(grown)
  }
}

/** How many texts a cache has at most: more than the calls that are open at a time, or the names that are used in a second. */
const CACHED_TEXTS = 8_192
/** Longer texts are decoded each time: comparing them would take as long. */
const MAX_CACHED_BYTES = 256
/** The texts of a gateway differ in their last bytes: numbers of names, random digits of request ids. */
const HASHED_BYTES = 12

interface CachedText {
  readonly bytes: Buffer
  readonly text: string
}

/**
 * Texts by their bytes. Rows name the same keys, models and calls again and again: a text that is found needs no new
 * string, and a `Map` finds it by identity.
 */
export class TextCache {
  readonly #texts: (CachedText | undefined)[] = Array.from({ length: CACHED_TEXTS }, () => undefined)

  textOf(bytes: Buffer, at: number, length: number): string {
    if (length > MAX_CACHED_BYTES) return bytes.toString('utf8', at, at + length)
    const end = at + length
    let hash = length
    for (let from = Math.max(at, end - HASHED_BYTES); from < end; from++)
      hash = (Math.imul(hash, 31) + (bytes[from] as number)) | 0
    const slot = (hash ^ (hash >>> 13)) & (CACHED_TEXTS - 1)
    const cached = this.#texts[slot]
    if (cached && isSame(cached.bytes, bytes, at, length)) return cached.text
    const text = bytes.toString('utf8', at, end)
    this.#texts[slot] = { bytes: Buffer.from(bytes.subarray(at, end)), text }
    return text
  }
}

function isSame(cached: Buffer, bytes: Buffer, at: number, length: number): boolean {
  if (cached.length !== length) return false
  // From the end: texts with the same hash differ there, if anywhere.
  for (let index = length - 1; index >= 0; index--) if (cached[index] !== bytes[at + index]) return false
  return true
}

/** Reads what a `ByteWriter` wrote. @throws {RangeError} if the bytes end too early. */
export class ByteReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #texts: TextCache
  #end: number
  #at: number

  constructor(bytes: Buffer, from: number, end: number, texts: TextCache) {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
    this.#texts = texts
    this.#at = from
    this.#end = end
  }

  /** Goes on with another part of the bytes. */
  seek(from: number, end: number): void {
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
    const first = this.byte()
    if (first < BYTE) return first
    let value = first - BYTE
    let scale = BYTE
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
    return this.#view.getBigInt64(this.#take(8), true)
  }

  text(): string {
    const length = this.count()
    return this.#texts.textOf(this.#bytes, this.#take(length), length)
  }

  #take(count: number): number {
    const at = this.#at
    if (at + count > this.#end) throw new RangeError('the bytes end too early')
    this.#at += count
    return at
  }
}
