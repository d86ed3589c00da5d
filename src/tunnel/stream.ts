import type { OnReadOpts } from 'node:net'
import { Duplex } from 'node:stream'
import { ByteQueue } from './byte-queue.ts'
import type { FrameWriter } from './frames.ts'
import { FRAME, MAX_DATA_BYTES, ProtocolFault, type ResetReason } from './frames.ts'

/** Bytes that a stream buffers beside its window, on either side. */
const BUFFER_BYTES = 65_536
const MAX_CREDIT = 2 ** 31

/** Error codes of a stream that broke off; the first are those of a socket. */
const CODES: Readonly<Record<ResetReason, string>> = {
  cancelled: 'ECONNRESET',
  broken: 'ECONNRESET',
  unreachable: 'ECONNREFUSED',
  unknownEngine: 'ENOENGINE',
  draining: 'ENODEDRAINING',
  tooMany: 'ENODEFULL',
}

const TEXTS: Readonly<Record<ResetReason, string>> = {
  cancelled: 'the node closed the stream',
  broken: 'the connection to the engine broke off',
  unreachable: 'the engine accepts no connection',
  unknownEngine: 'the node has no engine of this name',
  draining: 'the node takes no new streams',
  tooMany: 'too many streams at a time',
}

/** The other side reset the stream, or the connection of the node ended. */
export class StreamError extends Error {
  override readonly name = 'StreamError'
  readonly code: string
  readonly reason: ResetReason

  constructor(reason: ResetReason, message: string = TEXTS[reason]) {
    super(message)
    this.code = CODES[reason]
    this.reason = reason
  }
}

/** The connection of a stream. */
export interface StreamOwner {
  /** The stream has something to send, and credit for it. */
  requestTurn(stream: TunnelStream): void
  sendCredit(stream: TunnelStream, bytes: number): void
  /** The number of bytes that wait for the reader of a stream has changed. @param bytes Negative: fewer. */
  queued(bytes: number): void
  /** The stream is over. @param reason Absent: both halves are complete. */
  ended(stream: TunnelStream, reason: ResetReason | undefined): void
}

export interface StreamOptions {
  readonly id: number
  readonly owner: StreamOwner
  /** Bytes that may be sent before the first CREDIT. */
  readonly sendWindow: number
  readonly receiveWindow: number
  /**
   * As in `net.Socket`: the callback receives all bytes, and `read()` none. Unlike there, the bytes are not copied into
   * `buffer`: the callback gets the buffer that has them, valid during the call.
   */
  readonly onread?: OnReadOpts | undefined
}

/**
 * One byte stream of a connection, with the part of `net.Socket` that an HTTP client uses.
 *
 *     received ──▶ wanted? ── yes ──▶ reader ──▶ CREDIT for half a window at a time
 *                     └─ no ──▶ queue, at most a window
 *     written ──▶ waits for credit and its turn ──▶ DATA, at most 16 KiB a turn
 */
export class TunnelStream extends Duplex {
  readonly id: number
  /** The next stream in line for a turn. Used by the connection only. */
  nextInLine: TunnelStream | undefined
  isInLine = false
  readonly #owner: StreamOwner
  readonly #onread: OnReadOpts | undefined
  readonly #window: number

  readonly #queue = new ByteQueue()
  /** The reader takes bytes now. */
  #isWanted = false
  /** The reader is being called: it may call back to ask for more. */
  #isPassing = false
  /** Bytes that the other side may still send. */
  #receivable: number
  /** Bytes that the reader has taken, without a CREDIT yet. */
  #uncredited = 0
  #isReceiveEnded = false

  #credit: number
  #pending: Buffer[] = []
  #pendingBytes = 0
  /** Called when all pending bytes have been handed to the connection. */
  #written: ((error?: Error | null) => void) | undefined
  #finished: ((error?: Error | null) => void) | undefined
  #isFinSent = false
  #resetReceived = false

  constructor({ id, owner, sendWindow, receiveWindow, onread }: StreamOptions) {
    super({ allowHalfOpen: true, readableHighWaterMark: BUFFER_BYTES, writableHighWaterMark: BUFFER_BYTES })
    this.id = id
    this.#owner = owner
    this.#credit = sendWindow
    this.#receivable = receiveWindow
    this.#window = receiveWindow
    this.#onread = onread
    // Without a listener an error would end the process; users of the stream also see `close`.
    this.on('error', () => undefined)
  }

  /** Received bytes that wait for the reader. */
  get unread(): number {
    return this.#queue.length
  }

