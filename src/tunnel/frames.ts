/**
 * The frames of `gw-tunnel/1`: `type u8 | length u24 | stream u32 | payload`, numbers in network order.
 *
 *     OPEN     stream, the name of an engine       the gateway opens a stream to an engine of the node
 *     DATA     stream, 1 to 16,384 bytes
 *     CREDIT   stream, u32                         so many more bytes may be sent
 *     FIN      stream                              the sender's half is complete
 *     RST      stream, code u8                     the stream broke off, in both directions
 *     PING     u64                                 answered with PONG and the same payload
 *     PONG     u64
 *     DRAIN    u32                                 open no more streams; those in flight have this many milliseconds
 *     CONTROL  JSON
 *
 * Frames without a stream have stream 0. Types from 0x80 are skipped, so that later versions can add some.
 */
export const FRAME = {
  open: 0x01,
  data: 0x02,
  credit: 0x03,
  fin: 0x04,
  rst: 0x05,
  ping: 0x06,
  pong: 0x07,
  drain: 0x08,
  control: 0x09,
} as const

const HEADER_BYTES = 8
const MAX_LENGTH = 0xff_ffff
export const MAX_DATA_BYTES = 16_384
export const MAX_CONTROL_BYTES = 65_536
/** Length of an engine's name in bytes. */
export const MAX_NAME_BYTES = 64
const FIRST_SKIPPED_TYPE = 0x80

/** Why a stream broke off. */
export const RESET = {
  /** Its user has closed it. */
  cancelled: 0,
  /** The node has no engine of this name. */
  unknownEngine: 1,
  /** The engine accepts no connection. */
  unreachable: 2,
  /** The connection to the engine broke off. */
  broken: 3,
  /** The node takes no new streams. */
  draining: 4,
  /** Too many streams at a time. */
  tooMany: 5,
} as const
export type ResetReason = keyof typeof RESET

/** The reason of a received code; unknown ones count as `broken`. */
export function resetReason(code: number): ResetReason {
  for (const [reason, known] of Object.entries(RESET)) if (known === code) return reason as ResetReason
  return 'broken'
}

/** The peer violates the protocol: the connection must be closed. */
export class ProtocolFault extends Error {
  override readonly name = 'ProtocolFault'
}

export interface FrameSink {
  /** A part of the payload of a DATA frame, in a view that is valid during the call only. @param isLast of its frame */
  onData(stream: number, piece: Buffer, isLast: boolean): void
  /** Any other frame. The payload is valid during the call only. */
  onFrame(type: number, stream: number, payload: Buffer): void
}

interface Shape {
  readonly min: number
  readonly max: number
  readonly hasStream: boolean
}

const SHAPES: ReadonlyMap<number, Shape> = new Map([
  [FRAME.open, { min: 1, max: MAX_NAME_BYTES, hasStream: true }],
  [FRAME.data, { min: 1, max: MAX_DATA_BYTES, hasStream: true }],
  [FRAME.credit, { min: 4, max: 4, hasStream: true }],
  [FRAME.fin, { min: 0, max: 0, hasStream: true }],
  [FRAME.rst, { min: 1, max: 1, hasStream: true }],
  [FRAME.ping, { min: 8, max: 8, hasStream: false }],
  [FRAME.pong, { min: 8, max: 8, hasStream: false }],
  [FRAME.drain, { min: 4, max: 4, hasStream: false }],
  [FRAME.control, { min: 2, max: MAX_CONTROL_BYTES, hasStream: false }],
])

const EMPTY = Buffer.alloc(0)

/**
 * Reads frames from a stream of bytes, however it is cut. DATA passes in the pieces in which it comes; other payloads are
 * complete, and copied only if a cut divides them.
 */
export class FrameReader {
  readonly #sink: FrameSink
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerFill = 0
  #type = 0
  #stream = 0
  /** Bytes of the payload that are still to come. */
  #left = 0
  /** Payload of a divided frame. */
  #payload = EMPTY
  #stopped = false

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** Ignores all further bytes, also those of the current call of {@link read}. */
  stop(): void {
    this.#stopped = true
  }

