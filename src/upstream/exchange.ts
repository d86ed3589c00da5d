import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import { ABSENT } from '../base/indexed-set.ts'
import { fromDeadline, fromHead, fromTransport, UpstreamFailure } from './classify.ts'
import { type Coding, codingOf } from './coding.ts'
import type { ChunkSink } from './connection-reader.ts'
import type { Deadlines, Timed } from './deadlines.ts'
import { DecodedBody } from './decoded-body.ts'
import { isPlainlyChunked, requestHeaders } from './headers.ts'
import type { ClientPool, PooledClient, Pools } from './pools.ts'
import { PERHAPS_UNPAID } from './read-answer.ts'
import type { Answered, AnswerHandler, BodySink, Head, Upstream, UpstreamRequest } from './types.ts'

/** Up to this size a body is joined into one write; a larger one is sent in its pieces, uncopied. */
const JOIN_BYTES = 65_536

/** Beyond these limits a rejected answer's connection is closed instead of reused. */
const MAX_DISCARDED_BYTES = 65_536
const MAX_DISCARD_MS = 5_000

/** An answer whose status is ambiguous: its body is read first. */
interface Undecided {
  readonly head: Head
  readonly pieces: Buffer[]
  lengthBytes: number
}

/** Error codes of a connection that the other side closed, perhaps while a request was being sent. */
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
 * The handler gets the head synchronously, before a byte of the body is read: to buffer the body until later would cost
 * more than processing the head. The exchange ends exactly once (answer, failure, deadline, {@link abort}), and releases
 * everything then.
 *
 * The head is built from the raw headers: undici's parsed ones keep neither order nor case.
 */
export class Exchange implements Dispatcher.DispatchHandler, Timed, Answered, ChunkSink {
  place = ABSENT
  readonly #upstream: Upstream
  /** Released at the answer, which may take hours: there are no retries from then on. */
  #request: UpstreamRequest | undefined
  readonly #ports: RelayPorts
  readonly #pool: ClientPool
  #totalDueMs: number
  readonly #idleMs: number
  /** Deadline of the first byte until the head arrives, then of the next byte. */
  #byteDueMs: number
  #pooled: PooledClient
  readonly #mayBeOpaque: boolean
  /** Set until it is notified. */
  #handler: AnswerHandler | undefined
  /** undici's controller, from when the request is written. */
  #controller: Dispatcher.DispatchController | undefined
  #sink: BodySink | undefined
  #undecided: Undecided | undefined
  /** Remaining bytes of a rejected answer to read. */
  #discardable: number | undefined
  /** A byte of an answer has arrived. */
  #began = false
  #hasHead = false
  /** The whole request has been sent. */
  #sent = false
  /** Paused by the sink: the idle deadline does not apply. */
  #paused = false
  /** A piece has arrived since the last deadline check. */
  #moved = false
  /** Abort reason, while undici has not processed the abort. */
  #aborted: Error | undefined
  #ended = false

