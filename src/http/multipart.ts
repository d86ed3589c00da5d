import { isAscii, isUtf8 } from 'node:buffer'
import type { Edit } from '../base/splice.ts'
import { type HeadFault, type PartHead, parametersOf, readPartHead } from './multipart-head.ts'

/**
 * A strict scanner of `multipart/form-data` (RFC 7578) over bytes that arrive in pieces, split anywhere.
 *
 *     preamble ─▶ --boundary CRLF ─▶ headers ─▶ content ─▶ CRLF --boundary ─┬─ CRLF ─▶ headers …
 *                                                                           └─ "--" ─▶ end, or CRLF and an epilogue
 *
 * It keeps offsets and the text of a few small fields, never the content of a file, so that one field can be read or
 * replaced while every other byte stays unchanged. It rejects what parsers read differently: an upstream that splits
 * the body in another way than the gateway could read another `model` than the one that is authorised and billed.
 *
 *     const boundary = boundaryOf(req.headers['content-type'])
 *     const scanner = new MultipartScanner(boundary, { model: 'text', prompt: 'length' })
 *     … scanner.push(piece, offset) for each piece, false to stop …
 *     if (!scanner.end()) throw … scanner.fault.message, scanner.fault.field
 *     const model = scanner.field('model')
 *     const edits = scanner.replace(model, Buffer.from('served-model'))
 *     … readEdited(spool, edits), with `content-length: editedLength(spool.lengthBytes, edits)`
 */

/**
 * What the gateway reads of a field: its text, or only where it is. Both may be given once, in exactly this spelling,
 * and not as a file. Names are in lower case.
 */
export type FieldUses = Readonly<Record<string, 'text' | 'length'>>

/** Offsets are in the numbering of the caller. */
export interface MultipartPart {
  readonly name: string
  /** Undefined without one; `filename*` is ignored. */
  readonly filename: string | undefined
  /** At most 256 characters of it. */
  readonly contentType: string | undefined
  /** Offset of the first header line. */
  readonly headStart: number
  /** Offset of the first byte of the content. */
  readonly start: number
  /** Offset after the last byte of the content. */
  readonly end: number
  /** The content of a field that is read as text. */
  readonly text: string | undefined
  /** The value of the part's own `content-length`, which few clients send. */
  readonly lengthAt: { readonly start: number; readonly end: number } | undefined
}

export interface MultipartFault {
  readonly code: FaultCode
  /** For the client. */
  readonly message: string
  /** The field with the fault, of those that the gateway reads. */
  readonly field: string | undefined
}

export type FaultCode =
  | HeadFault
  | 'boundary'
  | 'header_too_large'
  | 'too_many_parts'
  | 'duplicate'
  | 'spelling'
  | 'file'
  | 'too_long'
  | 'not_text'
  | 'content_length'
  | 'unfinished'

/** Limit of a part's header block. */
const MAX_HEAD_BYTES = 8_192
/** Limit of all header blocks together: their names stay in memory. */
const MAX_HEADS_BYTES = 262_144
const MAX_PARTS = 1_000
const MAX_TEXT_BYTES = 8_192

const MESSAGES: Readonly<Record<FaultCode, (field: string | undefined) => string>> = {
  boundary: () => 'The body has the boundary elsewhere than in whole delimiter lines that end with CRLF.',
  header: () => 'The headers of a part are malformed.',
  header_too_large: () =>
    `The headers of a part are over ${MAX_HEAD_BYTES} bytes, or those of all parts over ${MAX_HEADS_BYTES}.`,
  name: () => 'A part has no `content-disposition` with a `name` of 1 to 256 bytes of UTF-8.',
  nested: () => 'A part is multipart itself.',
  encoding: () => 'A part has a transfer encoding or a character set other than UTF-8.',
  too_many_parts: () => `The body has more than ${MAX_PARTS} parts.`,
  duplicate: field => `\`${field}\` is given twice.`,
  spelling: field => `\`${field}\` must be written exactly so.`,
  file: field => `\`${field}\` must be a field without a file name.`,
  too_long: field => `\`${field}\` is longer than ${MAX_TEXT_BYTES} bytes.`,
  not_text: field => `\`${field}\` is not text in UTF-8.`,
  content_length: () => 'The `content-length` of a part is not the length of its content.',
  unfinished: () => 'The body ends before its last boundary.',
}

