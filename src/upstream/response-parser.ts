/** Receives an answer. May call {@link ResponseParser.stop}, after which nothing more is reported. */
export interface ResponseEvents {
  /** The head of the answer; interim answers (1xx) are skipped. Names and values alternate, as received. */
  onHead(status: number, headers: readonly string[]): void
  /** All data of the body in one read, without its framing. @param bytes Valid during the call only. */
  onData(bytes: Buffer): void
}

/** What the upstream sent is not a valid answer of HTTP/1.1. The message says which rule it breaks. */
export class InvalidResponse extends Error {
  override readonly name = 'InvalidResponse'
}

/** Limit of a head, of the trailers, and of the extensions of a chunk. */
const MAX_HEAD_BYTES = 32_768
const MAX_LENGTH = Number.MAX_SAFE_INTEGER / 16
const END_OF_HEAD = Buffer.from('\r\n\r\n')
const CRLF_BYTES = 2

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const SEMICOLON = 0x3b
const DELETE = 0x7f

/** RFC 9112 §4: HTTP/1.0 or 1.1, a status and perhaps a reason. */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/
/** RFC 9112 §5: whole lines, no space before the colon, no folded line. */
const FIELD_LINES = /^(?:[!#$%&'*+.^`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/
const LONE_LINE_END = /(?:^|[^\r])\n|\r[^\n]/
const LINE_END = /[\r\n]/
const VERSION = 'HTTP/1.'
const LAST_CODING_IS_CHUNKED = /(?:^|,)[\t ]*chunked$/i

/** The parts of an answer in their order, of a body by its framing. */
type State =
  | 'head'
  | 'length'
  | 'until_end'
  | 'chunk_size'
  | 'chunk_extension'
  | 'chunk_size_lf'
  | 'chunk_data'
  | 'chunk_data_cr'
  | 'chunk_data_lf'
  | 'trailers'
  | 'complete'
  | 'stopped'

/**
 * Parses the answers of one connection, one after the other, as strictly as Node's own parser: RFC 9112, without any
 * leniency about line ends, white space, lengths or chunks.
 *
 *     begin ──▶ head ──▶ (1xx: the next head)
 *                │
 *                ├─ 204, 304 ─────────────────────────────────────────────▶ complete
 *                ├─ content-length ──▶ data ──────────────────────────────▶ complete
 *                ├─ chunked ──▶ size ──▶ data ──▶ … ──▶ size 0 ──▶ trailers ──▶ complete
 *                └─ neither ──▶ data until the end of the connection ─────▶ complete, by `end`
 *
 * The bytes of a read may be changed: the data of its chunks is moved together.
 */
export class ResponseParser {
  /** The connection may serve another request after this answer (RFC 9112 §9.3). */
  keepAlive = false
  /** The `timeout` of the header `keep-alive`. */
  keepAliveMs: number | undefined
  readonly #events: ResponseEvents
  #state: State = 'stopped'
  /** The beginning of a head or of trailers, in latin1. */
  #text = ''
  /** Remaining bytes of the body or of the chunk. */
  #left = 0
  #mustClose = false
  /** Offset in the text of the first line that was incomplete at the last check. */
  #checked = 0
  /** Offset in the text up to which a check has searched. */
  #scanned = 0
  #hasDigit = false
  #extensionBytes = 0
  /** Range of the chunk data in the buffer of this read. */
  #dataStart = 0
  #dataEnd = 0

  constructor(events: ResponseEvents) {
    this.#events = events
  }

  /** Expects the next answer. */
  begin(): void {
    this.#state = 'head'
    this.#text = ''
    this.#checked = 0
    this.#scanned = 0
  }

  /** Reports nothing more. */
  stop(): void {
    this.#state = 'stopped'
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  /**
   * Parses the bytes of one read.
   *
   * @returns how many belong to the answer: the rest came without a request.
   * @throws {InvalidResponse} after everything before the fault was reported.
   */
  push(bytes: Buffer): number {
    let at = 0
    while (this.#state === 'head' && at < bytes.length) at = this.#head(bytes, at)
    if (this.#state === 'length' || this.#state === 'until_end') return this.#plain(bytes, at)
    if (this.#state === 'complete' || this.#state === 'stopped' || at === bytes.length) return at
    return this.#chunks(bytes, at)
  }

  /** The connection has ended. @returns whether that completes the answer. */
  end(): boolean {
    if (this.#state === 'until_end') this.#state = 'complete'
    return this.#state === 'complete'
  }

  #head(bytes: Buffer, from: number): number {
    const next = this.#collect(bytes, from)
    const text = this.#text
    if (next === undefined) {
      this.#checkUnfinished()
      return bytes.length
    }
    this.#text = ''
    this.#checked = 0
    this.#scanned = 0
    this.#read(text)
    return next
  }

  /** Rejects a head that can no longer become valid, so that nothing waits for the rest of it. Each line is checked once. */
  #checkUnfinished(): void {
    const text = this.#text
    const isNew = this.#scanned < VERSION.length
    const fresh = text.slice(Math.max(this.#checked, this.#scanned - 1))
    this.#scanned = text.length
    if (isNew && this.#checked === 0 && !VERSION.startsWith(text.slice(0, VERSION.length)))
      throw new InvalidResponse('the answer is not HTTP')
    if (!LINE_END.test(fresh)) return
    if (LONE_LINE_END.test(fresh)) throw new InvalidResponse('the head is malformed')
    const end = text.lastIndexOf('\r\n') + CRLF_BYTES
    if (end <= this.#checked || end < CRLF_BYTES) return
    const from = this.#checked > 0 ? this.#checked : STATUS_LINE.exec(text)?.[0].length
    if (from === undefined || !FIELD_LINES.test(text.slice(from, end)))
      throw new InvalidResponse('the head is malformed')
    this.#checked = end
  }

  /** Adds to the text of a head or of trailers. @returns where the bytes after its end begin. */
  #collect(bytes: Buffer, from: number): number | undefined {
    const known = this.#text.length
    // Mostly the end is in the same read, and nothing behind it becomes text.
    const found = known === 0 ? bytes.indexOf(END_OF_HEAD, from) : -1
    const text =
      this.#text + bytes.toString('latin1', from, found < 0 ? bytes.length : found + END_OF_HEAD.length)
    const end = text.indexOf('\r\n\r\n', Math.max(0, known - 3))
    if ((end < 0 ? text.length : end) > MAX_HEAD_BYTES) throw new InvalidResponse('the head is too long')
    this.#text = end < 0 ? text : text.slice(0, end + END_OF_HEAD.length)
    return end < 0 ? undefined : from + this.#text.length - known
  }

  #read(text: string): void {
    const start = STATUS_LINE.exec(text)
    if (!start) throw new InvalidResponse('the status line is malformed')
    const fields = text.slice(start[0].length, -CRLF_BYTES)
    if (!FIELD_LINES.test(fields)) throw new InvalidResponse('a header line is malformed')
    const status = Number(start[2])
    if (status === 101) throw new InvalidResponse('the upstream switches protocols')
    if (status < 200) return
    const headers = linesOf(fields)
    this.keepAlive = start[1] === '1'
    this.#frame(status, headers)
    this.#events.onHead(status, headers)
  }

  /** Decides how the body ends (RFC 9112 §6.3). */
  #frame(status: number, headers: readonly string[]): void {
    let length: string | undefined
    let coding: string | undefined
    this.keepAliveMs = undefined
    this.#mustClose = false
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string
      const value = headers[index + 1] as string
      switch (name.length) {
        case 10:
          this.#readConnection(name.toLowerCase(), value)
          break
        case 14:
          if (name.toLowerCase() !== 'content-length') break
          if (length !== undefined) throw new InvalidResponse('content-length is there twice')
          length = value
          break
        case 17:
          if (name.toLowerCase() === 'transfer-encoding')
            coding = coding === undefined ? value : `${coding},${value}`
      }
    }
    if (length !== undefined && !/^\d+$/.test(length))
      throw new InvalidResponse('content-length is no number')
    if (length !== undefined && coding !== undefined)
      throw new InvalidResponse('content-length is there beside transfer-encoding')
    this.#left = length === undefined ? 0 : Number(length)
    if (this.#left > MAX_LENGTH) throw new InvalidResponse('content-length is too large')
    if (status === 204 || status === 304) {
      // A body would be taken for the next answer.
      if (this.#left > 0 || coding !== undefined) this.keepAlive = false
      this.#state = 'complete'
    } else if (coding !== undefined && LAST_CODING_IS_CHUNKED.test(coding)) this.#expectChunk()
    else if (length === undefined) {
      this.keepAlive = false
      this.#state = 'until_end'
    } else this.#state = this.#left > 0 ? 'length' : 'complete'
  }

  #readConnection(name: string, value: string): void {
    if (name === 'connection') {
      if (/(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(value)) this.#mustClose = true
      else if (/(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i.test(value)) this.keepAlive = true
      if (this.#mustClose) this.keepAlive = false
    } else if (name === 'keep-alive') {
      const [, seconds] = /(?:^|[\s,;])timeout=(\d{1,6})/i.exec(value) ?? []
      if (seconds !== undefined) this.keepAliveMs = Number(seconds) * 1_000
    }
  }

  #plain(bytes: Buffer, from: number): number {
    const isOpen = this.#state === 'until_end'
    const end = isOpen ? bytes.length : Math.min(bytes.length, from + this.#left)
    if (end === from) return from
    if (!isOpen) {
      this.#left -= end - from
      if (this.#left === 0) this.#state = 'complete'
    }
    this.#events.onData(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end))
    return end
  }

  #expectChunk(): void {
    this.#state = 'chunk_size'
    this.#left = 0
    this.#hasDigit = false
  }

  #chunks(bytes: Buffer, from: number): number {
    let at = from
    this.#dataStart = 0
    this.#dataEnd = 0
    try {
      while (at < bytes.length && this.#state !== 'complete') {
        if (this.#state === 'chunk_data') at = this.#chunkData(bytes, at)
        else if (this.#state === 'trailers') at = this.#trailers(bytes, at)
        else this.#frameByte(bytes[at++] as number)
      }
    } finally {
      if (this.#dataEnd > this.#dataStart) this.#events.onData(bytes.subarray(this.#dataStart, this.#dataEnd))
    }
    return at
  }

  /** Moves the data behind that of the chunks before it. */
  #chunkData(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#left)
    if (this.#dataEnd === 0) this.#dataStart = from
    else bytes.copyWithin(this.#dataEnd, from, end)
    this.#dataEnd = this.#dataEnd === 0 ? end : this.#dataEnd + end - from
    this.#left -= end - from
    if (this.#left === 0) this.#state = 'chunk_data_cr'
    return end
  }

  /** Reads the trailers, which are not passed on. The text begins with the end of the line before them. */
  #trailers(bytes: Buffer, from: number): number {
    const next = this.#collect(bytes, from)
    if (next === undefined) {
      this.#checkUnfinished()
      return bytes.length
    }
    if (!FIELD_LINES.test(this.#text.slice(CRLF_BYTES, -CRLF_BYTES)))
      throw new InvalidResponse('a trailer line is malformed')
    this.#state = 'complete'
    return next
  }

  /** Reads one byte of the framing of a chunk (RFC 9112 §7.1). */
  #frameByte(byte: number): void {
    const state = this.#state
    if (state === 'chunk_size') this.#sizeByte(byte)
    else if (state === 'chunk_extension') this.#extensionByte(byte)
    else if (state === 'chunk_size_lf') {
      if (byte !== LF) throw new InvalidResponse('the size of a chunk is malformed')
      this.#state = this.#left === 0 ? 'trailers' : 'chunk_data'
      this.#text = '\r\n'
      this.#checked = CRLF_BYTES
      this.#scanned = CRLF_BYTES
    } else if (state === 'chunk_data_cr') {
      if (byte !== CR) throw new InvalidResponse('a chunk is longer than its size')
      this.#state = 'chunk_data_lf'
    } else {
      if (byte !== LF) throw new InvalidResponse('a chunk is longer than its size')
      this.#expectChunk()
    }
  }

  #sizeByte(byte: number): void {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      this.#left = this.#left * 16 + digit
      this.#hasDigit = true
      if (this.#left > MAX_LENGTH) throw new InvalidResponse('a chunk is too large')
      return
    }
    if (!this.#hasDigit || (byte !== CR && byte !== SEMICOLON))
      throw new InvalidResponse('the size of a chunk is malformed')
    this.#extensionBytes = 0
    this.#state = byte === CR ? 'chunk_size_lf' : 'chunk_extension'
  }

  #extensionByte(byte: number): void {
    if (byte === CR) this.#state = 'chunk_size_lf'
    else if ((byte < SPACE && byte !== TAB) || byte === DELETE || ++this.#extensionBytes > MAX_HEAD_BYTES)
      throw new InvalidResponse('the extension of a chunk is malformed')
  }
}

/** Names and values of valid header lines. */
function linesOf(fields: string): string[] {
  const lines: string[] = []
  for (let at = 0; at < fields.length; ) {
    const colon = fields.indexOf(':', at)
    const next = fields.indexOf('\r\n', colon)
    let start = colon + 1
    let end = next
    while (start < end && isBlank(fields.charCodeAt(start))) start++
    while (end > start && isBlank(fields.charCodeAt(end - 1))) end--
    lines.push(fields.slice(at, colon), fields.slice(start, end))
    at = next + CRLF_BYTES
  }
  return lines
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}

/** @returns -1 for any other byte. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
