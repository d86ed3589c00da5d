import type { OnReadOpts, Socket } from 'node:net'
import { asError } from '../base/as-error.ts'
import { ABSENT, type IndexedSetMember } from '../base/indexed-set.ts'
import { drained } from '../http/drained.ts'
import { type ResponseEvents, ResponseParser } from './response-parser.ts'

/** A request as it is sent. */
export interface OutgoingRequest {
  /** The request line, the header lines and the empty line; in latin1. */
  readonly head: string
  /** The body in pieces, or a function that reads it anew. */
  readonly body: readonly Buffer[] | (() => AsyncIterable<Buffer>)
  readonly lengthBytes: number
}

/** Receives what becomes of one request. `onComplete` or `onFailed` is the last call, and there is one of them. */
export interface ResponseHandler extends ResponseEvents {
  /** Sending begins. */
  onDispatched(): void
  /** The whole request has been given to the socket, or to the system. */
  onSent(): void
  /** The first byte of an answer has come. */
  onAnswering(): void
  /** @returns false to read nothing more until {@link UpstreamConnection.resume}. */
  onData(bytes: Buffer): boolean
  onComplete(): void
  onFailed(error: Error): void
}

/** The other side has ended the connection, before the answer was complete. */
export class ConnectionClosed extends Error {
  override readonly name = 'ConnectionClosed'
}

/** Opens the socket of a connection, and calls back once, never before it has returned. */
export type Connect = (done: (error: Error | null, socket: Socket | null) => void) => void

/** As much as a socket of Node reads at once. */
const READ_BYTES = 65_536
/** Up to this size head and body are copied into one write; beyond it a copy costs more than a writev. */
const JOIN_BYTES = 65_536
const kConnection = Symbol('connection')
type ReadSocket = Socket & { [kConnection]?: UpstreamConnection }

/**
 * A connection to an upstream, for one request at a time.
 *
 *     send ──▶ connect ──▶ dispatched ──▶ sent
 *                │  │           │
 *             onFailed          └─▶ first byte ──▶ head ──▶ data … ──▶ complete ──▶ rest ──▶ idle ──▶ send
 *                               │                    │                    │          │        │
 *                            onFailed             onFailed             closed: more bytes, or the end
 *
 * Bytes that come without a request close the connection: they would be taken for the answer to the next one, of another
 * client perhaps. So it rests after an answer until the event loop has read all sockets once more.
 */
export class UpstreamConnection implements IndexedSetMember, ResponseEvents {
  place = ABSENT
  /** It has served a request before: the other side may have closed it unnoticed. */
  reused = false
  /** In its pool, and not in use. */
  isIdle = false
  /** Monotonic time until which it may be reused; set by the pool. */
  expiresMs = 0
  readonly #connect: Connect
  /** The socket reads into the buffer of its pool, and not through its stream. */
  readonly #readsDirectly: boolean
  readonly #parser = new ResponseParser(this)
  /** Undefined before it is connected. */
  #socket: Socket | undefined
  #isConnecting = false
  #isResting = false
  #isClosed = false
  /** Set while a request is in progress. */
  #handler: ResponseHandler | undefined
  /** It waits for the connection, or for its rest to end. */
  #waiting: OutgoingRequest | undefined
  #isSent = false
  #isAnswering = false
  #isPaused = false
  /** More came behind the answer. */
  #hasSurplus = false

  /** @param readsDirectly The sockets have {@link readOptions}. */
  constructor(connect: Connect, readsDirectly: boolean) {
    this.#connect = connect
    this.#readsDirectly = readsDirectly
  }

