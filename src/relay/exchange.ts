import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import { ABSENT } from '../base/indexed-set.ts'
import { fromDeadline, fromHead, fromTransport, UpstreamFailure } from './classify.ts'
import type { ClientPool, PooledClient } from './client-pool.ts'
import { type Coding, codingOf } from './coding.ts'
import type { Deadlines, Timed } from './deadlines.ts'
import { DecodedBody } from './decoded-body.ts'
import { requestHeaders } from './headers.ts'
import type { Pools } from './pools.ts'
import type { Answered, AnswerHandler, BodySink, Head, Upstream, UpstreamRequest } from './types.ts'
import { PERHAPS_UNPAID } from './unpaid.ts'

/** Up to here a body is joined into one write; beyond it is sent in its pieces, uncopied. */
const JOIN_BYTES = 65_536

/** A rejection that is longer, or takes longer, is not worth its connection. */
const MAX_DISCARDED_BYTES = 65_536
const MAX_DISCARD_MS = 5_000

/** An answer whose status does not tell what it means: its body is read first. */
interface Undecided {
  readonly head: Head
  readonly pieces: Buffer[]
  lengthBytes: number
}

/** What a connection says that the other side has closed, or is closing while a request is on its way to it. */
const CLOSED_CODES = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ECONNABORTED'])

export interface RelayPorts {
  readonly pools: Pools
  readonly deadlines: Deadlines
  readonly clock: Clock
}

/**
 * One request to one upstream, from its first byte to its last.
 *
 *     take a client ──▶ dispatch ──▶ head ──▶ pieces ──▶ end
 *           ▲               │  │                │
 *           └─ closed, no ──┘  │                └─ broke, idle, total ──▶ onBreak
 *              byte yet: once, │
 *              on a fresh one  └─ rejection, first_byte, total ──▶ onNoAnswer
 *
 * Whoever takes the answer is told of its head before a byte of its body is read, in the same turn: to hold the body
 * back until then costs more than all that is done with the head. However it ends (answer, failure, deadline,
 * {@link abort}), it ends once, and nothing of it outlives that.
 *
 * The head is taken from the raw headers: undici's map of them keeps neither order nor case.
 */
export class Exchange implements Dispatcher.DispatchHandler, Timed, Answered {
  place = ABSENT
  readonly #upstream: Upstream
  /** Until there is an answer, which may take hours: nothing is asked once more from then on. */
  #request: UpstreamRequest | undefined
  readonly #ports: RelayPorts
  readonly #pool: ClientPool
  #totalDueMs: number
  readonly #idleMs: number
  /** Of the first byte until the head has come, of the next one from then on. */
  #byteDueMs: number
  #pooled: PooledClient
  /** Until it has been told. */
  #handler: AnswerHandler | undefined
  /** undici's side of the request, from when it is written. */
  #controller: Dispatcher.DispatchController | undefined
  #sink: BodySink | undefined
  #undecided: Undecided | undefined
  /** Of a rejection's body: how much more of it is read. */
  #discardable: number | undefined
  /** A byte of an answer has come. */
  #began = false
  #hasHead = false
  /** The whole request has gone. */
  #sent = false
  /** Held by this side: the upstream cannot be blamed for its silence. */
  #paused = false
  /** A piece has come since the deadlines were last looked at. */
  #moved = false
  /** Why it was ended from this side, before undici has heard of it or while it goes about it. */
  #aborted: Error | undefined
  #ended = false

  /** @param startedMs When the client's request was first dispatched, on the monotonic clock: `total` counts from there. */
  constructor(request: UpstreamRequest, ports: RelayPorts, startedMs: number, handler: AnswerHandler) {
    const { upstream } = request
    this.#upstream = upstream
    this.#request = request
    this.#ports = ports
    this.#pool = ports.pools.of(upstream)
    this.#totalDueMs = startedMs + upstream.totalMs
    this.#idleMs = upstream.idleMs
    this.#byteDueMs = ports.clock.monotonicMs() + upstream.firstByteMs
    this.#handler = handler
    ports.deadlines.watch(this)
    this.#pooled = this.#pool.take()
    this.#dispatch(request)
  }

