/**
 * Splits Server-Sent Events from bytes that arrive in pieces (WHATWG HTML, "Server-sent events"): lines end in LF, CRLF
 * or CR; an event ends with an empty line. Bytes are never decoded or changed here.
 */

/** An event, as offsets into the bytes of its {@link SseRun}. */
export interface SseEvent {
  /** Offset of the first byte, including comments and leading empty lines. */
  readonly start: number
  /** Offset after the empty line that ends it. */
  readonly end: number
  /** The values of its `data:` lines, as pairs of offsets: `[start, end, start, end, …]`. */
  readonly data: readonly number[]
  /** The part of an event that is too long to buffer, or `whole`. */
  readonly part: 'whole' | 'first' | 'next' | 'last'
  /** For a part: its first data continues the last data line of the previous part. */
  readonly continues: boolean
}

/** Bytes that may be forwarded now, with their events. */
export interface SseRun {
  readonly bytes: Buffer
  readonly events: readonly SseEvent[]
  /** Offset after the last byte that may be forwarded; the rest is held until its event ends. */
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
  /** The bytes of an incomplete event. */
  #held: Buffer | undefined
  /** What the held bytes are a part of, if there is room for more behind them. */
  #room: Buffer | undefined
  /** Offset of the first incomplete line in the held bytes. */
  #lineStart = 0
  /** The data lines in the held bytes. */
  #data: number[] = []
  /** The last piece ended in CR: an LF at the start of the next belongs to it. */
  #afterCr = false
  /** In the rest of an event that is too long to hold. */
  #passing = false
  /** The rest begins inside a line, so an empty remainder is not an empty line. */
  #insideLine = false
  /** The interrupted line is a data line. */
  #insideData = false
  /** No line has ended yet: the first may begin with a byte order mark. */
  #fresh = true

  /** @param maxHeldBytes A longer event is forwarded in parts, so that memory stays bounded. */
  constructor(maxHeldBytes: number) {
    this.#maxHeldBytes = maxHeldBytes
  }

  /** A part of an event has been forwarded, but not yet its end. */
  get insideEvent(): boolean {
    return this.#passing
  }

  /** The next byte begins an event, and it is not the first of the stream. */
  get betweenEvents(): boolean {
    return !this.#held && !this.#afterCr && !this.#passing && !this.#fresh
  }

  push(piece: Buffer): SseRun {
    const held = this.#held
    const bytes = held ? this.#append(held, piece) : piece
    const events: SseEvent[] = []
    let data = this.#data
    let eventStart = 0
    let at = this.#lineStart
    let continues = this.#insideLine && this.#insideData
    if (this.#afterCr && at < bytes.length) {
      if (bytes[at] === LF) at++
      this.#afterCr = false
      // The CR ended an event: its LF is not a part of the next one, which may be removed.
      if (!this.#held && !this.#passing) eventStart = at
    }
    // What is held of the first line was searched before.
    let from = held ? Math.max(at, held.length) : at
    let cr = bytes.indexOf(CR, from)
    while (at < bytes.length) {
      if (cr !== -1 && cr < from) cr = bytes.indexOf(CR, from)
      const lf = bytes.indexOf(LF, from)
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
      from = at
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
    if (!this.#held) this.#room = undefined
    this.#lineStart = isTooLong ? 0 : at - eventStart
    this.#data = isTooLong ? [] : eventStart > 0 ? data.map(offset => offset - eventStart) : data
    return { bytes, events, end }
  }

  /** The stream has ended: returns the bytes of an incomplete event. */
  end(): Buffer | undefined {
    const held = this.#held
    this.#held = undefined
    return held
  }

  /**
   * The held bytes and a piece. Where there is room the piece is written behind them, so that a long event in many small pieces is
   * copied a few times, not once for each; bytes that were returned before do not change.
   */
  #append(held: Buffer, piece: Buffer): Buffer {
    const length = held.length + piece.length
    const from = this.#room ? held.byteOffset - this.#room.byteOffset : 0
    if (this.#room && from + length <= this.#room.length) {
      this.#room.set(piece, from + held.length)
      return this.#room.subarray(from, from + length)
    }
    this.#room = Buffer.allocUnsafe(2 * length)
    this.#room.set(held)
    this.#room.set(piece, held.length)
    return this.#room.subarray(0, length)
  }

  /** The end of a part with its last line at `lineStart`. */
  #endOfPart(bytes: Buffer, data: number[], lineStart: number): number {
    if (this.#insideLine) this.#pushRest(data, bytes.length)
    else if (lineStart < bytes.length) {
      // Holds the line while it is too short to decide whether it is a data line.
      if (mayBecomeData(bytes, lineStart)) return lineStart
      this.#insideLine = true
      this.#insideData = pushData(data, bytes, lineStart, bytes.length)
    }
    return bytes.length
  }

  /** The interrupted line of the previous part continues up to `end`. */
  #pushRest(data: number[], end: number): void {
    if (this.#insideData) data.push(0, end)
  }
}

/** Whether an incomplete line may still become a data line. */
function mayBecomeData(bytes: Buffer, start: number): boolean {
  const length = bytes.length - start
  return length > 0 && length < DATA_FIELD.length && bytes.compare(DATA_FIELD, 0, length, start) === 0
}

function startsWithBom(bytes: Buffer): boolean {
  return bytes.length >= BOM.length && bytes.compare(BOM, 0, BOM.length, 0, BOM.length) === 0
}

/**
 * Records the offsets of the value of a `data:` line, without one space after the colon; `data` alone has an empty
 * value.
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

/** Whether the bytes are `data`; four comparisons are faster than one call. */
function isData(bytes: Buffer, at: number): boolean {
  return (
    bytes[at] === 0x64 && bytes[at + 1] === 0x61 && bytes[at + 2] === 0x74 && bytes[at + 3] === 0x61 // data
  )
}