  /**
   * Bytes of a DATA frame.
   *
   * @throws {ProtocolFault} beyond the credit, or after FIN
   */
  receive(piece: Buffer): void {
    if (this.#isReceiveEnded) throw new ProtocolFault('DATA after FIN')
    this.#receivable -= piece.length
    if (this.#receivable < 0) throw new ProtocolFault('DATA beyond the credit')
    // The queue is empty if its reader takes bytes.
    if (this.#isWanted) this.#pass(piece)
    else {
      this.#queue.add(piece)
      this.#owner.queued(piece.length)
    }
  }

  /** @throws {ProtocolFault} for a second one */
  receiveFin(): void {
    if (this.#isReceiveEnded) throw new ProtocolFault('FIN after FIN')
    this.#isReceiveEnded = true
    if (this.#queue.length > 0) return
    this.push(null)
    // As in `net.Socket`: with `onread` nothing else reads the stream, and only a read emits `end`.
    if (this.#onread) this.read(0)
  }

  receiveReset(reason: ResetReason): void {
    this.#resetReceived = true
    this.destroy(new StreamError(reason))
  }

  /** The connection has ended. */
  abandon(error: Error): void {
    this.#resetReceived = true
    this.destroy(error)
  }

  /** @throws {ProtocolFault} for too much credit */
  receiveCredit(bytes: number): void {
    this.#credit += bytes
    if (bytes === 0 || this.#credit > MAX_CREDIT) throw new ProtocolFault('invalid CREDIT')
    if (this.#canSend()) this.#owner.requestTurn(this)
  }

  /** Adds at most one DATA frame, and FIN after the last one. @returns whether there is more to send now. */
  takeTurn(writer: FrameWriter): boolean {
    if (this.destroyed) return false
    const length = Math.min(this.#pendingBytes, this.#credit, MAX_DATA_BYTES)
    if (length > 0) {
      writer.addData(this.id, length, this.#takePending(length))
      this.#credit -= length
    }
    if (this.#pendingBytes === 0) {
      const written = this.#written
      this.#written = undefined
      written?.()
      if (this.#finished) {
        this.#isFinSent = true
        writer.add(FRAME.fin, this.id)
        const finished = this.#finished
        this.#finished = undefined
        finished()
      }
    }
    return this.#canSend()
  }

  // The part of `net.Socket` that HTTP clients and pumps use; timers and keep-alive are those of the connection.
  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  setTimeout(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  override read(size?: number): Buffer | null {
    // As in `net.Socket`: with `onread` no byte arrives in the readable half, so it would never ask for more.
    if (this.#onread && !this.#isWanted) this.#want()
    return super.read(size) as Buffer | null
  }

  override _read(): void {
    this.#want()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#enqueue([chunk], done)
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#enqueue(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#finished = done
    this.#owner.requestTurn(this)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#owner.queued(-this.#queue.length)
    this.#queue.clear()
    this.#pending = []
    this.#pendingBytes = 0
    const isComplete = this.#isFinSent && this.#isReceiveEnded
    const reason = error instanceof StreamError ? error.reason : 'cancelled'
    this.#owner.ended(this, isComplete || this.#resetReceived ? undefined : reason)
    const written = this.#written ?? this.#finished
    this.#written = undefined
    this.#finished = undefined
    written?.(error ?? new StreamError('cancelled'))
    done(error)
  }

  #want(): void {
    this.#isWanted = true
    if (this.#isPassing) return
    while (this.#isWanted && !this.destroyed) {
      const bytes = this.#queue.shift()
      if (!bytes) break
      this.#owner.queued(-bytes.length)
      this.#pass(bytes, true)
    }
    if (this.#isReceiveEnded && this.#queue.length === 0 && !this.readableEnded && !this.destroyed)
      this.push(null)
  }

  /** @param isOwned The bytes stay valid after the call. */
  #pass(bytes: Buffer, isOwned = false): void {
    this.#uncredited += bytes.length
    this.#isPassing = true
    if (!this.#onread) this.#isWanted = this.push(isOwned ? bytes : Buffer.from(bytes))
    else this.#isWanted = this.#onread.callback.call(this, bytes.length, bytes)
    this.#isPassing = false
    if (this.#uncredited < this.#window / 2 || this.#isReceiveEnded || this.destroyed) return
    const bytesTaken = this.#uncredited
    this.#uncredited = 0
    this.#receivable += bytesTaken
    this.#owner.sendCredit(this, bytesTaken)
  }

  #canSend(): boolean {
    return (
      (this.#pendingBytes > 0 && this.#credit > 0) ||
      (this.#finished !== undefined && this.#pendingBytes === 0)
    )
  }

  #enqueue(chunks: Buffer[], done: (error?: Error | null) => void): void {
    for (const chunk of chunks) {
      if (chunk.length === 0) continue
      this.#pending.push(chunk)
      this.#pendingBytes += chunk.length
    }
    if (this.#pendingBytes === 0) return done()
    this.#written = done
    if (this.#credit > 0) this.#owner.requestTurn(this)
  }

  #takePending(length: number): readonly Buffer[] {
    this.#pendingBytes -= length
    const taken: Buffer[] = []
    let left = length
    while (left > 0) {
      const first = this.#pending[0] as Buffer
      if (first.length > left) {
        taken.push(first.subarray(0, left))
        this.#pending[0] = first.subarray(left)
        return taken
      }
      left -= first.length
      taken.push(first)
      this.#pending.shift()
    }
    return taken
  }
}
