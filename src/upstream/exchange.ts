import { asError } from '../base/as-error.ts'
import type { Clock } from '../base/clock.ts'
import { ABSENT } from '../base/indexed-set.ts'
import { fromDeadline, fromHead, fromTransport, UpstreamFailure } from './classify.ts'
import { type Coding, codingOf } from './coding.ts'
import { ConnectionClosed, type ResponseHandler, type UpstreamConnection } from './connection.ts'
import type { Deadlines, Timed } from './deadlines.ts'
import { DecodedBody } from './decoded-body.ts'
import { requestHead } from './headers.ts'
import type { ClientPool, Pools } from './pools.ts'
import { PERHAPS_UNPAID } from './read-answer.ts'
import type { Answered, AnswerHandler, BodySink, Head, Upstream, UpstreamRequest } from './types.ts'

/** An idle connection that the upstream has closed says so within a round trip; a busy process sees it later. */
const STALE_WITHIN_MS = 500
/** Beyond these limits a rejected answer's connection is closed instead of reused. */
const MAX_DISCARDED_BYTES = 65_536
const MAX_DISCARD_MS = 5_000

/** An answer whose status is ambiguous: its body is read first. */
interface Undecided {
  readonly head: Head
  readonly pieces: Buffer[]
  lengthBytes: number
}

/** Error codes of the system for a connection that the other side closed, perhaps while a request was being sent. */
const CLOSED_CODES = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

export interface ExchangePorts {
  readonly pools: Pools
  readonly deadlines: Deadlines
  readonly clock: Clock
}

/**
 * One request to one upstream, from its first byte to its last.
 *
 *     take a connection ──▶ dispatch ──▶ head ──▶ data ──▶ end
 *             ▲                 │  │                │
 *             └─ closed, no ────┘  │                └─ broke, idle, total ──▶ onBreak
 *                byte yet: once,   │
 *                on a fresh one    └─ rejection, first_byte, total ──▶ onNoAnswer
 *
 * The handler gets the head synchronously, before a byte of the body is read: to buffer the body until later would cost
 * more than processing the head. The exchange ends exactly once (answer, failure, deadline, {@link abort}), and releases
 * everything then.
 */
export class Exchange implements ResponseHandler, Timed, Answered {
  place = ABSENT
  readonly #upstream: Upstream
  /** Released at the answer, which may take hours: there are no retries from then on. */
  #request: UpstreamRequest | undefined
  readonly #ports: ExchangePorts
  readonly #pool: ClientPool
  #totalDueMs: number
  readonly #idleMs: number
  /** Deadline of the first byte until the head arrives, then of the next byte. */
  #byteDueMs: number
  #connection: UpstreamConnection
  readonly #mayBeOpaque: boolean
  /** Set until it is notified. */
  #handler: AnswerHandler | undefined
  #isDispatched = false
  #sink: BodySink | undefined
  #undecided: Undecided | undefined
  /** Remaining bytes of a rejected answer to read. */
  #discardable: number | undefined
  /** A byte of an answer has arrived. */
  #began = false
  #dispatchedMs = 0
  #hasHead = false
  /** The whole request has been sent. */
  #sent = false
  /** Paused by the sink: the idle deadline does not apply. */
  #paused = false
  /** A piece has arrived since the last deadline check. */
  #moved = false
  #ended = false

  /** @param startedMs Monotonic time of the first dispatch of the client's request, where the `total` deadline starts. */
  constructor(request: UpstreamRequest, ports: ExchangePorts, startedMs: number, handler: AnswerHandler) {
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
    this.#connection = this.#pool.take()
    this.#dispatch(request)
  }

  #dispatch(request: UpstreamRequest): void {
    const { body, lengthBytes } = request
    let head: string
    try {
      head = requestHead(request, this.#pool)
    } catch (error) {
      return queueMicrotask(() => this.onFailed(asError(error)))
    }
    this.#connection.send({ head, body, lengthBytes }, this)
  }

  /** Sending of the request has begun. */
  get dispatched(): boolean {
    return this.#isDispatched
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#moved = true
    this.#connection.resume()
  }