  #dispatch(request: UpstreamRequest): void {
    const { upstream, lengthBytes, pathAndQuery, headers } = request
    const { pathPrefix, proxyHeaders } = this.#pool
    const lines = requestHeaders(headers, upstream.headers, lengthBytes)
    for (const text of proxyHeaders) lines.push(text)
    this.#pooled.client.dispatch(
      {
        method: 'POST',
        path: pathPrefix + upstream.basePath + pathAndQuery,
        headers: lines,
        body: sendable(request) as Buffer,
      },
      this,
    )
  }

  /** The request has begun to go to the upstream. */
  get dispatched(): boolean {
    return this.#controller !== undefined
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#moved = true
    this.#controller?.resume()
  }

  abort(reason: Error): void {
    if (this.#ended || this.#aborted) return
    this.#aborted = reason
    // Not connected yet: nobody waits for that any more.
    if (!this.#controller) return this.#end(reason)
    this.#controller.abort(reason)
  }

  check(nowMs: number): void {
    if (this.#moved || this.#paused) {
      this.#moved = false
      this.#byteDueMs = nowMs + this.#idleMs
    }
    const { name } = this.#upstream
    if (nowMs >= this.#totalDueMs) this.abort(fromDeadline('total', name, this.dispatched))
    else if (nowMs >= this.#byteDueMs)
      this.abort(fromDeadline(this.#hasHead ? 'idle' : 'first_byte', name, this.dispatched))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#aborted) controller.abort(this.#aborted)
  }

  onRequestSent(): void {
    this.#sent = true
    this.#release()
  }

  onResponseStarted(): void {
    this.#began = true
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.#hasHead = true
    this.#moved = true
    const head = { status, headers: (controller.rawHeaders as Buffer[]).map(latin1) }
    if (!PERHAPS_UNPAID.has(status)) return this.#decide(head)
    this.#undecided = { head, pieces: [], lengthBytes: 0 }
    if (status !== 400) this.#hurry()
  }

  /** The answer goes through, or is none. */
  #decide(head: Head, body?: Buffer): void {
    const coding = codingOf(head.headers)
    const failure = fromHead(head, this.#upstream.name, coding, body)
    if (failure) {
      this.#discardable = MAX_DISCARDED_BYTES
      this.#hurry()
      return this.#notifyNone(failure)
    }
    this.#release()
    const handler = this.#handler
    this.#handler = undefined
    try {
      this.#sink = handler && this.#deliver(handler, head, coding)
    } catch (error) {
      this.abort(new Error('the answer was not taken', { cause: error }))
      handler?.onNoAnswer(error)
    }
  }

  #deliver(handler: AnswerHandler, head: Head, coding: Coding | 'unknown' | undefined): BodySink {
    if (coding === undefined || coding === 'unknown') return handler.onAnswer({ exchange: this, head })
    const { name: endpoint, totalMs: patienceMs } = this.#upstream
    const body = new DecodedBody(this, { coding, endpoint, patienceMs, clock: this.#ports.clock })
    return body.to(handler.onAnswer({ exchange: body, head }))
  }

  /** Enough of its body has come. */
  #decideByBody({ head, pieces }: Undecided): boolean {
    this.#undecided = undefined
    this.#decide(head, Buffer.concat(pieces))
    let goesOn = true
    for (const piece of pieces) goesOn = this.#pass(piece) && goesOn
    return goesOn
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#moved = true
    const undecided = this.#undecided
    if (undecided) {
      undecided.pieces.push(piece)
      undecided.lengthBytes += piece.length
      if (undecided.lengthBytes < MAX_DISCARDED_BYTES || this.#decideByBody(undecided)) return
    } else if (this.#pass(piece)) return
    this.#paused = true
    controller.pause()
  }

  /** @returns false where no more of the body is wanted for now. */
  #pass(piece: Buffer): boolean {
    if (this.#discardable === undefined) return this.#sink?.onPiece(piece) !== false
    this.#discardable -= piece.length
    if (this.#discardable < 0) this.abort(new Error('a rejection with a long body'))
    return true
  }

  onResponseEnd(): void {
    this.#end(undefined)
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#ended) return
    if (!this.#aborted && this.#request && this.#wasStale(error)) {
      this.#pool.drop(this.#pooled)
      this.#pooled = this.#pool.fresh()
      this.#controller = undefined
      return this.#dispatch(this.#request)
    }
    this.#end(this.#aborted ?? fromTransport(error, this.#upstream.name, this.dispatched))
  }

  /** undici keeps what it was given to send for as long as the answer takes, long after it has gone. */
  #release(): void {
    if (!this.#hasHead || !this.#sent || !this.#request) return
    this.#request.body.length = 0
    this.#request = undefined
  }

  /** A rejection's body is read to its end, for behind it the connection can serve again; but not for long. */
  #hurry(): void {
    this.#paused = false
    this.#totalDueMs = Math.min(this.#totalDueMs, this.#ports.clock.monotonicMs() + MAX_DISCARD_MS)
  }

  /**
   * A connection that was idle died under the request, without a byte of an answer: its other side had closed it
   * before it saw the request. So it is asked once more, over a connection that cannot be stale.
   */
  #wasStale(error: Error): boolean {
    const isClosed = 'code' in error && typeof error.code === 'string' && CLOSED_CODES.has(error.code)
    return isClosed && this.#pooled.reused && !this.#began
  }

  #end(error: Error | undefined): void {
    if (this.#ended) return
    const undecided = this.#undecided
    // What ends it from this side, but for a deadline, is the better reason.
    if (undecided && (!this.#aborted || error instanceof UpstreamFailure)) this.#decideByBody(undecided)
    this.#ended = true
    this.#ports.deadlines.unwatch(this)
    if (error) this.#pool.drop(this.#pooled)
    else this.#pool.release(this.#pooled)
    if (this.#handler)
      this.#notifyNone(error ?? fromTransport(new Error('no head'), this.#upstream.name, true))
    else if (error) this.#sink?.onBreak(error)
    else this.#sink?.onEnd()
  }

  /** Not at once: this may be the call that began the exchange, or one from inside undici, which is to end first. */
  #notifyNone(error: Error): void {
    const handler = this.#handler
    this.#handler = undefined
    if (handler) queueMicrotask(() => handler.onNoAnswer(error))
  }
}

/**
 * A body as undici is to send it: in one piece, which costs least, or as a list. undici holds on to what it was given
 * until the answer ends, and to the slab that a small piece was cut from; but a list can be emptied.
 */
function sendable({ body, lengthBytes, isLong }: UpstreamRequest): Buffer | readonly Buffer[] {
  if (lengthBytes > JOIN_BYTES) return body
  const [only] = body
  const joined = body.length === 1 && only ? only : Buffer.concat(body)
  if (!isLong) return joined
  body.splice(0, body.length, joined)
  return body
}

/** Header bytes are octets: latin1 keeps each of them. */
function latin1(value: Buffer | string): string {
  return typeof value === 'string' ? value : value.toString('latin1')
}
