import type { OnReadOpts } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '../base/clock.ts'
import {
  type ControlMessage,
  controlBytes,
  type Hello,
  readControl,
  readHello,
  TUNNEL_VERSION,
} from './control.ts'
import {
  FRAME,
  FrameReader,
  type FrameSink,
  FrameWriter,
  MAX_NAME_BYTES,
  ProtocolFault,
  RESET,
  type ResetReason,
  resetReason,
} from './frames.ts'
import { StreamError, type StreamOwner, TunnelStream } from './stream.ts'

/** Limit of streams at a time. */
const MAX_STREAMS = 4_096
const WINDOW_BYTES = 1_048_576
/** Unread bytes of all streams; beyond it the stream with most of them is reset. */
const MAX_UNREAD_BYTES = 268_435_456
/** Frames are handed to the carrier in portions of this size, so that a full carrier is noticed. */
const WRITE_BYTES = 65_536
const MAX_STREAM_ID = 0xffff_ffff

/** Time is counted in ticks: a process that was stopped for a minute counts one, and reads what waits for it first. */
const TICK_MS = 2_500
const PING_TICKS = 4
const SILENT_TICKS = 6
const GONE_TICKS = 12
/** Ticks until the other side must have said hello. */
const HELLO_TICKS = 4

/** CONTROL frames of the other side: at first, and for each tick. */
const CONTROL_SAVED = 64
const CONTROL_PER_TICK = 16
/** How long the other side has to read the last frames. */
const FAREWELL_MS = 1_000

export type CloseCode =
  /** The peer ended the connection, or it broke off. */
  | 'lost'
  /** Nothing was received, or nothing could be sent, for 30 seconds. */
  | 'gone'
  /** The peer violated the protocol. */
  | 'protocol'
  /** Closed by this side. */
  | 'closed'

export interface CloseReason {
  readonly code: CloseCode
  readonly message: string
}

/** Receives the events of a connection, none before its constructor has returned, and none after `onClose`. */
export interface ConnectionHandler {
  /** The other side said hello: streams may be opened. */
  onHello(hello: Hello): void
  onControl(message: ControlMessage): void
  /** The gateway opened a stream. Only at a node. */
  onOpen?(stream: TunnelStream, engine: string): void
  /** Nothing was received for 15 seconds, or again something. */
  onSilent?(isSilent: boolean): void
  /** The other side opens and accepts no more streams. */
  onDrain?(graceMs: number): void
  onClose(reason: CloseReason): void
}

export interface ConnectionOptions {
  /** Which side this is: only the gateway opens streams. */
  readonly side: 'gateway' | 'node'
  readonly clock: Clock
  readonly handler: ConnectionHandler
  /** Version of gw. */
  readonly version: string
  readonly features?: readonly string[]
  readonly windowBytes?: number
  readonly maxStreams?: number
  readonly maxUnreadBytes?: number
  /**
   * Lets the carrier read past its stream: calls back with a buffer whose first bytes are valid during the call only.
   *
   * @returns whether it does; bytes of the stream come first.
   */
  readonly takeReads?: (carrier: Duplex, onRead: (bytes: Buffer, length: number) => void) => boolean
}

/**
 * One end of a tunnel over one byte stream, its carrier: a TCP or TLS socket.
 *
 *     carrier ──▶ FrameReader ──▶ hello first ──▶ streams, CONTROL, PING, DRAIN
 *                                   └─ fault ──▶ closed, every stream reset
 *     streams in line ──▶ a turn of 16 KiB each ──▶ FrameWriter ──▶ carrier, while it is not full
 *
 * The frames of one turn of the event loop become one write. Every stream ends: by its user, by the other side, or with
 * the connection.
 */
