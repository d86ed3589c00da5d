import {
  AFTER_VALUE,
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  ESCAPE,
  FIRST_ITEM,
  FIRST_NAME,
  HEX,
  IN_STRING,
  INTEGER,
  INTEGER_ZERO,
  isDigit,
  isEscape,
  isHex,
  isSpace,
  type JsonKind,
  LITERAL,
  LITERALS,
  MINUS,
  NAME,
  NAME_END,
  NINE,
  NUMBER_MINUS,
  numberState,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  VALUE,
  ZERO,
} from './grammar.ts'
import { USUAL_NAMES } from './names.ts'
import type { StringCounter } from './string-counter.ts'
import { scanString, WINDOW_BYTES } from './string-scan.ts'

/**
 * A strict JSON scanner over bytes that arrive in pieces, split anywhere.
 * It accepts exactly the texts that `JSON.parse` accepts (RFC 8259; UTF-8 is checked separately, see `utf8.ts`), builds
 * no tree, and records the offsets of the root object's members, so that one value can be read or replaced while every
 * other byte stays unchanged. Work and memory per piece are bounded: a body of 30 MB never stalls the event loop at its
 * end.
 */

/** A member of the root object. Offsets are in the numbering of the caller. */
export interface JsonMember {
  /** The name, with its escapes resolved. */
  readonly name: string
  readonly kind: JsonKind
  /** Offset of the first byte of the name's opening quote. */
  readonly nameStart: number
  /** Offset of the first byte of the value. */
  readonly start: number
  /** Offset after the last byte of the value. */
  readonly end: number
  /** The nesting depth of arrays and objects in the value, including itself: 0 for a string or a number. */
  readonly depth: number
}

/** Why the bytes were rejected. */
export type JsonFault = 'syntax' | 'too_deep' | 'too_wide'

/** Shared by all scanners: its state matters only within one call of `push`. */
const LONG_RUN = scanString()
/** The first bytes of a string are scanned byte by byte, which is faster for short strings. */
const NEAR_BYTES = 32
/** `\\uXXXX` */
const UNICODE_ESCAPE_BYTES = 6
const NO_BYTES = Buffer.alloc(0)
const NO_PARTS: Uint8Array[] = []
/** Bounds of a root object, far beyond any sensible request. */
const MAX_MEMBERS = 65_536
const MAX_NAME_BYTES = 65_536
/** Longer names are not counted. */
const MAX_COUNTED_NAME = 256

export class JsonScanner {
  /** The completed members of the root object, in order. */
  members: JsonMember[] = []
  /** The kind of the root value, once its first byte has arrived. */
  rootKind: JsonKind | undefined
  /** Offset of the first byte of the root value, once it has arrived. */
  rootStart = 0
  fault: JsonFault | undefined

  readonly #maxDepth: number
  readonly #counter: StringCounter | undefined
  /** The current name, or that of the current value, is one of the counted names. */
  #isCounted = false
  /** Whether each level is an object: most texts have only a few levels. */
  readonly #levels: boolean[] = [false]
  #depth = 0
  /** The deepest level of the current member so far. */
  #deepest = 0
  #state = VALUE
  /** The current string is the name of a member. */
  #inName = false
  /** The bytes of the current name, before decoding. */
  #nameParts: Uint8Array[] = NO_PARTS
  #nameLength = 0
  #nameEscaped = false
  #nameStart = 0
  #name = ''
  #valueStart = 0
  #stringStart = 0
  #valueKind: JsonKind = 'null'
  #hexLeft = 0
  #hex = 0
  /** How many bytes longer the current string is in JSON than as text. */
  #escapeBytes = 0
  #literal: Uint8Array = NO_BYTES
  #literalAt = 0

  /** @param counter Counts bytes of decoded text in strings below the root's members. */
  constructor(maxDepth = 128, counter?: StringCounter) {
    this.#maxDepth = maxDepth
    this.#counter = counter
  }

