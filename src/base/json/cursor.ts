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

/** More was to be walked through than was allowed. */
export class CursorSpent extends Error {
  override readonly name = 'CursorSpent'
}

/**
 * Walks through one JSON value that lies in pieces, cut anywhere, and reads what its user asks for. It builds no
 * tree, joins no pieces, and passes over a string at the speed of the machine, so that an image of 20 MB costs some
 * hundred calls.
 *
 * For texts that {@link JsonScanner} has found sound: it checks nothing. What many small values cost is bounded by
 * the number of steps that it is given.
 */
export class JsonCursor {
  readonly #pieces: readonly Buffer[]
  #piece: Buffer = EMPTY
  #next = 0
  #at = 0
  #steps: number

  /** @param start Offset of the value, over all pieces together. */
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

  /** The first byte of the value that comes, which stays where it is. @throws {CursorSpent} */
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
   * Calls `onMember` with the name of each member of the object that comes; it must read or skip the value.
   * Names are given as {@link text} gives them.
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

  /** Calls `onItem` before each item of the array that comes; it must read or skip it. */
  items(onItem: () => void): void {
    this.#at++
    while (this.peek() !== CLOSE_ARRAY) {
      onItem()
      if (this.peek() === COMMA) this.#at++
    }
    this.#at++
  }

  /** The string that comes, with its escapes resolved; `` where it is longer than {@link MAX_TEXT_BYTES}. */
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
    if (!ESCAPED_OR_FOREIGN.test(text)) return text
    return JSON.parse(`"${Buffer.from(text, 'latin1').toString()}"`) as string
  }

  /** Passes over the string that comes. Its first bytes, at most {@link MAX_TEXT_BYTES}, and how many there are. */
  head(): { readonly text: string; readonly lengthBytes: number } {
    const parts: Buffer[] = []
    const lengthBytes = this.#string(parts)
    return { text: Buffer.concat(parts).toString('latin1', 0, MAX_TEXT_BYTES), lengthBytes }
  }

  /** Passes over the value that comes. */
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

  /** A number or a literal: up to what cannot belong to it. */
  #skipPlain(): void {
    for (
      let byte = this.peek();
      byte !== COMMA && byte !== CLOSE_OBJECT && byte !== CLOSE_ARRAY;
      byte = this.peek()
    )
      this.#at++
  }

  #pass(): void {
    this.peek()
    this.#at++
  }

  /**
   * Passes over the string that comes.
   *
   * @param parts Gets its beginning, as far as it may matter.
   * @returns the bytes between its quotes.
   */
  #string(parts?: Buffer[]): number {
    this.peek()
    this.#at++
    let lengthBytes = 0
    /** The byte before the next one is a backslash that escapes it. */
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

  /** Where the next quote stands in this piece, or -1. Near ones are found sooner than a call takes. */
  #quoteFrom(from: number): number {
    const piece = this.#piece
    const near = Math.min(from + NEAR_BYTES, piece.length)
    for (let at = from; at < near; at++) if (piece[at] === QUOTE) return at
    return piece.indexOf(QUOTE, near)
  }

  #nextPiece(): void {
    const piece = this.#pieces[this.#next++]
    if (!piece) throw new RangeError('the value is not whole')
    this.#piece = piece
    this.#at = 0
  }

  #pay(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw new CursorSpent()
  }
}

/** Longer than any name or word that decides something. */
const MAX_TEXT_BYTES = 256
const NEAR_BYTES = 48
const EMPTY = Buffer.alloc(0)
const ESCAPED_OR_FOREIGN = /[\\\x80-\xff]/
