import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  isSpace,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './grammar.ts'

/** The bytes after a number or a literal inside an object or array. */
const ENDS_PLAIN = new Set([COMMA, CLOSE_OBJECT, CLOSE_ARRAY, 0x20, 0x09, 0x0a, 0x0d])

/** The cursor has used up its steps. */
export class CursorSpent extends Error {
  override readonly name = 'CursorSpent'
}

/**
 * Reads selected parts of one JSON value that is split into pieces at any byte. It builds no tree, joins no pieces, and
 * skips strings at native speed, so that an image of 20 MB costs some hundred calls.
 * Only for texts that {@link JsonScanner} has accepted: it validates nothing. The number of steps bounds the cost of
 * many small values.
 */
export class JsonCursor {
  readonly #pieces: readonly Buffer[]
  #piece: Buffer = EMPTY
  #next = 0
  #at = 0
  #steps: number

  /** @param start Offset of the value, counted over all pieces. */
  constructor(pieces: readonly Buffer[], start: number, steps: number) {
    this.#pieces = pieces
    this.#steps = steps
    this.#nextPiece()
    let left = start
    while (left >= this.#piece.length) {
      left -= this.#piece.length
      this.#nextPiece()
    }
    this.#at = left
  }

  /** The first byte of the next value, without consuming it. @throws {CursorSpent} */
  peek(): number {
    for (;;) {
      this.#pay(1)
      while (this.#at === this.#piece.length) this.#nextPiece()
      const byte = this.#piece[this.#at] as number
      if (!isSpace(byte)) return byte
      this.#at++
    }
  }

  /**
   * Calls `onMember` with the name of each member of the next object; it must read or skip the value. Names are decoded
   * as by {@link text}.
   */
  members(onMember: (name: string) => void): void {
    this.#at++
    while (this.peek() !== CLOSE_OBJECT) {
      const name = this.text()
      this.#pass() // the colon
      onMember(name)
      if (this.peek() === COMMA) this.#at++
    }
    this.#at++
  }

  /** Calls `onItem` before each item of the next array; it must read or skip the item. */
  items(onItem: () => void): void {
    this.#at++
    while (this.peek() !== CLOSE_ARRAY) {
      onItem()
      if (this.peek() === COMMA) this.#at++
    }
    this.#at++
  }

  /** The next string, with its escapes resolved; empty if it is longer than {@link MAX_TEXT_BYTES}. */
  text(): string {
    this.peek()
    const piece = this.#piece
    const from = this.#at + 1
    for (let to = from; to < piece.length && to < from + MAX_TEXT_BYTES; to++) {
      const byte = piece[to] as number
      if (byte === QUOTE) {
        this.#at = to + 1
        return piece.toString('latin1', from, to)
      }
      if (byte === BACKSLASH || byte > 0x7f) break
    }
    return this.#unusualText()
  }

  #unusualText(): string {
    const parts: Buffer[] = []
    const lengthBytes = this.#string(parts)
    if (lengthBytes > MAX_TEXT_BYTES) return ''
    const text = Buffer.concat(parts).toString('latin1')
    if (!ESCAPED_OR_NON_ASCII.test(text)) return text
    return JSON.parse(`"${Buffer.from(text, 'latin1').toString()}"`) as string
  }

  /** Skips the next string. Returns its first bytes, at most {@link MAX_TEXT_BYTES}, and its length. */
  head(): { readonly text: string; readonly lengthBytes: number } {
    const parts: Buffer[] = []
    const lengthBytes = this.#string(parts)
    return { text: Buffer.concat(parts).toString('latin1', 0, MAX_TEXT_BYTES), lengthBytes }
  }

  /** Skips the next value. */
  skip(): void {
    const first = this.peek()
    if (first === QUOTE) {
      this.#string()
      return
    }
    if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return this.#skipPlain()
    let depth = 0
    do {
      const byte = this.peek()
      if (byte === QUOTE) {
        this.#string()
        continue
      }
      this.#at++
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
    } while (depth > 0)
  }

  /** Skips a number or a literal, up to a byte that cannot belong to it. */
  #skipPlain(): void {
    for (;;) {
      const piece = this.#piece
      let at = this.#at
      while (at < piece.length && !ENDS_PLAIN.has(piece[at] as number)) at++
      this.#at = at
      if (at < piece.length) return
      this.#nextPiece()
    }
  }

  #pass(): void {
    this.peek()
    this.#at++
  }

  /**
   * Skips the next string.
   * @param parts Gets the beginning of the string, up to {@link MAX_TEXT_BYTES} + 1 bytes.
   * @returns the number of bytes between the quotes.
   */
  #string(parts?: Buffer[]): number {
    this.peek()
    this.#at++
    let lengthBytes = 0
    /** The previous byte is a backslash that escapes the next one. */
    let escaped = false
    for (;;) {
      const from = this.#at
      const quote = this.#quoteFrom(from)
      const to = quote === -1 ? this.#piece.length : quote
      let slashes = 0
      while (to - slashes > from && this.#piece[to - slashes - 1] === BACKSLASH) slashes++
      this.#pay(1 + slashes)
      const carried: number = escaped && to - slashes === from ? 1 : 0
      escaped = (slashes + carried) % 2 === 1
      if (parts && lengthBytes <= MAX_TEXT_BYTES) {
        const wanted = MAX_TEXT_BYTES + 1 - lengthBytes
        parts.push(
          this.#piece.subarray(from, Math.min(to + (escaped && quote !== -1 ? 1 : 0), from + wanted)),
        )
      }
      lengthBytes += to - from
      if (quote === -1) {
        this.#nextPiece()
        continue
      }
      this.#at = quote + 1
      if (!escaped) return lengthBytes
      lengthBytes++
      escaped = false
    }
  }

  /** The offset of the next quote in this piece, or -1. For short distances a loop is faster than a call. */
  #quoteFrom(from: number): number {
    const piece = this.#piece
    const near = Math.min(from + NEAR_BYTES, piece.length)
    for (let at = from; at < near; at++) if (piece[at] === QUOTE) return at
    return piece.indexOf(QUOTE, near)
  }

  #nextPiece(): void {
    const piece = this.#pieces[this.#next++]
    if (!piece) throw new RangeError('the value is incomplete')
    this.#piece = piece
    this.#at = 0
  }

  #pay(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw new CursorSpent()
  }
}

/** Longer than any relevant name or word. */
const MAX_TEXT_BYTES = 256
const NEAR_BYTES = 48
const EMPTY = Buffer.alloc(0)
const ESCAPED_OR_NON_ASCII = /[\\\x80-\xff]/