  /** The root value is complete: only white space may follow. */
  get done(): boolean {
    if (this.fault || this.#depth > 0 || this.rootKind === undefined) return false
    return this.#state === AFTER_VALUE || this.#state >= INTEGER_ZERO
  }

  /** The name and the first byte of the incomplete member of the root object. */
  get openMember(): { readonly name: string; readonly start: number } | undefined {
    if (this.#depth === 0 || !this.#levels[1]) return undefined
    const atRoot = this.#depth === 1
    const between = this.#inName || this.#state <= AFTER_VALUE
    return atRoot && between ? undefined : { name: this.#name, start: this.#valueStart }
  }

  /** Resets the scanner for another text. */
  reset(): void {
    this.members = []
    this.rootKind = undefined
    this.fault = undefined
    this.#isCounted = false
    this.#counter?.reset()
    this.#depth = 0
    this.#state = VALUE
    this.#inName = false
  }

  /**
   * Scans `bytes` from `from` to `to`; `offset` is the caller's number for the first of them.
   * @returns false if the bytes cannot be JSON; `fault` then has the reason.
   */
  push(bytes: Uint8Array, offset = 0, from = 0, to = bytes.length): boolean {
    if (this.fault) return false
    const shift = offset - from
    let at = from
    /** Start of the current name in this piece. */
    let namePart = from
    /** The range of bytes that is loaded for the vector search. */
    let windowStart = from
    let windowEnd = from
    while (at < to && !this.fault) {
      let byte = bytes[at] as number
      switch (this.#state) {
        case IN_STRING: {
          const near = Math.min(at + NEAR_BYTES, to)
          for (;;) {
            while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE && ++at < near)
              byte = bytes[at] as number
            if (byte !== BACKSLASH || at + 2 >= near || !isEscape(bytes[at + 1] as number)) break
            this.#nameEscaped = true
            this.#escapeBytes++
            at += 2
            byte = bytes[at] as number
          }
          let isFar = at === near
          // The vector search does not report escapes, so the name may contain some.
          if (isFar) this.#nameEscaped = true
          while (isFar && at < to) {
            if (at >= windowEnd) {
              windowStart = at
              windowEnd = Math.min(at + WINDOW_BYTES, to)
              LONG_RUN.load(bytes, windowStart, windowEnd)
            }
            const searchedFrom = at
            at = windowStart + LONG_RUN.end(at - windowStart, windowEnd - windowStart)
            // The search skips escapes of two bytes without reporting them.
            if (this.#isCounted) this.#escapeBytes += escapesIn(bytes, searchedFrom, at)
            if (at === windowEnd) continue
            byte = bytes[at] as number
            // An escape that was split at the end of the window.
            isFar = byte === BACKSLASH && at + 1 < to && isEscape(bytes[at + 1] as number)
            if (!isFar) continue
            this.#escapeBytes++
            at += 2
          }
          if (at === to) break
          if (byte === QUOTE) {
            if (this.#inName) this.#endName(bytes, namePart, at)
            else {
              if (this.#isCounted) this.#counter?.onString(this.#textBytes(at + shift), at + shift)
              this.#endValue(at + 1 + shift)
            }
          } else if (byte === BACKSLASH) {
            this.#state = ESCAPE
            this.#nameEscaped = true
          } else return this.#reject('syntax')
          at++
          break
        }
        case AFTER_VALUE: {
          if (byte === COMMA && this.#depth > 0) this.#state = this.#inObject() ? NAME : VALUE
          else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
            if (!this.#close(byte, at + 1 + shift)) return this.#reject('syntax')
          } else if (!isSpace(byte)) return this.#reject('syntax')
          at++
          break
        }
        case FIRST_NAME:
        case NAME: {
          if (byte === QUOTE) {
            this.#inName = true
            this.#nameEscaped = false
            this.#nameLength = 0
            // Only for members of the root: a name inside a member's value must not change the start of that member.
            if (this.#depth === 1) this.#nameStart = at + shift
            this.#state = IN_STRING
            namePart = at + 1
          } else if (byte === CLOSE_OBJECT && this.#state === FIRST_NAME) this.#close(byte, at + 1 + shift)
          else if (!isSpace(byte)) return this.#reject('syntax')
          at++
          break
        }
        case NAME_END: {
          if (byte === COLON) this.#state = VALUE
          else if (!isSpace(byte)) return this.#reject('syntax')
          at++
          break
        }
        case FIRST_ITEM:
        case VALUE: {
          if (byte === CLOSE_ARRAY && this.#state === FIRST_ITEM) this.#close(byte, at + 1 + shift)
          else if (!isSpace(byte)) {
            this.#begin(byte, at + shift)
            if (this.fault) return false
          }
          at++
          break
        }
        case ESCAPE: {
          if (byte === 0x75) {
            this.#state = HEX
            this.#hexLeft = 4
            this.#hex = 0
          } else if (isEscape(byte)) {
            this.#state = IN_STRING
            this.#escapeBytes++
          } else return this.#reject('syntax')
          at++
          break
        }
        case HEX: {
          if (!isHex(byte)) return this.#reject('syntax')
          this.#hex = this.#hex * 16 + hexValue(byte)
          if (--this.#hexLeft === 0) {
            this.#state = IN_STRING
            this.#escapeBytes += UNICODE_ESCAPE_BYTES - utf8Length(this.#hex)
          }
          at++
          break
        }
        case LITERAL: {
          if (byte !== this.#literal[this.#literalAt]) return this.#reject('syntax')
          at++
          if (++this.#literalAt === this.#literal.length) this.#endValue(at + shift)
          break
        }
        default: {
          const next = numberState(this.#state, byte)
          if (next === undefined) {
            if (this.#state < INTEGER_ZERO) return this.#reject('syntax')
            this.#endValue(at + shift)
          } else {
            this.#state = next
            at++
            // After one digit the state stays the same for further digits.
            if (next > INTEGER_ZERO) while (at < to && isDigit(bytes[at] as number)) at++
          }
        }
      }
    }
    if (this.#inName && (this.#depth === 1 || this.#counter)) this.#keepName(bytes, namePart, to)
    const isOpen = this.#isCounted && this.#state >= IN_STRING && this.#state <= HEX && !this.#inName
    this.#counter?.onOpenString(isOpen ? this.#textBytes(to + shift) : 0)
    return this.fault === undefined
  }

  /** The length of the current string up to `end`, in bytes of the decoded text. */
  #textBytes(end: number): number {
    return end - this.#stringStart - this.#escapeBytes
  }

  #inObject(): boolean {
    return this.#levels[this.#depth] === true
  }

  #begin(byte: number, start: number): void {
    this.#inName = false
    let kind: JsonKind
    if (byte === QUOTE) {
      kind = 'string'
      this.#state = IN_STRING
      this.#stringStart = start + 1
      this.#escapeBytes = 0
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      kind = byte === OPEN_OBJECT ? 'object' : 'array'
      this.#state = byte === OPEN_OBJECT ? FIRST_NAME : FIRST_ITEM
    } else if (byte <= NINE) {
      kind = 'number'
      if (byte === MINUS) this.#state = NUMBER_MINUS
      else if (byte === ZERO) this.#state = INTEGER_ZERO
      else if (byte > ZERO) this.#state = INTEGER
      else return void this.#reject('syntax')
    } else {
      const literal = LITERALS[byte]
      if (!literal) return void this.#reject('syntax')
      kind = literal.kind
      this.#literal = literal.bytes
      this.#literalAt = 1
      this.#state = LITERAL
    }
    if (this.#depth === 0) {
      this.rootKind = kind
      this.rootStart = start
    } else if (this.#depth === 1) {
      this.#valueStart = start
      this.#valueKind = kind
      this.#deepest = 1
    }
    if (kind === 'object' || kind === 'array') {
      if (this.#depth === this.#maxDepth) return void this.#reject('too_deep')
      this.#levels[++this.#depth] = kind === 'object'
      if (this.#depth > this.#deepest) this.#deepest = this.#depth
    }
  }

  #close(byte: number, end: number): boolean {
    if (this.#depth === 0 || this.#inObject() !== (byte === CLOSE_OBJECT)) return false
    this.#depth--
    this.#endValue(end)
    return true
  }

  #endValue(end: number): void {
    this.#state = AFTER_VALUE
    if (this.#depth !== 1 || !this.#inObject()) return
    if (this.members.length === MAX_MEMBERS) return void this.#reject('too_wide')
    this.members.push({
      name: this.#name,
      kind: this.#valueKind,
      nameStart: this.#nameStart,
      start: this.#valueStart,
      end,
      depth: this.#deepest - 1,
    })
  }

  /**
   * Keeps the part of a name in this piece; parts are joined only once, because repeated joins of a long name would
   * cost its square. Below the root's members only counted names matter, and these are short.
   */
  #keepName(bytes: Uint8Array, from: number, to: number): void {
    if (this.#nameLength === 0) this.#nameParts = []
    this.#nameLength += to - from
    if (this.#depth > 1 && this.#nameLength > MAX_COUNTED_NAME) return
    this.#nameParts.push(bytes.subarray(from, to))
    if (this.#nameLength > MAX_NAME_BYTES) this.#reject('too_wide')
  }

  #endName(bytes: Uint8Array, from: number, to: number): void {
    this.#inName = false
    this.#state = NAME_END
    if (this.#depth !== 1) {
      if (this.#counter) this.#isCounted = this.#countsUnder(this.#counter, bytes, from, to)
      return
    }
    this.#isCounted = false
    this.#counter?.onRootName()
    if (this.#nameLength === 0 && !this.#nameEscaped) {
      const name = USUAL_NAMES.find(bytes, from, to)
      if (name !== undefined) {
        this.#name = name
        return
      }
    }
    const text = this.#wholeName(bytes, from, to).toString()
    this.#name = this.#nameEscaped ? (JSON.parse(`"${text}"`) as string) : text
  }

  #countsUnder(counter: StringCounter, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.#nameLength === 0) return counter.onName(bytes, from, to, this.#depth)
    // Only the first parts of a longer name were kept, and they could equal a counted name.
    const isLonger = this.#nameLength + to - from > MAX_COUNTED_NAME
    const name = this.#wholeName(bytes, from, to)
    return counter.onName(name, 0, isLonger ? 0 : name.length, this.#depth)
  }

  #wholeName(bytes: Uint8Array, from: number, to: number): Buffer {
    this.#keepName(bytes, from, to)
    const name = Buffer.concat(this.#nameParts)
    this.#nameParts = NO_PARTS
    this.#nameLength = 0
    return name
  }

  #reject(fault: JsonFault): false {
    this.fault = fault
    return false
  }
}

/** The number of two-byte escapes between two offsets. */
function escapesIn(bytes: Uint8Array, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) {
    if (bytes[at] !== BACKSLASH) continue
    count++
    at++
  }
  return count
}

/** The value of a hexadecimal digit. */
function hexValue(byte: number): number {
  return (byte & 0x0f) + (byte > NINE ? 9 : 0)
}

/** Bytes of UTF-8 for one unit of UTF-16; for a surrogate half the bytes of its pair. */
function utf8Length(unit: number): number {
  if (unit < 0x80) return 1
  const isSurrogate = unit >= 0xd800 && unit <= 0xdfff
  return unit < 0x800 || isSurrogate ? 2 : 3
}
