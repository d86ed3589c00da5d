import type { ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { Clock } from '../base/clock.ts'
import { ChunkedBody } from '../http/chunked-body.ts'
import { isEventStream } from '../upstream/answer/choose.ts'
import type { AnswerFilter } from '../upstream/answer/filter.ts'
import type { Answered, BodySink } from '../upstream/types.ts'
import { CLIENT_GONE, ClientGone, type Delivered, type Drain } from './endings.ts'
import { asGwError, errorEvent } from './error-response.ts'
import type { RequestContext } from './request-context.ts'

/** The request whose answer is delivered. */
export interface DeliveryHandler {
  /** Resolves when the first byte may be sent: its hold is durable. Undefined if it may be sent now. */
  durable(): Promise<void> | undefined
  /** Called when the answer is complete, before its last bytes are sent. */
  settle(): Promise<void>
  /** The answer broke off after its head. It ends with an error event or is cut, even if the client does not read it. */
  onBroken(error: unknown): void
  /** The client disconnected. @returns a drain to read on for a while, to learn the usage; else the exchange is aborted. */
  onClientLeft(exchange: Answered): Drain | undefined
  /**
   * The last byte has been written to the socket, or the client has disconnected; in the second case with the upstream's
   * error if the drained answer broke. Either this or `onUndelivered` is called, once, as the last callback.
   */
  onDelivered(delivered: Delivered): void
  /** The upstream broke before a byte of the answer had been sent. */
  onUndelivered(error: unknown): void
}

export interface DeliveryOptions {
  readonly exchange: Answered
  readonly filter: AnswerFilter
  readonly res: ServerResponse
  readonly context: RequestContext
  readonly clock: Clock
  readonly status: number
  /** Names and values alternate. The delivery owns the array. */
  readonly headers: string[]
  readonly handler: DeliveryHandler
}

/** Time for the client to read the buffered end of an answer: at 1 kB/s it is enough, because the buffers are small. */
const MAX_UNREAD_MS = 300_000

/**
 * Streams an answer's body through the filter to the client, with backpressure. The last bytes are sent after `settle`.
 *
 *     piece ──▶ filter ──▶ gather ──▶ write ──▶ … ──▶ last bytes known ──▶ settle ──▶ last bytes, end
 *                                       │                 │
 *                                 full: upstream     upstream broke: a status if nothing went out yet,
 *                                 waits for drain    else an in-band error, else a cut
 *
 * All pieces of one upstream read are written at once, at the end of the tick if they come one by one: a write for each
 * event would double the cost of delivery.
 */
export class Delivery implements BodySink {
  /** Callbacks for the end of a tick. Not closures: an open stream would retain them until it ends. */
  static readonly #AT_TICK_END = {
    showHead: (delivery: Delivery): void => delivery.#showHead(),
    flush: (delivery: Delivery): void => delivery.#flush(),
    sendWhole: (delivery: Delivery, text: string): void => delivery.#sendWhole(text),
  }

  readonly #exchange: Answered
  readonly #filter: AnswerFilter
  readonly #res: ServerResponse
  readonly #context: RequestContext
  readonly #clock: Clock
  readonly #status: number
  readonly #handler: DeliveryHandler
  /** The answer is an event stream: its head is sent before the first event, and an error can be sent as an event. */
  readonly #isStream: boolean
  /** Emptied once the head has been written. */
  #headers: string[]
  /** Set once the head of an answer without `content-length` has been sent. */
  #body: ChunkedBody | undefined
  /** Bytes received in this tick, to be written at its end. */
  #gathered: Buffer[] = []
  /** The client has not read the last write. */
  #isFull = false
  /** Whether the first byte may be sent; `waiting` until its hold is durable. */
  #firstByte: 'unknown' | 'waiting' | 'allowed' = 'unknown'
  #settling = false
  #settled = false
  /** More came behind the last event: nothing is read until the bill is written. */
  #isHeld = false
  #upstreamEnded = false
  /** The answer has ended, in any way: nothing more is written. */
  #over = false
  /** Set while the upstream is still read after the client disconnected. */
  #drain: Drain | undefined
  #failure: unknown
  /** `onDelivered` or `onUndelivered` has been called. */
  #reported = false

  constructor(options: DeliveryOptions) {
    this.#exchange = options.exchange
    this.#filter = options.filter
    this.#res = options.res
    this.#context = options.context
    this.#clock = options.clock
    this.#status = options.status
    this.#handler = options.handler
    this.#isStream = isEventStream(options.filter)
    this.#headers = options.headers
  }

  /**
   * Must be called before the first piece.
   *
   * @param drain Present: the client has disconnected, and the answer is read only for its usage.
   */
  begin(drain?: Drain): void {
    this.#drain = drain
    if (drain) return
    if (this.#res.destroyed) {
      this.#over = true
      this.#exchange.abort(new ClientGone())
      this.#notify(CLIENT_GONE)
    } else if (this.#isStream) process.nextTick(Delivery.#AT_TICK_END.showHead, this)
  }

  /** Sends the head of a stream alone if no event arrived with it. */
  #showHead(): void {
    const isDue = !this.#body && !this.#upstreamEnded && this.#gathered.length === 0
    if (!isDue || this.#over || this.#res.destroyed || !this.#mayBegin()) return
    this.#body = this.#openBody()
    this.#res.flushHeaders()
  }

  onPiece(piece: Buffer): boolean {
    if (this.#over) return true
    let bytes: readonly Buffer[]
    try {
      bytes = this.#filter.push(piece)
    } catch (error) {
      // Leads to `onBreak`.
      this.#exchange.abort(asGwError(error))
      return true
    }
    if (this.#drain) {
      this.#drain.onPiece(piece.length)
      return true
    }
    this.#gather(bytes)
    if (this.#filter.atLast && !this.#settling) void this.#settle()
    else if (this.#settling && !this.#settled) this.#isHeld = true
    return this.#takesMore()
  }

  onRead(bytes: Buffer): boolean {
    const isReady = this.#body && !this.#over && !this.#drain && !this.#isFull && this.#gathered.length === 0
    const repeated = isReady && !this.#res.destroyed ? this.#filter.repeated?.(bytes) : undefined
    if (repeated && this.#body) return this.#awaitDrain(this.#body.writeFrom(repeated))
    this.onPiece(Buffer.from(bytes))
    // There is no more of this read to gather.
    this.#flush()
    return this.#takesMore()
  }

  #takesMore(): boolean {
    // A client that has left reads nothing that it was sent, but the upstream may still be read on.
    const isRead = !this.#over && !this.#drain
    return !isRead || (!this.#isFull && this.#firstByte !== 'waiting' && !this.#isHeld)
  }

  onEnd(): void {
    this.#upstreamEnded = true
    const error = this.#filter.end()
      ? undefined
      : new GwError('upstream_error', 'The answer of the model server ended before it was complete.', {
          reason: 'the answer ended before it was whole',
        })
    if (this.#drain) return this.#endDrain(this.#drain, error)
    if (error) return this.#break(error)
    if (!this.#settling) void this.#settle()
    else if (this.#settled) this.#finish()
  }

  onBreak(error: unknown): void {
    if (this.#drain) return this.#endDrain(this.#drain, this.#filter.atLast ? undefined : error)
    // After the last event the answer is complete: only the end of the transfer failed.
    if (this.#filter.atLast) this.onEnd()
    else this.#break(error)
  }

  /** Never rejects. */
  async #settle(): Promise<void> {
    this.#settling = true
    try {
      await this.#handler.settle()
      this.#afterSettling()
    } catch (error) {
      this.#break(error)
      this.#exchange.abort(new Error('the answer was not settled', { cause: error }))
    }
  }

  #afterSettling(): void {
    this.#settled = true
    if (this.#over || this.#res.destroyed) return
    if (this.#upstreamEnded) return this.#finish()
    this.#gather(this.#filter.takeLast())
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#exchange.resume()
  }

  #break(error: unknown): void {
    if (this.#over || this.#res.destroyed) return
    this.#flush()
    this.#over = true
    if (!this.#body) {
      this.#reported = true
      return this.#handler.onUndelivered(error)
    }
    this.#failure = error
    this.#handler.onBroken(error)
    if (!this.#isStream) return void this.#res.destroy()
    const event = errorEvent(asGwError(error), this.#context, this.#filter.nextSequence)
    this.#body.end([Buffer.from(this.#filter.insideEvent ? `\n\n${event}` : event)])
    this.#awaitReader()
  }

  #finish(): void {
    if (this.#over || this.#res.destroyed) return
    this.#over = true
    this.#gathered.push(...this.#filter.takeLast())
    if (!this.#body) return this.#finishWhole(joined(this.#gathered))
    this.#body.end(this.#gathered)
    this.#awaitReader()
  }

  #finishWhole(whole: Buffer): void {
    this.#headers.push('content-length', String(whole.length))
    this.#writeHead()
    // node:http joins a string with the head in one write; latin1 keeps every byte.
    process.nextTick(Delivery.#AT_TICK_END.sendWhole, this, whole.toString('latin1'))
  }

  /**
   * Sends the answer in one write. Answers of one commit are settled in one tick; their writes are deferred so that they
   * follow each other directly. A reader that goes to sleep between two writes is woken for each, which costs more than
   * the write.
   */
  #sendWhole(text: string): void {
    if (this.#res.destroyed) return
    // `end` alone would append an empty string: a writev of two buffers, which costs a tenth of a small answer.
    this.#res.socket?.cork()
    this.#res.write(text, 'latin1')
    this.#res.socket?.uncork()
    this.#res.end()
    this.#awaitReader()
  }

  /** Limits the time in which the client must read the end of the answer. */
  #awaitReader(): void {
    // Nearly always the kernel has accepted all of it by now.
    if (!this.#res.socket?.writableLength) return
    const timeout = this.#clock.after(MAX_UNREAD_MS, () => this.#res.destroy())
    this.#res.once('close', () => timeout.cancel())
  }

  #gather(bytes: readonly Buffer[]): void {
    if (bytes.length === 0) return
    if (this.#gathered.length === 0) process.nextTick(Delivery.#AT_TICK_END.flush, this)
    for (const each of bytes) this.#gathered.push(each)
  }

  /** Writes the gathered pieces. */
  #flush(): void {
    const gathered = this.#gathered
    if (gathered.length === 0 || this.#over || this.#res.destroyed || !this.#mayBegin()) return
    this.#gathered = []
    this.#body ??= this.#openBody()
    this.#awaitDrain(this.#body.write(gathered))
  }

  /** @returns false as long as the client has not read what was written. */
  #awaitDrain(isDrained: boolean): boolean {
    if (isDrained || this.#isFull) return !this.#isFull
    this.#isFull = true
    this.#res.once('drain', () => {
      this.#isFull = false
      this.#exchange.resume()
    })
    return false
  }

  /** No byte of an answer is sent before its hold is durable (spec/money.md §5). Goes on by itself when it is. */
  #mayBegin(): boolean {
    if (this.#firstByte === 'unknown') {
      const durable = this.#handler.durable()
      this.#firstByte = durable ? 'waiting' : 'allowed'
      durable?.then(
        () => this.#begin(),
        (error: unknown) => this.#break(error),
      )
    }
    return this.#firstByte === 'allowed'
  }

  #begin(): void {
    this.#firstByte = 'allowed'
    if (this.#gathered.length > 0) this.#flush()
    else if (this.#isStream) this.#showHead()
    if (!this.#isFull) this.#exchange.resume()
  }

  #openBody(): ChunkedBody {
    this.#writeHead()
    return new ChunkedBody(this.#res)
  }

  #writeHead(): void {
    this.#context.firstByte()
    this.#res.writeHead(this.#status, this.#headers)
    this.#headers = []
  }

  /** The client's connection has closed. */
  clientLeft(): void {
    if (this.#over) return this.#notify(this.#delivered())
    if (this.#settled) {
      // The last bytes have been written: only the upstream's end was missing.
      this.#exchange.abort(new ClientGone())
      return this.#notify({ outcome: 'answered' })
    }
    const drain = this.#settling ? undefined : this.#handler.onClientLeft(this.#exchange)
    if (!drain) {
      this.#exchange.abort(new ClientGone())
      return this.#notify(CLIENT_GONE)
    }
    this.#drain = drain
    this.#exchange.resume()
  }

  /** @param error Present if the answer is incomplete. */
  #endDrain(drain: Drain, error: unknown): void {
    drain.end()
    this.#drain = undefined
    this.#over = true
    if (error === undefined || error instanceof ClientGone) return this.#notify(CLIENT_GONE)
    if (this.#body) return this.#notify({ ...CLIENT_GONE, error })
    this.#reported = true
    this.#handler.onUndelivered(error)
  }

  #notify(delivered: Delivered): void {
    if (this.#reported) return
    this.#reported = true
    this.#handler.onDelivered(delivered)
  }

  #delivered(): Delivered {
    if (this.#failure !== undefined) return { outcome: 'broken', error: this.#failure }
    return { outcome: this.#res.writableFinished ? 'answered' : 'client_gone' }
  }
}

function joined(bytes: readonly Buffer[]): Buffer {
  const [only] = bytes
  return bytes.length === 1 && only ? only : Buffer.concat(bytes)
}
