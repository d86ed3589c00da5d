import type { Dispatcher } from 'undici'
import { GwError } from '../base/catalogue/wire.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { fromTransport } from './classify.ts'
import { requestHeaders } from './headers.ts'
import type { Pools } from './pools.ts'
import type { BodySink, Head, UpstreamRequest } from './types.ts'

/** Up to here a body is joined into one write; beyond it is sent in its pieces, uncopied. */
const JOIN_BYTES = 65_536

/**
 * One request to one upstream, from its first byte to its last.
 *
 * The head comes first, as a promise; the body is held back until somebody takes it with {@link pipe}. However it
 * ends (answer, failure, deadline, {@link abort}), it ends once, and nothing of it outlives that.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly head: Promise<Head>
  readonly #endpoint: string
  readonly #deadline: Timer
  /** undici's own starts anew with every interim answer, so that a flood of 103 would never end. */
  readonly #headDeadline: Timer
  #settleHead: { resolve(head: Head): void; reject(error: Error): void } | undefined
  #controller: Dispatcher.DispatchController | undefined
  #sink: BodySink | undefined
  /** Why it was ended from this side, before undici has heard of it or while it goes about it. */
  #aborted: Error | undefined
  #ended = false
  #failure: Error | undefined

  constructor(request: UpstreamRequest, pools: Pools, clock: Clock) {
    const { upstream, body, lengthBytes } = request
    this.#endpoint = upstream.name
    this.head = new Promise((resolve, reject) => {
      this.#settleHead = { resolve, reject }
    })
    this.#deadline = clock.after(upstream.totalMs, () => this.#tooSlow('total'))
    this.#headDeadline = clock.after(upstream.firstByteMs, () => this.#tooSlow('first_byte'))
    const [only] = body
    const whole = body.length === 1 && only ? only : lengthBytes <= JOIN_BYTES ? Buffer.concat(body) : body
    pools.dispatcher(upstream).dispatch(
      {
        method: 'POST',
        path: upstream.basePath + request.pathAndQuery,
        headers: requestHeaders(request.headers, upstream.headers, lengthBytes),
        body: whole as Buffer,
        headersTimeout: 0,
        bodyTimeout: upstream.idleMs,
      },
      this,
    )
  }

  /** Hands the body to `sink`. May be called once, after the head has come. */
  pipe(sink: BodySink): void {
    this.#sink = sink
    if (this.#ended) this.#tell(sink)
    else this.#controller?.resume()
  }

  /** Lets the upstream go on after {@link BodySink.onPiece} has asked it to wait. */
  resume(): void {
    this.#controller?.resume()
  }

  /** Ends the exchange from this side: the connection is cut at once. A second call does nothing. */
  abort(reason: Error): void {
    if (this.#ended || this.#aborted) return
    this.#aborted = reason
    if (this.#controller) this.#controller.abort(reason)
    else this.#end(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#aborted) controller.abort(this.#aborted)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    controller.pause()
    this.#headDeadline.cancel()
    const headers = Array.from(controller.rawHeaders as Iterable<Buffer | string>, latin1)
    const settle = this.#settleHead
    this.#settleHead = undefined
    settle?.resolve({ status, headers })
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#sink?.onPiece(piece) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#end(undefined)
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#end(this.#aborted ?? fromTransport(error, this.#endpoint))
  }

  #tooSlow(timeout: 'first_byte' | 'total'): void {
    this.abort(
      new GwError('upstream_timeout', undefined, { reason: `${this.#endpoint}: ${timeout} deadline` }),
    )
  }

  #end(error: Error | undefined): void {
    if (this.#ended) return
    this.#ended = true
    this.#failure = error
    this.#deadline.cancel()
    this.#headDeadline.cancel()
    const settle = this.#settleHead
    this.#settleHead = undefined
    if (settle)
      settle.reject(
        error ?? new GwError('upstream_error', undefined, { reason: `${this.#endpoint}: no head` }),
      )
    else if (this.#sink) this.#tell(this.#sink)
  }

  #tell(sink: BodySink): void {
    if (this.#failure) sink.onBreak(this.#failure)
    else sink.onEnd()
  }
}

/** Header bytes are octets: latin1 keeps each of them. */
function latin1(value: Buffer | string): string {
  return typeof value === 'string' ? value : value.toString('latin1')
}