  abort(reason: Error): void {
    this.#end(reason)
  }

  check(nowMs: number): void {
    if (this.#moved || this.#paused) {
      this.#moved = false
      this.#byteDueMs = nowMs + this.#idleMs
    }
    const { name } = this.#upstream
    if (nowMs >= this.#totalDueMs) this.abort(fromDeadline('total', name, this.dispatched, this.#paused))
    else if (nowMs >= this.#byteDueMs)
      this.abort(fromDeadline(this.#hasHead ? 'idle' : 'first_byte', name, this.dispatched))
  }

  onDispatched(): void {
    this.#isDispatched = true
    this.#dispatchedMs = this.#ports.clock.monotonicMs()
  }

  onSent(): void {
    this.#sent = true
    this.#release()
  }

  onAnswering(): void {
    this.#began = true
  }

  onHead(status: number, headers: readonly string[]): void {
    this.#hasHead = true
    this.#moved = true
    const head = { status, headers }
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

  onData(bytes: Buffer): boolean {
    this.#moved = true
    try {
      // TLS passes on the rest of a read after that: it stays paused until `resume`.
      if (!this.#take(bytes)) this.#paused = true
    } catch (error) {
      this.abort(new Error('the sink of the answer failed', { cause: error }))
    }
    return !this.#paused
  }

  /** @param bytes Valid during the call only. @returns false to pause the upstream. */
  #take(bytes: Buffer): boolean {
    const undecided = this.#undecided
    if (undecided) {
      undecided.pieces.push(Buffer.from(bytes))
      undecided.lengthBytes += bytes.length
      return undecided.lengthBytes < MAX_DISCARDED_BYTES || this.#decideByBody(undecided)
    }
    if (this.#sink?.onRead) return this.#sink.onRead(bytes)
    return this.#pass(this.#sink ? Buffer.from(bytes) : bytes)
  }

  /** @returns false to pause the upstream. */
  #pass(piece: Buffer): boolean {
    if (this.#discardable === undefined) return this.#sink?.onPiece(piece) !== false
    this.#discardable -= piece.length
    if (this.#discardable < 0) this.abort(new Error('a rejection with a long body'))
    return true
  }

  onComplete(): void {
    this.#end(undefined)
  }

  onFailed(error: Error): void {
    if (this.#request && this.#wasStale(error)) {
      this.#pool.drop(this.#connection)
      this.#connection = this.#pool.fresh()
      this.#isDispatched = false
      return this.#dispatch(this.#request)
    }
    this.#end(fromTransport(error, this.#upstream.name, this.dispatched))
  }

  /** Empties the request body, which would be kept until the answer ends. */
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
   * An idle connection closed soon, without a byte of an answer: the upstream had closed it before it received the request.
   * So the request is sent again, on a new connection.
   */
  #wasStale(error: Error): boolean {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
    const isClosed = error instanceof ConnectionClosed || CLOSED_CODES.has(code)
    if (!isClosed || !this.#connection.reused || this.#began) return false
    // What closes later has taken the request, and may have carried it out.
    return !this.#isDispatched || this.#ports.clock.monotonicMs() - this.#dispatchedMs < STALE_WITHIN_MS
  }

  #end(error: Error | undefined): void {
    if (this.#ended) return
    this.#ended = true
    const undecided = this.#undecided
    // A reason to abort takes precedence, except for a deadline.
    if (undecided && (!error || error instanceof UpstreamFailure)) this.#decideByBody(undecided)
    this.#ports.deadlines.unwatch(this)
    if (error) this.#pool.drop(this.#connection)
    else this.#pool.release(this.#connection)
    if (this.#handler)
      this.#notifyFailure(error ?? fromTransport(new Error('no head'), this.#upstream.name, true))
    else if (error) this.#sink?.onBreak(error)
    else this.#sink?.onEnd()
  }

  /** Deferred: the caller may be the constructor or the connection, and must return first. */
  #notifyFailure(error: Error): void {
    const handler = this.#handler
    this.#handler = undefined
    if (handler) queueMicrotask(() => handler.onNoAnswer(error))
  }
}