/**
 * The boundary in a `content-type` header of multipart/form-data: 1 to 70 characters of RFC 2046, without spaces.
 * @returns undefined for another type; also for what parsers read differently: a boundary given twice or continued
 *   (RFC 2231), or a character set other than UTF-8.
 */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const type = /^multipart\/form-data(?=[ \t]*;)/i.exec(contentType ?? '')
  // Some parsers search for this text wherever it stands.
  if (!type || [...type.input.matchAll(/boundary[*\d]*[ \t]*=/gi)].length !== 1) return undefined
  const parameters = parametersOf(type.input.slice(type[0].length).trimEnd())
  const boundary = parameters?.get('boundary') ?? ''
  if (!/^[0-9A-Za-z'()+_,\-./:=?]{1,70}$/.test(boundary)) return undefined
  return /^(?:utf-8|us-ascii)$/i.test(parameters?.get('charset') ?? 'utf-8') ? boundary : undefined
}

const CR = 0x0d
const LF = 0x0a
const DASH = 0x2d
const TAB = 0x09
const SPACE = 0x20
const DELETE = 0x7f

// States of the scanner.
const PREAMBLE = 0
const AFTER_BOUNDARY = 1
const HEAD = 2
const CONTENT = 3
const AFTER_END = 4
const EPILOGUE = 5

/** The part whose content is being scanned. */
interface OpenPart extends PartHead {
  readonly use: 'text' | 'length' | undefined
  readonly headStart: number
  readonly start: number
}

export class MultipartScanner {
  /** The complete parts, in order. */
  readonly parts: MultipartPart[] = []
  /** Set when the body was rejected. */
  fault: MultipartFault | undefined

  readonly #uses: FieldUses
  /** The two dashes and the boundary: they may stand only in delimiter lines. */
  readonly #delimiter: Buffer
  readonly #seen = new Set<string>()
  #state = PREAMBLE
  /** Offset of the first byte of the preamble, header block, content or epilogue; undefined before the first byte. */
  #start: number | undefined
  /** The last bytes of earlier pieces since `#start`, with room for the first bytes of a piece. */
  readonly #tail: Buffer
  #tailBytes = 0
  /** The first of the two bytes after a boundary; undefined before it. */
  #first: number | undefined
  /** How much of CRLF CRLF ends the header block so far. */
  #lineEnd = 0
  #headsBytes = 0
  /** The current header block, or the content of a field that is read as text. */
  readonly #kept: Buffer
  #keptBytes = 0
  #part: OpenPart | undefined

  constructor(boundary: string, uses: FieldUses) {
    this.#uses = uses
    this.#delimiter = Buffer.from(`--${boundary}`, 'latin1')
    const { length } = this.#delimiter
    this.#tail = Buffer.allocUnsafe(2 * length + 2)
    this.#kept = Buffer.allocUnsafe(Math.max(MAX_HEAD_BYTES, MAX_TEXT_BYTES + length + 2))
  }

  /**
   * Scans the next piece. The piece may be overwritten afterwards.
   * @param offset Offset of the piece: that of the last one and its length.
   * @returns false if the body is rejected.
   */
  push(piece: Buffer, offset: number): boolean {
    this.#start ??= offset
    let at = 0
    while (at < piece.length && !this.fault) at = this.#step(piece, at, offset)
    return !this.fault
  }

  /** To be called after the last piece. @returns false if the body is rejected or unfinished. */
  end(): boolean {
    const isDone = this.#state === EPILOGUE || (this.#state === AFTER_END && this.#first === undefined)
    if (!this.fault && !isDone) this.#reject('unfinished')
    return !this.fault
  }

  /** The first part with this name; the only one if the gateway reads the field. */
  field(name: string): MultipartPart | undefined {
    return this.parts.find(part => part.name === name)
  }

  /**
   * The edits that give a part another content, and its own `content-length` if it has one.
   * @returns undefined if the content has the boundary in it.
   */
  replace(part: MultipartPart, content: Buffer): Edit[] | undefined {
    if (content.includes(this.#delimiter)) return undefined
    const edit = { start: part.start, end: part.end, bytes: content }
    return part.lengthAt ? [{ ...part.lengthAt, bytes: Buffer.from(`${content.length}`) }, edit] : [edit]
  }

  /** Scans from `at`, at least one byte. @returns where to go on. */
  #step(piece: Buffer, at: number, offset: number): number {
    if (this.#state === AFTER_BOUNDARY || this.#state === AFTER_END)
      return this.#afterBoundary(piece, at, offset)
    if (this.#state === HEAD) return this.#head(piece, at, offset)
    return this.#search(piece, at, offset)
  }

  /** Reads the two bytes after a boundary, or after the two dashes of the last one. */
  #afterBoundary(piece: Buffer, at: number, offset: number): number {
    const byte = piece[at] as number
    const first = this.#first
    if (first === undefined) {
      const isDash = byte === DASH && this.#state === AFTER_BOUNDARY
      if (byte !== CR && !isDash) this.#reject('boundary')
      this.#first = byte
      return at + 1
    }
    this.#first = undefined
    if (byte !== (first === CR ? LF : DASH)) this.#reject('boundary')
    if (first === DASH) this.#state = AFTER_END
    else if (this.#state === AFTER_END) this.#enter(EPILOGUE, offset + at + 1)
    else if (this.parts.length === MAX_PARTS) this.#reject('too_many_parts')
    else this.#enter(HEAD, offset + at + 1)
    return at + 1
  }

  #enter(state: number, start: number): void {
    this.#state = state
    this.#start = start
    this.#tailBytes = 0
    this.#keptBytes = 0
    // The delimiter line has ended with the first CRLF.
    this.#lineEnd = 2
  }

  /** Reads header lines up to the empty one. */
  #head(piece: Buffer, from: number, offset: number): number {
    let at = from
    while (at < piece.length && this.#lineEnd < 4) {
      if (!this.#isHeadByte(piece[at] as number)) {
        this.#reject('header')
        return at
      }
      at++
    }
    this.#headsBytes += at - from
    if (this.#keptBytes + at - from > MAX_HEAD_BYTES || this.#headsBytes > MAX_HEADS_BYTES) {
      this.#reject('header_too_large')
      return at
    }
    this.#keep(piece, from, at)
    if (this.#lineEnd === 4) this.#openPart(offset + at)
    return at
  }

  /** Checks one byte of a header block: line ends are CRLF, and no line continues the one before it. */
  #isHeadByte(byte: number): boolean {
    const inLineEnd = this.#lineEnd % 2 === 1
    if (byte === (inLineEnd ? LF : CR)) {
      this.#lineEnd++
      return true
    }
    const isFolded = this.#lineEnd === 2 && (byte === SPACE || byte === TAB)
    const isControl = (byte < SPACE && byte !== TAB) || byte === DELETE
    this.#lineEnd = 0
    return !inLineEnd && !isFolded && !isControl
  }

  #openPart(start: number): void {
    const bytes = this.#kept.subarray(0, this.#keptBytes)
    if (bytes.includes(this.#delimiter)) return this.#reject('boundary')
    const head = readPartHead(bytes)
    if (typeof head === 'string') return this.#reject(head)
    const use = this.#useOf(head)
    if (this.fault) return
    if (use) {
      if (this.#seen.has(head.name)) return this.#reject('duplicate', head.name)
      if (head.isFile) return this.#reject('file', head.name)
      this.#seen.add(head.name)
    }
    this.#part = { ...head, use, headStart: this.#start as number, start }
    this.#enter(CONTENT, start)
  }

  /** Rejects a name that an upstream could take for a field that the gateway reads. */
  #useOf({ name, readings }: PartHead): 'text' | 'length' | undefined {
    const hasEscapes = readings.length > 1
    if (!hasEscapes && Object.hasOwn(this.#uses, name)) return this.#uses[name]
    for (const reading of readings) {
      const folded = folding(reading)
      // The field that sets the character set of all others (RFC 7578 §4.6).
      if (folded === '_charset_') this.#reject('encoding')
      else if (Object.hasOwn(this.#uses, folded)) this.#reject('spelling', folded)
    }
    return undefined
  }

  /** Searches the next delimiter line. */
  #search(piece: Buffer, from: number, offset: number): number {
    const found = this.#find(piece, from)
    const isText = this.#state === CONTENT && this.#part?.use === 'text'
    if (isText && !this.#keepText(piece, from, found ?? piece.length)) return piece.length
    if (found === undefined) {
      this.#remember(piece, from)
      return piece.length
    }
    const start = this.#start as number
    const length = offset + found - start
    const followsLine =
      length >= 2 && this.#byte(piece, from, found - 2) === CR && this.#byte(piece, from, found - 1) === LF
    if (this.#state === EPILOGUE || !(followsLine || (this.#state === PREAMBLE && length === 0))) {
      this.#reject('boundary')
    } else if (this.#part) this.#closePart(this.#part, start + length - 2)
    this.#state = AFTER_BOUNDARY
    return found + this.#delimiter.length
  }

  /** Where the next delimiter begins; negative if it began in an earlier piece. */
  #find(piece: Buffer, from: number): number | undefined {
    const { length } = this.#delimiter
    const tailBytes = this.#tailBytes
    if (tailBytes > 0) {
      const copied = piece.copy(this.#tail, tailBytes, from, from + length - 1)
      const found = this.#tail.indexOf(this.#delimiter)
      // Behind the copied bytes are older ones.
      if (found >= 0 && found + length <= tailBytes + copied) return from + found - tailBytes
    }
    if (piece.length - from < length) return undefined
    const found = piece.indexOf(this.#delimiter, from)
    return found < 0 ? undefined : found
  }

  /** The byte at `at` of the piece; before `from` it is one of an earlier piece. */
  #byte(piece: Buffer, from: number, at: number): number | undefined {
    return at < from ? this.#tail[this.#tailBytes + at - from] : piece[at]
  }

  /** Remembers what a delimiter in the next piece can need: its own beginning and the CRLF before it. */
  #remember(piece: Buffer, from: number): void {
    const limit = this.#delimiter.length + 1
    const fresh = Math.min(piece.length - from, limit)
    const old = Math.min(this.#tailBytes, limit - fresh)
    this.#tail.copyWithin(0, this.#tailBytes - old, this.#tailBytes)
    piece.copy(this.#tail, old, piece.length - fresh)
    this.#tailBytes = old + fresh
  }

  /** Keeps a field's text, which may end with a part of the delimiter. @returns false if it is too long. */
  #keepText(piece: Buffer, from: number, to: number): boolean {
    const isShort = this.#keptBytes + Math.max(to - from, 0) <= MAX_TEXT_BYTES + this.#delimiter.length + 1
    if (isShort) this.#keep(piece, from, to)
    else this.#reject('too_long', this.#part?.name)
    return isShort
  }

  #keep(piece: Buffer, from: number, to: number): void {
    if (to > from) this.#keptBytes += piece.copy(this.#kept, this.#keptBytes, from, to)
  }

  #closePart(part: OpenPart, end: number): void {
    const { name, filename, contentType, headStart, start, length } = part
    this.#part = undefined
    const bytes = this.#kept.subarray(0, end - start)
    if (part.use === 'text') {
      if (bytes.length > MAX_TEXT_BYTES) return this.#reject('too_long', name)
      if (!isUtf8(bytes)) return this.#reject('not_text', name)
      if (!isCharsetOf(contentType, bytes)) return this.#reject('encoding', name)
    }
    if (length && length.text !== `${end - start}`) return this.#reject('content_length')
    const lengthStart = headStart + (length?.start ?? 0)
    this.parts.push({
      name,
      filename,
      contentType,
      headStart,
      start,
      end,
      text: part.use === 'text' ? bytes.toString() : undefined,
      lengthAt: length && { start: lengthStart, end: lengthStart + length.text.length },
    })
  }

  #reject(code: FaultCode, field?: string): void {
    this.fault ??= { code, message: MESSAGES[code](field), field }
  }
}

/**
 * The name that lenient upstreams could take it for: some ignore the letter case, some trim, and some take `name[]` for
 * a list in `name`.
 */
function folding(name: string): string {
  return name.normalize('NFKC').toLowerCase().replace(/\[.*$/s, '').trim()
}

/** Whether the text is the same in the part's character set; clients in Java say ISO-8859-1. */
function isCharsetOf(contentType: string | undefined, bytes: Buffer): boolean {
  if (!contentType || !/charset/i.test(contentType)) return true
  const charset = /^[^;]*;[ \t]*charset=("?)(utf-8|us-ascii|iso-8859-1)\1$/i.exec(contentType)?.[2]
  return charset !== undefined && (charset.toLowerCase() === 'utf-8' || isAscii(bytes))
}
