import type { ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { Clock } from '../base/clock.ts'
import { ChunkedBody } from '../http/chunked-body.ts'
import type { AnswerFilter } from '../relay/answer/filter.ts'
import type { Answered, BodySink } from '../relay/types.ts'
import { CLIENT_GONE, ClientGone, type Delivered } from './delivered.ts'
import { type Drain, type Drains, drainForUsage } from './drains.ts'
import { asGwError } from './error-response.ts'

export interface DeliveryOptions {
  readonly exchange: Answered
  readonly clock: Clock
  readonly filter: AnswerFilter
  readonly res: ServerResponse
  readonly status: number
  /** The header lines, names and values in turn, to add to and to send. Nobody keeps them: asked for once. */
  takeHeaders(): string[]
  /** The answer is a stream of events: its head is shown before the first of them, and an error can be one. */
  readonly isStream: boolean
  /** The event that tells an error. */
  errorEvent(error: unknown): string
  /** Runs once the whole answer is known, before its last bytes go out. */
  settle(): Promise<void>
  /** The answer has broken off after its head: it is told so, or cut, whether or not the client reads that. */
  onBroken(error: unknown): void
  onFirstByte(): void
  /**
   * The last byte has been handed to the system, or the client has gone; then with the upstream's error, if the answer
   * was read on and broke. One of the two comes, once, last.
   */
  onDelivered(delivered: Delivered): void
  /** The upstream broke before a byte of the answer had been sent. */
  onUndelivered(error: unknown): void
  /** Present: read on for a while when the client leaves, to learn what the answer used. */
  readonly drains: Drains | undefined
  /** The model has finished, and what it used has not come yet. */
  readonly awaitsUsage: boolean
}

/** What is left of an answer in our buffers is small: a reader of a kilobyte a second takes it in this time. */
const MAX_UNREAD_MS = 300_000

/**
 * Carries an answer's body to the client: through the filter, at the client's pace, its last bytes only after
 * `settle`.
 *
 *     piece ──▶ filter ──▶ gather ──▶ write ──▶ … ──▶ last bytes known ──▶ settle ──▶ last bytes, end
 *                                       │                 │
 *                                 full: upstream     upstream broke: a status if nothing went out yet,
 *                                 waits for drain    else an in-band error, else a cut
 *
 * What one read of the upstream brought is written in one go, before the event loop turns to anything else: a write
 * for each event of it would cost as much as everything else that is done with it.
 */
export class Delivery implements BodySink {
  /** What the end of a tick runs. Not closures over one delivery: an open stream would keep them to its end. */
  static readonly #LATER = {
    showHead: (delivery: Delivery): void => delivery.#showHead(),
    flush: (delivery: Delivery): void => delivery.#flush(),
    sendWhole: (delivery: Delivery, text: string): void => delivery.#sendWhole(text),
  }

  readonly #options: DeliveryOptions
  /** Once the head has been sent of an answer whose length it does not tell. */
  #body: ChunkedBody | undefined
  /** What has come in this tick, and is written at its end. */
  #gathered: Buffer[] = []
  /** The client has not taken what was written last. */
  #isFull = false
  #settling = false
  #settled = false
  #upstreamEnded = false
  /** The answer has been ended, in whatever way: nothing more is written. */
  #over = false
  /** The client has left, and the upstream is read on. */
  #drain: Drain | undefined
  #failure: unknown
  /** What became of it has been told. */
  #reported = false

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /**
   * To be called before the first piece.
   *
   * @param drain Present: the client has left, and the answer is read for its usage alone.
   */
  begin(drain?: Drain): void {
    const { exchange, res, isStream } = this.#options
    this.#drain = drain
    if (drain) return
    if (res.destroyed) {
      this.#over = true
      exchange.abort(new ClientGone())
      this.#notify(CLIENT_GONE)
    } else if (isStream) process.nextTick(Delivery.#LATER.showHead, this)
  }

  /** What came with the head is here by now: a stream whose first event is yet to come shows its head alone. */
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
      // It ends as a break of the exchange does.
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
    // Behind the last event there is nothing left to lose: only the goodbye went wrong.
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
    // As a string it is joined with its head, and latin1 keeps every byte.
    process.nextTick(Delivery.#LATER.sendWhole, this, whole.toString('latin1'))
  }

  /**
   * The answer, in one write. Answers of one commit are settled in one turn: what is done for each is done first, and
   * these writes come one right behind the other. A reader that has gone to sleep between two is woken for each,
   * which costs more than the write.
   */
  #sendWhole(text: string): void {
    const { res } = this.#options
    if (res.destroyed) return
    // `end` alone would write an empty string behind it: a gathering write of two, for a tenth of all that is done for
    // a small answer.
    res.socket?.cork()
    res.write(text, 'latin1')
    res.socket?.uncork()
    res.end()
    this.#awaitReader()
  }

  /** Everything has been said: a client that does not take it in time is not waited for any longer. */
  #awaitReader(): void {
    const { clock, res } = this.#options
    // Nearly always the system has taken all of it by now.
    if (!res.socket?.writableLength) return
    const patience = clock.after(MAX_UNREAD_MS, () => res.destroy())
    res.once('close', () => patience.cancel())
  }

  #gather(bytes: readonly Buffer[]): void {
    if (bytes.length === 0) return
    if (this.#gathered.length === 0) process.nextTick(Delivery.#LATER.flush, this)
    for (const each of bytes) this.#gathered.push(each)
  }

  /** Writes what has gathered. */
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

  /** The connection has closed, or could take no more from the start. */
  clientLeft(): void {
    const { exchange } = this.#options
    if (this.#over) return this.#notify(this.#delivered())
    if (this.#settled) {
      // The last bytes have been written: all that was missing is the upstream's goodbye.
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

  /** @param error Why the answer is not whole. */
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