  /**
   * Reads the first `end` bytes.
   *
   * @throws {ProtocolFault} for an invalid frame; nothing may be read afterwards.
   */
  read(bytes: Buffer, end: number): void {
    let at = 0
    while (at < end && !this.#stopped) {
      if (this.#headerFill === 0 && end - at >= HEADER_BYTES) {
        const after = this.#readWhole(bytes, at, end)
        if (after > at) {
          at = after
          continue
        }
        this.#headerFill = HEADER_BYTES
        this.#begin(bytes, at)
        at += HEADER_BYTES
        if (this.#left === 0) this.#deliver(EMPTY)
        continue
      }
      if (this.#headerFill < HEADER_BYTES) {
        const size = Math.min(HEADER_BYTES - this.#headerFill, end - at)
        bytes.copy(this.#header, this.#headerFill, at, at + size)
        this.#headerFill += size
        at += size
        if (this.#headerFill < HEADER_BYTES) return
        this.#begin(this.#header, 0)
        if (this.#left === 0) this.#deliver(EMPTY)
        continue
      }
      const size = Math.min(this.#left, end - at)
      const piece = bytes.subarray(at, at + size)
      at += size
      this.#take(piece)
    }
  }

  /**
   * Passes a whole DATA frame without a trace in the reader: with thousands of streams each memory access is a slow one.
   *
   * @returns where it ends; `at` if it is another frame, divided, or invalid
   */
  #readWhole(bytes: Buffer, at: number, end: number): number {
    if (bytes[at] !== FRAME.data) return at
    const length = bytes.readUInt32BE(at) & MAX_LENGTH
    const stream = bytes.readUInt32BE(at + 4)
    const from = at + HEADER_BYTES
    if (length === 0 || length > MAX_DATA_BYTES || stream === 0 || from + length > end) return at
    this.#sink.onData(stream, bytes.subarray(from, from + length), true)
    return from + length
  }

  #begin(header: Buffer, at: number): void {
    const type = header.readUInt8(at)
    const length = header.readUInt32BE(at) & MAX_LENGTH
    const stream = header.readUInt32BE(at + 4)
    const shape = SHAPES.get(type)
    if (shape) {
      if (length < shape.min || length > shape.max) throw new ProtocolFault('a frame of invalid length')
      if (shape.hasStream !== stream > 0) throw new ProtocolFault('a frame of an invalid stream')
    } else if (type < FIRST_SKIPPED_TYPE) throw new ProtocolFault('a frame of an unknown type')
    else if (length > MAX_CONTROL_BYTES) throw new ProtocolFault('a frame of invalid length')
    this.#type = type
    this.#stream = stream
    this.#left = length
    this.#payload = EMPTY
  }

  #take(piece: Buffer): void {
    const wanted = this.#left
    this.#left -= piece.length
    if (this.#type === FRAME.data) {
      if (this.#left === 0) this.#headerFill = 0
      return this.#sink.onData(this.#stream, piece, this.#left === 0)
    }
    if (this.#type >= FIRST_SKIPPED_TYPE) {
      if (this.#left === 0) this.#headerFill = 0
      return
    }
    if (this.#left === 0 && this.#payload.length === 0) return this.#deliver(piece)
    if (this.#payload.length === 0) this.#payload = Buffer.allocUnsafe(wanted)
    piece.copy(this.#payload, this.#payload.length - wanted)
    if (this.#left === 0) this.#deliver(this.#payload)
  }

  #deliver(payload: Buffer): void {
    this.#headerFill = 0
    if (this.#type < FIRST_SKIPPED_TYPE) this.#sink.onFrame(this.#type, this.#stream, payload)
  }
}

const SLAB_BYTES = 32_768
/** A longer payload is written from where it is; a shorter one is copied behind its header. */
const MAX_COPIED_BYTES = 4_096

/** Collects frames for one write. */
export class FrameWriter {
  #slab = EMPTY
  /** The part of the slab that holds frames. */
  #from = 0
  #to = 0
  #parts: Buffer[] = []
  #bytes = 0

  /** Collected bytes. */
  get bytes(): number {
    return this.#bytes
  }

  add(type: number, stream: number, payload: Buffer = EMPTY): void {
    this.#header(type, stream, payload.length)
    this.#append(payload)
  }

  addNumber(type: number, stream: number, value: number): void {
    this.#header(type, stream, 4)
    this.#to = this.#slab.writeUInt32BE(value, this.#to)
    this.#bytes += 4
  }

  addCode(type: number, stream: number, code: number): void {
    this.#header(type, stream, 1)
    this.#to = this.#slab.writeUInt8(code, this.#to)
    this.#bytes += 1
  }

  /** A DATA frame of `pieces`, which have `length` bytes in all. They must not change until they are written. */
  addData(stream: number, length: number, pieces: readonly Buffer[]): void {
    this.#header(FRAME.data, stream, length)
    for (const piece of pieces) this.#append(piece)
  }

  /** The collected frames, once. */
  take(): readonly Buffer[] {
    this.#endPart()
    const parts = this.#parts
    this.#parts = []
    this.#bytes = 0
    return parts
  }

  #header(type: number, stream: number, length: number): void {
    this.#reserve(HEADER_BYTES + Math.min(length, MAX_COPIED_BYTES))
    const slab = this.#slab
    const at = slab.writeUInt8(type, this.#to)
    this.#to = slab.writeUInt32BE(stream, slab.writeUIntBE(length, at, 3))
    this.#bytes += HEADER_BYTES
  }

  #append(piece: Buffer): void {
    this.#bytes += piece.length
    if (piece.length > MAX_COPIED_BYTES) {
      this.#endPart()
      this.#parts.push(piece)
      return
    }
    this.#reserve(piece.length)
    this.#to += piece.copy(this.#slab, this.#to)
  }

  #reserve(length: number): void {
    if (this.#slab.length - this.#to >= length) return
    this.#endPart()
    // Never reused: the socket may still have to write it.
    this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
    this.#from = 0
    this.#to = 0
  }

  #endPart(): void {
    if (this.#to > this.#from) this.#parts.push(this.#slab.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
