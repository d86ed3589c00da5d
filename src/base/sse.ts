/**
 * Server-Sent Events cut out of bytes that arrive in pieces (WHATWG HTML, "Server-sent events"): lines end in LF,
 * CRLF or CR; an event ends with an empty line. Bytes are never decoded and never changed here.
 */

/** An event: offsets into the bytes of its {@link SseRun}. */
export interface SseEvent {
  /** Offset of the first byte, comments and leading empty lines included. */
  readonly start: number
  /** Offset behind the empty line that ends it. */
  readonly end: number
  /** The values of its `data:` lines, as pairs of offsets: `[start, end, start, end, …]`. */
  readonly data: readonly number[]
  /** False for the first part of an event that was too long to hold; of the rest nothing is reported. */
  readonly whole: boolean
}

/** Bytes that may be passed on now, and the events in them. */
export interface SseRun {
  readonly bytes: Buffer
  readonly events: readonly SseEvent[]
  /** Offset behind the last byte that may be passed on; what follows is held until its event ends. */
  readonly end: number
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const DATA_LENGTH = 4
const BOM = Buffer.from('\uFEFF')

export class SseSplitter {
  readonly #maxHeldBytes: number
  /** The bytes of an event that has not ended. */
  #held: Buffer | undefined
  /** Offset in the held bytes of the first line that has not ended. */
  #lineStart = 0
  /** The data lines found in the held bytes. */
  #data: number[] = []
  /** The last piece ended in CR: a LF at the start of the next belongs to it. */
  #afterCr = false
  /** In the rest of an event that was too long to hold. */
  #passing = false
  /** That rest begins inside a line, so that an empty remainder of it is no empty line. */
  #insideLine = false
  /** No line has ended yet: a byte order mark may stand before the first. */
  #fresh = true

  /** @param maxHeldBytes An event that is longer is passed on in parts, so that memory stays bounded. */
  constructor(maxHeldBytes: number) {
    this.#maxHeldBytes = maxHeldBytes
  }

  /** A part of an event has been passed on, and not yet its end. */
  get insideEvent(): boolean {
    return this.#passing
  }

  push(piece: Buffer): SseRun {
    const bytes = this.#held ? Buffer.concat([this.#held, piece]) : piece
    const events: SseEvent[] = []
    let data = this.#data
    let eventStart = 0
    let at = this.#lineStart
    if (this.#afterCr && at < bytes.length) {
      if (bytes[at] === LF) at++
      this.#afterCr = false
    }
    let cr = bytes.indexOf(CR, at)
    while (at < bytes.length) {
      if (cr !== -1 && cr < at) cr = bytes.indexOf(CR, at)
      const lf = bytes.indexOf(LF, at)
      const lineEnd = cr !== -1 && (lf === -1 || cr < lf) ? cr : lf
      if (lineEnd === -1) break
      const lineStart = this.#fresh && startsWithBom(bytes) ? BOM.length : at
      this.#fresh = false
      const empty = lineEnd === lineStart && !this.#insideLine
      if (!empty) pushData(data, bytes, lineStart, lineEnd)
      this.#insideLine = false
      at = lineEnd + 1
      if (lineEnd === cr) {
        if (at === bytes.length) this.#afterCr = true
        else if (bytes[at] === LF) at++
      }
      if (!empty) continue
      if (!this.#passing) events.push({ start: eventStart, end: at, data, whole: true })
      this.#passing = false
      eventStart = at
      data = []
    }
    const end = this.#keep(bytes, events, data, eventStart, at)
    return { bytes, events, end }
  }

  /** The stream has ended: gives back what was held of an event that did not. */
  end(): Buffer | undefined {
    const held = this.#held
    this.#held = undefined
    return held
  }

  /** Keeps what follows `eventStart` for the next piece, or lets go of it where that is too much to hold. */
  #keep(bytes: Buffer, events: SseEvent[], data: number[], eventStart: number, lineStart: number): number {
    const heldBytes = bytes.length - eventStart
    if (this.#passing || heldBytes > this.#maxHeldBytes) {
      if (!this.#passing) {
        pushData(data, bytes, lineStart, bytes.length)
        events.push({ start: eventStart, end: bytes.length, data, whole: false })
      }
      this.#passing = true
      this.#insideLine = this.#insideLine || lineStart < bytes.length
      this.#held = undefined
      this.#lineStart = 0
      this.#data = []
      return bytes.length
    }
    this.#held = heldBytes > 0 ? bytes.subarray(eventStart) : undefined
    this.#lineStart = lineStart - eventStart
    this.#data = eventStart > 0 ? data.map(offset => offset - eventStart) : data
    return eventStart
  }
}

function startsWithBom(bytes: Buffer): boolean {
  return bytes.length >= BOM.length && bytes.compare(BOM, 0, BOM.length, 0, BOM.length) === 0
}

/** Notes where the value of a `data:` line stands. One space behind the colon is no part of it; `data` alone is empty. */
function pushData(data: number[], bytes: Buffer, start: number, end: number): void {
  if (end - start < DATA_LENGTH || !isData(bytes, start)) return
  let from = start + DATA_LENGTH
  if (from < end) {
    if (bytes[from] !== COLON) return
    from++
    if (from < end && bytes[from] === SPACE) from++
  }
  data.push(from, end)
}

/** Whether `data` stands there; four comparisons are sooner done than the call of one. */
function isData(bytes: Buffer, at: number): boolean {
  return (
    bytes[at] === 0x64 && bytes[at + 1] === 0x61 && bytes[at + 2] === 0x74 && bytes[at + 3] === 0x61 // data
  )
}