  /** @param startedMs Monotonic time of the first dispatch of the client's request, where the `total` deadline starts. */
  constructor(request: UpstreamRequest, ports: RelayPorts, startedMs: number, handler: AnswerHandler) {
    const { upstream } = request
    this.#upstream = upstream
    this.#request = request
    this.#mayBeOpaque = request.mayBeOpaque
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
    const { upstream, method, lengthBytes, pathAndQuery, headers } = request
    const { pathPrefix, proxyHeaders } = this.#pool
    const lines = requestHeaders(headers, upstream.headers, lengthBytes)
    for (const text of proxyHeaders) lines.push(text)
    this.#pooled.client.dispatch(
      {
        method,
        path: pathPrefix + upstream.basePath + pathAndQuery,
        headers: lines,
        body: sendable(request) as Buffer,
      },
      this,
    )
  }

  /** Sending of the request has begun. */
  get dispatched(): boolean {
    return this.#controller !== undefined
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#moved = true
    this.#controller?.resume()
    this.#pooled.reader?.resume()
  }

  abort(reason: Error): void {
    if (this.#ended || this.#aborted) return
    this.#aborted = reason
    // Not connected yet: does not wait for the connection.
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

  /** Delivers the answer, or fails the exchange. */
  #decide(head: Head, body?: Buffer): void {
    const coding = codingOf(head.headers)
    const failure = fromHead(head, this.#upstream.name, coding, this.#mayBeOpaque, body)
    if (failure) {
      failure.status = head.status
      this.#discardable = MAX_DISCARDED_BYTES
      this.#hurry()
      return this.#notifyFailure(failure)
    }
    this.#release()
    const handler = this.#handler
    this.#handler = undefined
    try {
      this.#sink = handler && this.#deliver(handler, head, coding)
      if (this.#sink?.onRead && this.#pooled.reader && isPlainlyChunked(head.headers))
        this.#pooled.reader.sink = this
    } catch (error) {
      this.abort(new Error('the handler of the answer failed', { cause: error }))
      handler?.onNoAnswer(error)
    }
  }

  #deliver(handler: AnswerHandler, head: Head, coding: Coding | 'unknown' | undefined): BodySink {
    if (coding === undefined || coding === 'unknown') return handler.onAnswer(this, head)
    const { name: endpoint, totalMs: readTimeoutMs } = this.#upstream
    const body = new DecodedBody(this, { coding, endpoint, readTimeoutMs, clock: this.#ports.clock })
    return body.to(handler.onAnswer(body, head))
  }

  /** Decides an ambiguous answer by the received part of its body. */
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

  onChunks(bytes: Buffer): boolean {
    this.#moved = true
    try {
      this.#paused = this.#sink?.onRead?.(bytes) === false
    } catch (error) {
      this.abort(new Error('the sink of the answer failed', { cause: error }))
    }
    return !this.#paused
  }

  /** @returns false to pause the upstream. */
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

  /** Empties the request body: undici would keep it until the answer ends. */
  #release(): void {
    if (!this.#hasHead || !this.#sent || !this.#request) return
    if (Array.isArray(this.#request.body)) this.#request.body.length = 0
    this.#request = undefined
  }

  /** A rejected answer is read to its end, so that the connection can be reused, but only for a short time. */
  #hurry(): void {
    this.#paused = false
    this.#totalDueMs = Math.min(this.#totalDueMs, this.#ports.clock.monotonicMs() + MAX_DISCARD_MS)
  }

  /**
   * An idle connection closed without a byte of an answer: the upstream had closed it before it received the request. So
   * the request is sent again, on a new connection.
   */
  #wasStale(error: Error): boolean {
    const isClosed = 'code' in error && typeof error.code === 'string' && CLOSED_CODES.has(error.code)
    return isClosed && this.#pooled.reused && !this.#began
  }

  #end(error: Error | undefined): void {
    if (this.#ended) return
    const undecided = this.#undecided
    // An abort reason takes precedence, except for a deadline.
    if (undecided && (!this.#aborted || error instanceof UpstreamFailure)) this.#decideByBody(undecided)
    this.#ended = true
    this.#ports.deadlines.unwatch(this)
    if (this.#pooled.reader) this.#pooled.reader.sink = undefined
    if (error) this.#pool.drop(this.#pooled)
    else this.#pool.release(this.#pooled)
    if (this.#handler)
      this.#notifyFailure(error ?? fromTransport(new Error('no head'), this.#upstream.name, true))
    else if (error) this.#sink?.onBreak(error)
    else this.#sink?.onEnd()
  }

  /** Deferred: the caller may be the constructor or undici, and must return first. */
  #notifyFailure(error: Error): void {
    const handler = this.#handler
    this.#handler = undefined
    if (handler) queueMicrotask(() => handler.onNoAnswer(error))
  }
}

/**
 * The body for undici: one buffer, which is cheapest, or a list. undici retains the body until the answer ends, including
 * the slab of a small buffer; a list can be emptied before.
 */
function sendable({
  body,
  lengthBytes,
  isLong,
}: UpstreamRequest): Buffer | readonly Buffer[] | AsyncIterable<Buffer> {
  if (!Array.isArray(body)) return body()
  if (lengthBytes > JOIN_BYTES) return body
  const [only] = body
  const joined = body.length === 1 && only ? only : Buffer.concat(body)
  if (!isLong) return joined
  body.splice(0, body.length, joined)
  return body
}

/** Header values are octets: latin1 preserves each of them. */
function latin1(value: Buffer | string): string {
  return typeof value === 'string' ? value : value.toString('latin1')
}
