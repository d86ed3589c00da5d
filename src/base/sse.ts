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
  /** Which part it is of an event that was too long to hold, else all of one. */
  readonly part: 'whole' | 'first' | 'next' | 'last'
  /** Of a part: its first data goes on with the line with which the data of the part before has ended. */
  readonly continues: boolean
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
const DATA_FIELD = Buffer.from('data:')
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
  /** That line is a data line. */
  #insideData = false
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
    let continues = this.#insideLine && this.#insideData
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
      if (this.#insideLine) this.#pushRest(data, lineEnd)
      else if (!empty) pushData(data, bytes, lineStart, lineEnd)
      this.#insideLine = false
      at = lineEnd + 1
      if (lineEnd === cr) {
        if (at === bytes.length) this.#afterCr = true
        else if (bytes[at] === LF) at++
      }
      if (!empty) continue
      events.push({ start: eventStart, end: at, data, part: this.#passing ? 'last' : 'whole', continues })
      this.#passing = false
      continues = false
      eventStart = at
      data = []
    }
    const heldBytes = bytes.length - eventStart
    const isTooLong = this.#passing || heldBytes > this.#maxHeldBytes
    const end = isTooLong ? this.#endOfPart(bytes, data, at) : eventStart
    if (isTooLong && end > eventStart) {
      events.push({ start: eventStart, end, data, part: this.#passing ? 'next' : 'first', continues })
      this.#passing = true
    }
    this.#held = end < bytes.length ? bytes.subarray(end) : undefined
    this.#lineStart = isTooLong ? 0 : at - eventStart
    this.#data = isTooLong ? [] : eventStart > 0 ? data.map(offset => offset - eventStart) : data
    return { bytes, events, end }
  }

  /** The stream has ended: gives back what was held of an event that did not. */
  end(): Buffer | undefined {
    const held = this.#held
    this.#held = undefined
    return held
  }

  /** Up to where a part of an event reaches whose last line begins at `lineStart`. */
  #endOfPart(bytes: Buffer, data: number[], lineStart: number): number {
    if (this.#insideLine) this.#pushRest(data, bytes.length)
    else if (lineStart < bytes.length) {
      // Too little of a line to say whether it is a data line is held.
      if (mayBecomeData(bytes, lineStart)) return lineStart
      this.#insideLine = true
      this.#insideData = pushData(data, bytes, lineStart, bytes.length)
    }
    return bytes.length
  }

  /** The line that the part before has begun goes on up to `end`. */
  #pushRest(data: number[], end: number): void {
    if (this.#insideData) data.push(0, end)
  }
}

/** Whether an unfinished line may be a data line and does not say so yet. */
function mayBecomeData(bytes: Buffer, start: number): boolean {
  const length = bytes.length - start
  return length > 0 && length < DATA_FIELD.length && bytes.compare(DATA_FIELD, 0, length, start) === 0
}

function startsWithBom(bytes: Buffer): boolean {
  return bytes.length >= BOM.length && bytes.compare(BOM, 0, BOM.length, 0, BOM.length) === 0
}

/**
 * Notes where the value of a `data:` line stands. One space behind the colon is no part of it; `data` alone is empty.
 *
 * @returns whether it is a data line.
 */
function pushData(data: number[], bytes: Buffer, start: number, end: number): boolean {
  if (end - start < DATA_LENGTH || !isData(bytes, start)) return false
  let from = start + DATA_LENGTH
  if (from < end) {
    if (bytes[from] !== COLON) return false
    from++
    if (from < end && bytes[from] === SPACE) from++
  }
  data.push(from, end)
  return true
}

/** Whether `data` stands there; four comparisons are sooner done than the call of one. */
function isData(bytes: Buffer, at: number): boolean {
  return (
    bytes[at] === 0x64 && bytes[at + 1] === 0x61 && bytes[at + 2] === 0x74 && bytes[at + 3] === 0x61 // data
  )
}
