import { IncomingRecord } from './recorded-request.ts'

const HEAD_END = '\r\n\r\n'

export interface RequestEvents {
  /** The head of a request is complete; its body may still be coming. */
  onHead(request: IncomingRecord): void
  /** Its last byte is here. */
  onEnd(request: IncomingRecord): void
}

/**
 * Cuts the bytes of one connection into requests. Knows `content-length` and `chunked`, and nothing of what a
 * real server would reject: a test must see what was sent, also when it is wrong.
 */
export class RequestReader {
  readonly #connection: number
  readonly #events: RequestEvents
  #buffer: Buffer = Buffer.alloc(0)
  #current: IncomingRecord | undefined
  /** Bytes that are missing of the body, or of the current chunk and the line end behind it. */
  #missing = 0
  #inTrailer = false

  constructor(connection: number, events: RequestEvents) {
    this.#connection = connection
    this.#events = events
  }

  /** The request that is being read. */
  get current(): IncomingRecord | undefined {
    return this.#current
  }

  push(bytes: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? bytes : Buffer.concat([this.#buffer, bytes])
    while (this.#step());
  }

  /** Takes one step; false where it needs more bytes. */
  #step(): boolean {
    const request = this.#current
    if (request === undefined) return this.#readHead()
    if (request.framing !== 'chunked') return this.#readPlain(request)
    return this.#missing > 0 ? this.#readChunk(request) : this.#readChunkLine(request)
  }

  #readHead(): boolean {
    const end = this.#buffer.indexOf(HEAD_END)
    if (end < 0) return false
    const request = new IncomingRecord(this.#take(end + HEAD_END.length), this.#connection)
    this.#current = request
    this.#missing = request.framing === 'length' ? Number(request.header('content-length')) : 0
    this.#inTrailer = false
    this.#events.onHead(request)
    return true
  }

  #readPlain(request: IncomingRecord): boolean {
    if (this.#missing > 0 && this.#buffer.length === 0) return false
    const piece = this.#take(Math.min(this.#missing, this.#buffer.length))
    this.#missing -= piece.length
    request.add(piece)
    if (this.#missing === 0) this.#finish(request)
    return true
  }

  #readChunk(request: IncomingRecord): boolean {
    if (this.#buffer.length === 0) return false
    const piece = this.#take(Math.min(this.#missing, this.#buffer.length))
    this.#missing -= piece.length
    // The last two bytes of what is missing are the line end, which may come torn from its chunk.
    const lineEnd = Math.max(0, 2 - this.#missing)
    request.add(piece.subarray(0, Math.max(0, piece.length - lineEnd)))
    return true
  }

  #readChunkLine(request: IncomingRecord): boolean {
    const end = this.#buffer.indexOf('\r\n')
    if (end < 0) return false
    const line = this.#take(end + 2)
      .toString('latin1')
      .trim()
    if (this.#inTrailer) {
      if (line === '') this.#finish(request)
      return true
    }
    const length = Number.parseInt(line, 16)
    if (length === 0) this.#inTrailer = true
    else this.#missing = length + 2
    return true
  }

  #finish(request: IncomingRecord): void {
    this.#current = undefined
    request.complete()
    this.#events.onEnd(request)
  }

  #take(length: number): Buffer {
    const piece = this.#buffer.subarray(0, length)
    this.#buffer = this.#buffer.subarray(length)
    return piece
  }
}