export class TunnelConnection implements FrameSink, StreamOwner {
  readonly #carrier: Duplex
  readonly #options: ConnectionOptions
  readonly #windowBytes: number
  readonly #maxStreams: number
  readonly #maxUnreadBytes: number
  readonly #reader = new FrameReader(this)
  readonly #writer = new FrameWriter()
  readonly #streams = new Map<number, TunnelStream>()
  /** Received bytes that wait for their readers, of all streams. */
  #unread = 0
  #hello: Hello | undefined
  #lastId = 0
  /** The streams in line for a turn. */
  #first: TunnelStream | undefined
  #last: TunnelStream | undefined
  #planned: NodeJS.Immediate | undefined
  #isFull = false
  #isDraining = false
  #isSilent = false
  /** Answer to the last PING; earlier ones that could not be sent are dropped. */
  #pong: Buffer | undefined
  #ticks: Timer
  #quietTicks = 0
  #fullTicks = 0
  #helloTicks = 0
  #pings = 0
  #controls = CONTROL_SAVED
  #closed: CloseReason | undefined

  /** @param head Bytes of the carrier that were read already. */
  constructor(carrier: Duplex, options: ConnectionOptions, head?: Buffer) {
    this.#carrier = carrier
    this.#options = options
    this.#windowBytes = options.windowBytes ?? WINDOW_BYTES
    this.#maxStreams = options.maxStreams ?? MAX_STREAMS
    this.#maxUnreadBytes = options.maxUnreadBytes ?? MAX_UNREAD_BYTES
    carrier.on('error', error => this.#end('lost', error.message))
    // Sockets of an upgrade are half-open: nothing else notices that the other side has ended.
    carrier.on('end', () => this.#end('lost', 'the other side ended the connection'))
    carrier.on('close', () => this.#end('lost', 'the connection was closed'))
    if (carrier.destroyed) process.nextTick(() => this.#end('lost', 'the connection was closed'))
    carrier.on('drain', () => {
      this.#isFull = false
      this.#fullTicks = 0
      this.#flush()
    })
    this.#ticks = options.clock.after(TICK_MS, () => this.#tick())
    this.sendControl({
      type: 'hello',
      protocol: TUNNEL_VERSION,
      version: options.version,
      features: options.features ?? [],
      window: this.#windowBytes,
    })
    if (head && head.length > 0) carrier.unshift(head)
    carrier.on('data', (bytes: Buffer) => this.#read(bytes, bytes.length))
    options.takeReads?.(carrier, (bytes, length) => this.#read(bytes, length))
  }

  /** Streams at this time. */
  get streams(): number {
    return this.#streams.size
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Nothing was received for 15 seconds: it may be gone. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  /** Either side takes no more streams. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** The other side said hello, and accepts streams. */
  get isOpen(): boolean {
    return this.#hello !== undefined && !this.#closed && !this.#isDraining
  }

  /**
   * Opens a stream to an engine of the node. Bytes can be written at once.
   *
   * @throws {StreamError} if the connection cannot take one
   */
  open(engine: string, onread?: OnReadOpts): TunnelStream {
    const name = Buffer.from(engine)
    if (this.#closed) throw new StreamError('broken', this.#closed.message)
    if (!this.#hello) throw new StreamError('broken', 'the node has not said hello yet')
    if (this.#isDraining) throw new StreamError('draining')
    if (this.#streams.size >= this.#maxStreams || this.#lastId >= MAX_STREAM_ID)
      throw new StreamError('tooMany')
    if (name.length === 0 || name.length > MAX_NAME_BYTES) throw new StreamError('unknownEngine')
    this.#lastId++
    const stream = this.#addStream(this.#lastId, this.#hello, onread)
    this.#writer.add(FRAME.open, stream.id, name)
    this.#plan()
    return stream
  }

  /** @throws {RangeError} if the message is too long */
  sendControl(message: ControlMessage | Hello): void {
    if (this.#closed) return
    this.#writer.add(FRAME.control, 0, controlBytes(message))
    this.#plan()
  }

  /** Asks the other side to open no more streams. Those in flight go on; the caller closes the connection. */
  drain(graceMs: number): void {
    if (this.#closed) return
    this.#isDraining = true
    this.#writer.addNumber(FRAME.drain, 0, Math.min(graceMs, 0xffff_ffff))
    this.#plan()
  }

  /** Resets every stream and ends the connection, after a last message. */
  close(message: string, last?: ControlMessage): void {
    if (last) this.sendControl(last)
    this.#end('closed', message)
  }

  onData(id: number, piece: Buffer, isLast: boolean): void {
    if (isLast) this.#heard()
    this.#expectHello()
    const stream = this.#streams.get(id)
    if (!stream) return this.#checkPast(id)
    stream.receive(piece)
    if (this.#unread > this.#maxUnreadBytes) this.#resetLargest()
  }

  onFrame(type: number, id: number, payload: Buffer): void {
    this.#heard()
    if (type === FRAME.control) return this.#control(payload)
    this.#expectHello()
    switch (type) {
      case FRAME.open:
        return this.#opened(id, payload)
      case FRAME.credit:
        return this.#known(id)?.receiveCredit(payload.readUInt32BE(0))
      case FRAME.fin:
        return this.#known(id)?.receiveFin()
      case FRAME.rst:
        return this.#known(id)?.receiveReset(resetReason(payload.readUInt8(0)))
      case FRAME.ping:
        this.#pong = Buffer.from(payload)
        return this.#plan()
      case FRAME.drain:
        this.#isDraining = true
        return this.#options.handler.onDrain?.(payload.readUInt32BE(0))
      default:
        // PONG: that it was received is enough.
        return undefined
    }
  }

  requestTurn(stream: TunnelStream): void {
    if (this.#closed || stream.isInLine) return
    stream.isInLine = true
    if (this.#last) this.#last.nextInLine = stream
    else this.#first = stream
    this.#last = stream
    this.#plan()
  }

  sendCredit(stream: TunnelStream, bytes: number): void {
    if (this.#closed || !this.#streams.has(stream.id)) return
    this.#writer.addNumber(FRAME.credit, stream.id, bytes)
    this.#plan()
  }

  queued(bytes: number): void {
    this.#unread += bytes
  }

  ended(stream: TunnelStream, reason: ResetReason | undefined): void {
    if (!this.#streams.delete(stream.id) || this.#closed || reason === undefined) return
    this.#writer.addCode(FRAME.rst, stream.id, RESET[reason])
    this.#plan()
  }

  #addStream(id: number, { window }: Hello, onread?: OnReadOpts): TunnelStream {
    const stream = new TunnelStream({
      id,
      owner: this,
      sendWindow: window,
      receiveWindow: this.#windowBytes,
      onread,
    })
    this.#streams.set(id, stream)
    return stream
  }

  #read(bytes: Buffer, length: number): void {
    try {
      this.#reader.read(bytes, length)
    } catch (error) {
      if (!(error instanceof ProtocolFault)) throw error
      this.#end('protocol', error.message)
    }
  }

  /** Only complete frames are a sign of life: bytes may be the drip of a frame that never ends. */
  #heard(): void {
    this.#quietTicks = 0
    if (!this.#isSilent) return
    this.#isSilent = false
    this.#options.handler.onSilent?.(false)
  }

  #control(payload: Buffer): void {
    if (this.#controls === 0) throw new ProtocolFault('too many CONTROL frames')
    this.#controls--
    const message = readControl(payload)
    const { handler } = this.#options
    if (this.#hello) return handler.onControl(message)
    this.#hello = readHello(message)
    handler.onHello(this.#hello)
  }

  #opened(id: number, payload: Buffer): void {
    const { handler } = this.#options
    if (!handler.onOpen || !this.#hello) throw new ProtocolFault('OPEN from a node')
    if (id <= this.#lastId) throw new ProtocolFault('OPEN of an earlier stream')
    this.#lastId = id
    const rejection = this.#isDraining
      ? 'draining'
      : this.#streams.size >= this.#maxStreams
        ? 'tooMany'
        : undefined
    if (!rejection) return handler.onOpen(this.#addStream(id, this.#hello), payload.toString('utf8'))
    this.#writer.addCode(FRAME.rst, id, RESET[rejection])
    this.#plan()
  }

  /** Undefined for a stream that this side has ended: the other side may not know yet. */
  #known(id: number): TunnelStream | undefined {
    const stream = this.#streams.get(id)
    if (!stream) this.#checkPast(id)
    return stream
  }

  #checkPast(id: number): void {
    if (id > this.#lastId) throw new ProtocolFault('a frame of a stream that was never opened')
  }

  #expectHello(): void {
    if (!this.#hello) throw new ProtocolFault('a frame before hello')
  }

  #resetLargest(): void {
    let largest: TunnelStream | undefined
    for (const stream of this.#streams.values())
      if (!largest || stream.unread > largest.unread) largest = stream
    largest?.destroy(new StreamError('cancelled', 'too many unread bytes'))
  }

  #plan(): void {
    if (!this.#planned && !this.#isFull) this.#planned = setImmediate(() => this.#flush())
  }

  #flush(): void {
    if (this.#planned) clearImmediate(this.#planned)
    this.#planned = undefined
    if (this.#closed) return
    do {
      if (this.#pong) this.#writer.add(FRAME.pong, 0, this.#pong)
      this.#pong = undefined
      while (this.#first && this.#writer.bytes < WRITE_BYTES) this.#giveTurn(this.#first)
      this.#write()
    } while (this.#first && !this.#isFull && !this.#closed)
  }

  #giveTurn(stream: TunnelStream): void {
    this.#first = stream.nextInLine
    if (!this.#first) this.#last = undefined
    stream.nextInLine = undefined
    stream.isInLine = false
    if (stream.takeTurn(this.#writer)) this.requestTurn(stream)
  }

  #write(): void {
    const parts = this.#writer.take()
    const carrier = this.#carrier
    if (parts.length > 1) carrier.cork()
    for (const part of parts) carrier.write(part)
    if (parts.length > 1) carrier.uncork()
    this.#isFull = carrier.writableNeedDrain
  }

  #tick(): void {
    if (this.#closed) return
    this.#ticks = this.#options.clock.after(TICK_MS, () => this.#tick())
    this.#controls = Math.min(CONTROL_SAVED, this.#controls + CONTROL_PER_TICK)
    this.#quietTicks++
    if (this.#isFull) this.#fullTicks++
    if (this.#fullTicks >= GONE_TICKS) return this.#end('gone', 'nothing could be sent for 30 seconds')
    if (this.#quietTicks >= GONE_TICKS) return this.#end('gone', 'nothing was received for 30 seconds')
    if (!this.#hello && ++this.#helloTicks >= HELLO_TICKS) return this.#end('protocol', 'no hello')
    if (this.#quietTicks === SILENT_TICKS) {
      this.#isSilent = true
      this.#options.handler.onSilent?.(true)
    }
    if (this.#quietTicks >= PING_TICKS && this.#quietTicks % PING_TICKS === 0) this.#ping()
  }

  #ping(): void {
    const payload = Buffer.alloc(8)
    this.#pings++
    payload.writeUInt32BE(this.#pings % MAX_STREAM_ID, 4)
    this.#writer.add(FRAME.ping, 0, payload)
    this.#plan()
  }

  #end(code: CloseCode, message: string): void {
    if (this.#closed) return
    // Sends the frames that are queued already, such as the reason of the end.
    if (code === 'closed' && !this.#isFull) this.#flush()
    this.#closed = { code, message }
    this.#reader.stop()
    this.#ticks.cancel()
    if (this.#planned) clearImmediate(this.#planned)
    this.#first = undefined
    this.#last = undefined
    const error = new StreamError('broken', message)
    for (const stream of this.#streams.values()) stream.abandon(error)
    this.#streams.clear()
    const carrier = this.#carrier
    if (code === 'closed' || code === 'protocol') {
      carrier.resume()
      carrier.end()
      this.#options.clock.after(FAREWELL_MS, () => carrier.destroy())
    } else carrier.destroy()
    this.#options.handler.onClose(this.#closed)
  }
}