  /**
   * Connection options: sockets with these read into one buffer, and each passes its bytes to its connection, which costs no
   * stream. Streams of nodes pass bytes of a buffer of their own.
   */
  static readOptions(): OnReadOpts {
    const own = Buffer.allocUnsafeSlow(READ_BYTES)
    return {
      buffer: own,
      callback(this: ReadSocket, length: number, bytes: Uint8Array): boolean {
        const buffer = bytes instanceof Buffer ? bytes : own
        const connection = this[kConnection]
        if (connection)
          return connection.#read(buffer.length === length ? buffer : buffer.subarray(0, length))
        return this.push(Buffer.from(buffer.subarray(0, length)))
      },
    }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The answer permits another request, and everything was sent and read. */
  get isReusable(): boolean {
    return (
      !this.#isClosed &&
      this.#parser.keepAlive &&
      this.#isSent &&
      this.#socket?.writableLength === 0 &&
      !this.#hasSurplus
    )
  }

  /** The time for which the upstream keeps an idle connection, if it says so. */
  get keepAliveMs(): number | undefined {
    return this.#parser.keepAliveMs
  }

  /** Sends a request, once it is connected. The connection must be free. */
  send(request: OutgoingRequest, handler: ResponseHandler): void {
    this.#handler = handler
    if (this.#socket && !this.#isResting) return this.#write(this.#socket, request, handler)
    this.#waiting = request
    if (!this.#socket && !this.#isConnecting) this.#open()
  }

  /** Holds the next request back until {@link endRest}. */
  rest(): void {
    this.#isResting = true
  }

  endRest(): void {
    this.#isResting = false
    this.#writeWaiting()
  }

  /** Continues after the handler took no more data. */
  resume(): void {
    if (!this.#isPaused || this.#isClosed) return
    this.#isPaused = false
    // Before more is read: the stream of a node passes it at once, which may end this request or pause it again.
    const { isComplete } = this.#parser
    if (this.#readsDirectly) this.#socket?.read(0)
    else this.#socket?.resume()
    if (isComplete) this.#complete()
  }

  /** Ends the connection at once. Its handler is not called. */
  destroy(): void {
    this.#isClosed = true
    this.#handler = undefined
    this.#waiting = undefined
    this.#parser.stop()
    this.#socket?.destroy()
  }

  onHead(status: number, headers: readonly string[]): void {
    this.#handler?.onHead(status, headers)
  }

  onData(bytes: Buffer): void {
    if (this.#handler?.onData(bytes) === false) this.#isPaused = true
  }

  #open(): void {
    this.#isConnecting = true
    try {
      this.#connect((error, socket) => this.#connected(error, socket))
    } catch (error) {
      // OpenSSL rejects the certificates. The handler is called later, as for any other failure.
      queueMicrotask(() => this.fail(asError(error)))
    }
  }

  #connected(error: Error | null, socket: Socket | null): void {
    this.#isConnecting = false
    if (!socket) return this.fail(error ?? new ConnectionClosed('no connection'))
    socket.on('error', raised => this.fail(raised))
    if (this.#isClosed) return void socket.destroy()
    if (socket.destroyed) return this.fail(new ConnectionClosed('the connection was closed'))
    this.#socket = socket
    socket.on('end', () => this.#ended())
    socket.on('close', () => this.fail(new ConnectionClosed('the connection was closed')))
    Object.assign(socket, { [kConnection]: this })
    if (this.#readsDirectly) socket.read(0)
    else socket.on('data', (bytes: Buffer) => this.#readStream(bytes))
    this.#writeWaiting()
  }

  #writeWaiting(): void {
    const request = this.#waiting
    const handler = this.#handler
    if (!request || !handler || !this.#socket || this.#isResting) return
    this.#waiting = undefined
    this.#write(this.#socket, request, handler)
  }

  #write(socket: Socket, request: OutgoingRequest, handler: ResponseHandler): void {
    this.#isSent = false
    this.#isAnswering = false
    this.#hasSurplus = false
    this.#parser.begin()
    handler.onDispatched()
    if (this.#handler !== handler) return
    const { head, body, lengthBytes } = request
    if (typeof body === 'function') return this.#writeStream(socket, head, body(), lengthBytes, handler)
    if (head.length + lengthBytes <= JOIN_BYTES) socket.write(joined(head, body, lengthBytes))
    else {
      socket.cork()
      socket.write(head, 'latin1')
      for (const piece of body) socket.write(piece)
      socket.uncork()
    }
    this.#sent(handler)
  }

  #writeStream(
    socket: Socket,
    head: string,
    pieces: AsyncIterable<Buffer>,
    lengthBytes: number,
    handler: ResponseHandler,
  ): void {
    const isOver = () => this.#handler !== handler || socket.destroyed
    const write = async (): Promise<void> => {
      socket.write(head, 'latin1')
      let leftBytes = lengthBytes
      for await (const piece of pieces) {
        leftBytes -= piece.length
        if (leftBytes < 0) break
        if (isOver()) return
        if (!socket.write(piece)) await drained(socket)
        if (isOver()) return
      }
      if (leftBytes !== 0) throw new Error('the body of a request has another length than was announced')
      this.#sent(handler)
    }
    write().catch((error: unknown) => {
      if (!isOver()) this.fail(asError(error))
    })
  }

  #sent(handler: ResponseHandler): void {
    if (this.#handler !== handler) return
    this.#isSent = true
    handler.onSent()
  }

  #readStream(bytes: Buffer): void {
    if (!this.#read(bytes)) this.#socket?.pause()
  }

  /** @param bytes Valid during the call only. @returns false to stop reading. */
  #read(bytes: Buffer): boolean {
    const handler = this.#handler
    if (this.#isClosed) return false
    if (!handler || this.#waiting) {
      this.fail(new ConnectionClosed('the upstream sent something without a request'))
      return false
    }
    if (this.#parser.isComplete) {
      this.#hasSurplus = true
      return false
    }
    if (!this.#isAnswering) {
      this.#isAnswering = true
      handler.onAnswering()
    }
    try {
      const end = this.#parser.push(bytes)
      if (end < bytes.length) this.#hasSurplus = true
    } catch (error) {
      this.fail(asError(error))
      return false
    }
    if (this.#parser.isComplete && !this.#isPaused) this.#complete()
    return !this.#isPaused
  }

  /** Ends the request, after which the pool has the connection. */
  #complete(): void {
    const handler = this.#handler
    this.#handler = undefined
    handler?.onComplete()
  }

  /** The other side sends nothing more. */
  #ended(): void {
    if (!this.#handler || this.#waiting || !this.#parser.end())
      return this.fail(new ConnectionClosed('the upstream closed the connection'))
    // The end of a paused answer waits; nothing can follow it.
    if (this.#isPaused) this.#hasSurplus = true
    else this.#complete()
  }

  /** Ends the connection and its request at once, even if a complete answer waits to be read. */
  abandon(error: Error): void {
    const handler = this.#handler
    this.destroy()
    handler?.onFailed(error)
  }

  /** Ends the connection, and its request. */
  fail(error: Error): void {
    if (this.#isClosed) return
    const handler = this.#handler
    // A complete answer only waits to be read.
    if (handler && this.#isPaused && this.#parser.isComplete) {
      this.#hasSurplus = true
      return
    }
    this.destroy()
    handler?.onFailed(error)
  }
}

function joined(head: string, pieces: readonly Buffer[], lengthBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + lengthBytes)
  let at = bytes.write(head, 'latin1')
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}
