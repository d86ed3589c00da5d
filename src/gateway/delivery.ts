import type { ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { Clock } from '../base/clock.ts'
import { ChunkedBody } from '../http/chunked-body.ts'
import type { AnswerFilter } from '../upstream/answer/filter.ts'
import type { Answered, BodySink } from '../upstream/types.ts'
import { CLIENT_GONE, ClientGone, type Delivered } from './delivered.ts'
import { type Drain, type Drains, drainForUsage } from './drains.ts'
import { asGwError } from './error-response.ts'

export interface DeliveryOptions {
  readonly exchange: Answered
  readonly clock: Clock
  readonly filter: AnswerFilter
  readonly res: ServerResponse
  readonly status: number
  /** The headers, names and values alternate. The caller owns the array and may extend it; called once. */
  takeHeaders(): string[]
  /** The answer is an event stream: its head is sent before the first event, and an error can be sent as an event. */
  readonly isStream: boolean
  /** Formats an error as an event. */
  errorEvent(error: unknown): string
  /** Called when the answer is complete, before its last bytes are sent. */
  settle(): Promise<void>
  /** The answer broke off after its head. It ends with an error event or is cut, even if the client does not read it. */
  onBroken(error: unknown): void
  onFirstByte(): void
  /**
   * The last byte has been written to the socket, or the client has disconnected; in the second case with the upstream's
   * error if the drained answer broke. Either this or `onUndelivered` is called, once, as the last callback.
   */
  onDelivered(delivered: Delivered): void
  /** The upstream broke before a byte of the answer had been sent. */
  onUndelivered(error: unknown): void
  /** Present: continue reading for a while after a client disconnect, to learn the usage. */
  readonly drains: Drains | undefined
  /** The model has finished, but its usage has not arrived. */
  readonly awaitsUsage: boolean
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
 * All pieces of one upstream read are written at once, at the end of the tick: a write for each event would double the
 * cost of delivery.
 */
export class Delivery implements BodySink {
  /** Callbacks for the end of a tick. Not closures: an open stream would retain them until it ends. */
  static readonly #AT_TICK_END = {
    showHead: (delivery: Delivery): void => delivery.#showHead(),
    flush: (delivery: Delivery): void => delivery.#flush(),
    sendWhole: (delivery: Delivery, text: string): void => delivery.#sendWhole(text),
  }

  readonly #options: DeliveryOptions
  /** Set once the head of an answer without `content-length` has been sent. */
  #body: ChunkedBody | undefined
  /** Bytes received in this tick, to be written at its end. */
  #gathered: Buffer[] = []
  /** The client has not read the last write. */
  #isFull = false
  #settling = false
  #settled = false
  #upstreamEnded = false
  /** The answer has ended, in any way: nothing more is written. */
  #over = false
  /** Set while the upstream is still read after the client disconnected. */
  #drain: Drain | undefined
  #failure: unknown
  /** `onDelivered` or `onUndelivered` has been called. */
  #reported = false

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /**
   * Must be called before the first piece.
   *
   * @param drain Present: the client has disconnected, and the answer is read only for its usage.
   */
  begin(drain?: Drain): void {
    const { exchange, res, isStream } = this.#options
    this.#drain = drain
    if (drain) return
    if (res.destroyed) {
      this.#over = true
      exchange.abort(new ClientGone())
      this.#notify(CLIENT_GONE)
    } else if (isStream) process.nextTick(Delivery.#AT_TICK_END.showHead, this)
  }

  /** Sends the head of a stream alone if no event arrived with it. */
  #showHead(): void {
    const { res } = this.#options
    const isDue = !this.#body && !this.#upstreamEnded && this.#gathered.length === 0
    if (!isDue || this.#over || res.destroyed) return
    this.#body = this.#openBody()
    res.flushHeaders()
  }

  onPiece(piece: Buffer): boolean {
    if (this.#over) return true
    const { filter, exchange } = this.#options
    let bytes: readonly Buffer[]
    try {
      bytes = filter.push(piece)
    } catch (error) {
      // Leads to `onBreak`.
      exchange.abort(asGwError(error))
      return true
    }
    if (this.#drain) {
      this.#drain.onPiece(piece.length)
      return true
    }
    this.#gather(bytes)
    if (filter.atLast && !this.#settling) void this.#settle()
    return !this.#isFull
  }

  onEnd(): void {
    this.#upstreamEnded = true
    const error = this.#options.filter.end()
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
    if (this.#drain) return this.#endDrain(this.#drain, this.#options.filter.atLast ? undefined : error)
    // After the last event the answer is complete: only the end of the transfer failed.
    if (this.#options.filter.atLast) this.onEnd()
    else this.#break(error)
  }

  /** Never rejects. */
  async #settle(): Promise<void> {
    this.#settling = true
    try {
      await this.#options.settle()
      this.#afterSettling()
    } catch (error) {
      this.#break(error)
      this.#options.exchange.abort(new Error('the answer was not settled', { cause: error }))
    }
  }

  #afterSettling(): void {
    this.#settled = true
    if (this.#over || this.#options.res.destroyed) return
    if (this.#upstreamEnded) this.#finish()
    else this.#gather(this.#options.filter.takeLast())
  }

  #break(error: unknown): void {
    const { filter, res, isStream } = this.#options
    if (this.#over || res.destroyed) return
    this.#flush()
    this.#over = true
    if (!this.#body) {
      this.#reported = true
      return this.#options.onUndelivered(error)
    }
    this.#failure = error
    this.#options.onBroken(error)
    if (!isStream) return void res.destroy()
    this.#body.end([Buffer.from((filter.insideEvent ? '\n\n' : '') + this.#options.errorEvent(error))])
    this.#awaitReader()
  }

  #finish(): void {
    const { filter, res } = this.#options
    if (this.#over || res.destroyed) return
    this.#over = true
    this.#gathered.push(...filter.takeLast())
    if (!this.#body) return this.#finishWhole(joined(this.#gathered))
    this.#body.end(this.#gathered)
    this.#awaitReader()
  }

  #finishWhole(whole: Buffer): void {
    const headers = this.#options.takeHeaders()
    headers.push('content-length', String(whole.length))
    this.#writeHead(headers)
    // node:http joins a string with the head in one write; latin1 keeps every byte.
    process.nextTick(Delivery.#AT_TICK_END.sendWhole, this, whole.toString('latin1'))
  }

  /**
   * Sends the answer in one write. Answers of one commit are settled in one tick; their writes are deferred so that they
   * follow each other directly. A reader that goes to sleep between two writes is woken for each, which costs more than
   * the write.
   */
  #sendWhole(text: string): void {
    const { res } = this.#options
    if (res.destroyed) return
    // `end` alone would append an empty string: a writev of two buffers, which costs a tenth of a small answer.
    res.socket?.cork()
    res.write(text, 'latin1')
    res.socket?.uncork()
    res.end()
    this.#awaitReader()
  }

  /** Limits the time in which the client must read the end of the answer. */
  #awaitReader(): void {
    const { clock, res } = this.#options
    // Nearly always the kernel has accepted all of it by now.
    if (!res.socket?.writableLength) return
    const timeout = clock.after(MAX_UNREAD_MS, () => res.destroy())
    res.once('close', () => timeout.cancel())
  }

  #gather(bytes: readonly Buffer[]): void {
    if (bytes.length === 0) return
    if (this.#gathered.length === 0) process.nextTick(Delivery.#AT_TICK_END.flush, this)
    for (const each of bytes) this.#gathered.push(each)
  }

  /** Writes the gathered pieces. */
  #flush(): void {
    const { res, exchange } = this.#options
    const gathered = this.#gathered
    if (gathered.length === 0 || this.#over || res.destroyed) return
    this.#gathered = []
    this.#body ??= this.#openBody()
    if (this.#body.write(gathered) || this.#isFull) return
    this.#isFull = true
    res.once('drain', () => {
      this.#isFull = false
      exchange.resume()
    })
  }

  #openBody(): ChunkedBody {
    this.#writeHead(this.#options.takeHeaders())
    return new ChunkedBody(this.#options.res)
  }

  #writeHead(headers: string[]): void {
    const { res, status } = this.#options
    this.#options.onFirstByte()
    res.writeHead(status, headers)
  }

  /** The client's connection has closed. */
  clientLeft(): void {
    const { exchange } = this.#options
    if (this.#over) return this.#notify(this.#delivered())
    if (this.#settled) {
      // The last bytes have been written: only the upstream's end was missing.
      exchange.abort(new ClientGone())
      return this.#notify({ outcome: 'answered' })
    }
    const drain = this.#settling ? undefined : this.#enterDrain()
    if (!drain) {
      exchange.abort(new ClientGone())
      return this.#notify(CLIENT_GONE)
    }
    this.#drain = drain
    exchange.resume()
  }

  #enterDrain(): Drain | undefined {
    const { exchange, clock, drains, awaitsUsage } = this.#options
    return drains?.enter(exchange, clock) ?? (awaitsUsage ? drainForUsage(exchange, clock) : undefined)
  }

  /** @param error Present if the answer is incomplete. */
  #endDrain(drain: Drain, error: unknown): void {
    drain.end()
    this.#drain = undefined
    this.#over = true
    if (error === undefined || error instanceof ClientGone) return this.#notify(CLIENT_GONE)
    if (this.#body) return this.#notify({ ...CLIENT_GONE, error })
    this.#reported = true
    this.#options.onUndelivered(error)
  }

  #notify(delivered: Delivered): void {
    if (this.#reported) return
    this.#reported = true
    this.#options.onDelivered(delivered)
  }

  #delivered(): Delivered {
    if (this.#failure !== undefined) return { outcome: 'broken', error: this.#failure }
    return { outcome: this.#options.res.writableFinished ? 'answered' : 'client_gone' }
  }
}

function joined(bytes: readonly Buffer[]): Buffer {
  const [only] = bytes
  return bytes.length === 1 && only ? only : Buffer.concat(bytes)
}
