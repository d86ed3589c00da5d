import type { ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import { ABSENT, type IndexedSetMember } from '../base/indexed-set.ts'
import type { Permit } from '../limits/authorise.ts'
import type { Content } from '../limits/content.ts'
import type { CallTrace, TracedAttempt, TracedStep } from '../metering/trace.ts'
import type { InferencePath } from '../schema/paths.ts'
import type { PublicationEntry } from '../snapshot/types.ts'
import { filterFor } from '../upstream/answer/choose.ts'
import type { AnswerFilter } from '../upstream/answer/filter.ts'
import { UpstreamFailure } from '../upstream/classify.ts'
import { Exchange, type ExchangePorts } from '../upstream/exchange.ts'
import type { Route } from '../upstream/routing/route.ts'
import type { Answered, AnswerHandler, BodySink, Head } from '../upstream/types.ts'
import { type Bill, type BillPorts, type RequestFacts, reserve } from './bill.ts'
import type { Call } from './call.ts'
import { Delivery, type DeliveryHandler } from './delivery.ts'
import {
  CLIENT_GONE,
  ClientGone,
  type Delivered,
  type Drain,
  type Drains,
  drainForUsage,
  type InFlightRequests,
  Interrupted,
} from './endings.ts'
import { asGwError } from './error-response.ts'
import type { RequestContext } from './request-context.ts'
import { answerHeaders, editsFor, type OutputCapEdit, upstreamRequest } from './rewrite.ts'

export interface ProxyPorts extends BillPorts {
  readonly exchangePorts: ExchangePorts
  readonly drains: Drains
  readonly inFlightRequests: InFlightRequests
}

/** A call that may be dispatched once its hold is open. */
export interface AdmittedCall {
  readonly res: ServerResponse
  readonly context: RequestContext
  readonly path: InferencePath
  readonly query: string
  readonly permit: Permit
  readonly call: Call
  /** The measured content of the call, including the tokens of the stored response that it continues. */
  readonly content: Content
  readonly route: Route
  /** How long the ids of the answer are known; absent: it is not stored. */
  readonly storedForMs?: number | undefined
  /** The call concerns a stored response: a 404 of the endpoint that keeps it means that there is no such response. */
  readonly isStored?: boolean
}

const ERROR_IN_STREAM = new GwError('upstream_error', undefined, {
  reason: 'the upstream sent an error inside its stream',
})

const NOTHING_TO_SETTLE = Promise.resolve()
const UNMETERED = { onMember: () => undefined, onText: () => undefined }

/**
 * One inference request from its hold to its last byte.
 *
 *     open ──▶ dispatch ──▶ head ──▶ deliver ──▶ settle ──▶ last bytes ──▶ leave
 *      │         ▲ │                    │           │
 *     402 429    │ failure              │          503, error event or cut: the ledger failed
 *     503        │ │                    ├─ upstream broke, or the gateway ends: 502 504 503 before the first byte,
 *                │ ▼                    │  an error event or a cut after it; charged by what passed
 *               next endpoint,          └─ client left: aborted or drained, charged by what passed
 *               or 429 502 503 504
 *
 * A client that leaves earlier: before dispatch it pays nothing; before the head the exchange is aborted, or drained for
 * its usage. {@link chargeFor} decides the charge of every end. `open` and `forward` are called in this order, once.
 *
 * One object, because a promise and closures for each step would cost more.
 */
export class ProxiedRequest implements AnswerHandler, DeliveryHandler, IndexedSetMember {
  place = ABSENT
  /** Absent if the call is free of charge, and before `open`. */
  bill: Bill | undefined
  readonly #context: RequestContext
  readonly #res: ServerResponse
  readonly #path: InferencePath
  readonly #publication: PublicationEntry
  readonly #route: Route
  readonly #ports: ProxyPorts
  /** Undefined once an endpoint has answered, so that the body is freed: no other will be tried. */
  #unanswered: AdmittedCall | undefined
  readonly #isStored: boolean
  readonly #answers: number
  #resolve: (delivered: Delivered) => void = () => undefined
  #reject: (error: unknown) => void = () => undefined
  /** Monotonic time of the first dispatch. */
  #startedMs = 0
  /** Of the current attempt. */
  #exchange: Exchange | undefined
  /** The current attempt, and the end of the bill, of a traced call. */
  #attempt: TracedAttempt | undefined
  #settling: TracedStep | undefined
  /** The reason of `abort`, which ends all further attempts. */
  #aborted: Error | undefined
  /** The gateway requested usage that the client did not request and must not see. */
  #hideUsage = false
  /** The status of the endpoint's answer; 0 before. */
  #status = 0
  /** These two are set once an endpoint has answered. */
  #filter: AnswerFilter | undefined
  #delivery: Delivery | undefined
  /** Set if the client disconnected before the answer, which is still read for its usage. */
  #drain: Drain | undefined
  #over = false

  constructor(admitted: AdmittedCall, ports: ProxyPorts) {
    this.#res = admitted.res
    this.#context = admitted.context
    this.#path = admitted.path
    this.#publication = admitted.permit.publication
    this.#route = admitted.route
    this.#ports = ports
    this.#unanswered = admitted
    this.#isStored = admitted.isStored === true
    this.#answers = admitted.call.answers
  }

  /**
   * Takes the request's share of every limit, and holds its money.
   *
   * @throws {GwError} of {@link reserve} and {@link Bill.open}. Nothing is held or counted then.
   */
  async open(): Promise<void> {
    const { permit, call, content, storedForMs } = this.#sending
    this.#ports.inFlightRequests.add(this)
    const hold = this.#path.dialect && this.#context.trace?.step('hold')
    try {
      const admitted = this.#ports.limiter.admitted(() =>
        reserve(this.#context, permit, call, this.#route, this.#path, content, storedForMs, this.#ports),
      )
      this.bill = admitted instanceof Promise ? await admitted : admitted
      await this.bill?.open()
      hold?.end()
    } catch (error) {
      hold?.end(asGwError(error).code)
      this.#context.shadowRejections = undefined
      this.#leave()
      throw error
    }
  }

  /** Dispatches the request. Resolves at its end. @throws {GwError} if the client got no answer. */
  forward(): Promise<Delivered> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#startedMs = this.#ports.clock.monotonicMs()
      // The client disconnected while the hold was written.
      if (this.#res.destroyed) return this.#fail(new ClientGone())
      // Never removed: removing a listener costs more than a no-op call.
      this.#res.on('close', () => this.#clientLeft())
      this.#context.dispatched()
      try {
        this.#dispatch()
      } catch (error) {
        this.#fail(error)
      }
    })
  }

  /** @throws the reason of {@link abort}, if it was called before. */
  #dispatch(): void {
    if (this.#aborted) throw this.#aborted
    const { call, query } = this.#sending
    const { target } = this.#route
    const { edits, hideUsage } = editsFor(call, target, this.#path, this.#outputCap())
    this.#hideUsage = hideUsage
    const { rawHeaders } = this.#res.req
    this.#attempt = this.#context.trace?.attempt(target.endpoint)
    const headers = this.#attempt?.headers(rawHeaders) ?? rawHeaders
    const request = upstreamRequest(headers, call, edits, target, this.#path, query, this.#context)
    this.#route.dispatched()
    this.#exchange = new Exchange(request, this.#ports.exchangePorts, this.#startedMs, this)
  }

  get #sending() {
    if (!this.#unanswered) throw new Error('an endpoint has answered: no other can be tried')
    return this.#unanswered
  }

  #outputCap(): OutputCapEdit | undefined {
    const { outputCap: field } = this.#publication
    const { capTokens: tokens } = this.bill ?? {}
    return field === 'none' || tokens === undefined ? undefined : { field, tokens }
  }

  /** Sending to the current endpoint has begun. */
  get #wasSent(): boolean {
    return this.#exchange?.dispatched === true
  }

  /** Ends the current exchange and all further attempts. Leads to the end of the request. */
  abort(reason: Error): void {
    this.#aborted ??= reason
    this.#exchange?.abort(reason)
  }

  #clientLeft(): void {
    if (this.#delivery) return this.#delivery.clientLeft()
    if (this.#over) return
    if (this.#wasSent) this.#drain = this.#drains?.enter(this, this.#ports.clock)
    if (!this.#drain) this.abort(new ClientGone())
  }

  get #drains(): Drains | undefined {
    return this.#publication.onDisconnect === 'drain' ? this.#ports.drains : undefined
  }

  onNoAnswer(error: unknown): void {
    try {
      if (error instanceof UpstreamFailure && !this.#aborted && this.#tryNext(error)) return this.#dispatch()
    } catch (thrown) {
      return this.#fail(thrown)
    }
    this.#fail(error)
  }

  /** Chooses another endpoint after a failure (spec/requests.md §4). @returns false if none is left or allowed. */
  #tryNext(failure: UpstreamFailure): boolean {
    const route = this.#route
    const context = this.#context
    context.attemptFailed(failure.result, failure.reason)
    this.#attempt?.end(failure.status, failure.result)
    if (this.#isStored && failure.code === 'upstream_not_found') throw new GwError('response_not_found')
    // For a client that has left no other endpoint is tried.
    if (this.#drain) {
      route.failed(failure)
      return false
    }
    if (!route.tryNext(failure)) return false
    context.routedTo(route.target.endpoint)
    this.bill?.servedBy(route.target.endpoint.account)
    return true
  }

  onAnswer(exchange: Answered, head: Head): BodySink {
    const { call } = this.#sending
    call.pieces.length = 0
    call.held?.release()
    this.#unanswered = undefined
    this.#status = head.status
    const { target } = this.#route
    this.#filter = filterFor(head, {
      format: this.#path.format,
      answers: this.#answers,
      nameJson: this.#publication.nameJson,
      servedModel: target.servedModel,
      hideUsage: this.#hideUsage,
      observer: this.bill?.meter ?? UNMETERED,
      requestId: this.#context.requestId,
    })
    this.#delivery = new Delivery({
      exchange,
      clock: this.#ports.clock,
      filter: this.#filter,
      res: this.#res,
      context: this.#context,
      status: head.status,
      headers: answerHeaders(head, target, this.#context),
      handler: this,
    })
    this.#delivery.begin(this.#drain)
    this.#drain = undefined
    return this.#delivery
  }

  onClientLeft(exchange: Answered): Drain | undefined {
    const { clock } = this.#ports
    const drain = this.#drains?.enter(exchange, clock)
    if (drain) return drain
    const awaitsUsage = this.#filter?.finished && this.bill?.meter.isFinal === false
    return awaitsUsage ? drainForUsage(exchange, clock) : undefined
  }

  durable(): Promise<void> | undefined {
    return this.bill?.durable()
  }

  settle(): Promise<void> {
    const error = this.#errorInStream
    return error ? this.#endBroken(error) : this.#endBill('answered')
  }

  onBroken(error: unknown): void {
    this.#commit(this.#endBill(error instanceof Interrupted ? 'interrupted' : 'broken', error))
  }

  onDelivered(delivered: Delivered): void {
    const { outcome, error } = delivered
    if (outcome === 'client_gone') this.#commit(this.#endLeft(error ?? this.#errorInStream))
    if (outcome === 'answered') this.#route.succeeded()
    else if (isUpstreamError(error)) this.#route.failedMidway(error)
    this.#leave()
    const isBroken = outcome === 'answered' && this.#errorInStream
    this.#resolve(isBroken ? { outcome: 'broken', error: ERROR_IN_STREAM } : delivered)
  }

  onUndelivered(error: unknown): void {
    if (isUpstreamError(error)) this.#route.failedMidway(error)
    this.#fail(error)
  }

  /** The request has ended before a byte of an answer was sent. */
  #fail(error: unknown): void {
    this.#over = true
    const isGone = error instanceof ClientGone || this.#res.destroyed
    this.abort(asGwError(error))
    this.#drain?.end()
    const isUnfinished = error instanceof ClientGone || error instanceof Interrupted
    if (!isUnfinished) this.#commit(this.#endBill('failed', error))
    else if (isGone) this.#commit(this.#endBill('client_gone'))
    else this.#commit(this.#endBill('interrupted', error))
    this.#leave()
    if (isGone) this.#resolve(CLIENT_GONE)
    else this.#reject(error)
  }

  get #errorInStream(): GwError | undefined {
    return this.#filter?.failed ? ERROR_IN_STREAM : undefined
  }

  /** Ends the bill of an answer that its client has left. @param error Present if the answer broke while it was drained. */
  #endLeft(error: unknown): Promise<void> {
    if (error === undefined || error instanceof Interrupted) return this.#endBill('client_gone')
    return this.#endBroken(error, true)
  }

  #endBroken(error: unknown, clientLeft = false): Promise<void> {
    return this.#endBill(this.#filter?.isBareError ? 'failed' : 'broken', error, clientLeft)
  }

  #endBill(outcome: RequestFacts['outcome'], error?: unknown, clientLeft = false): Promise<void> {
    const errorCode = error === undefined ? undefined : asGwError(error).code
    // A client that leaves is no error of the endpoint.
    const isFault = outcome !== 'answered' && outcome !== 'client_gone'
    this.#attempt?.end(this.#status, errorCode ?? (isFault ? outcome : undefined))
    if (!this.bill) return NOTHING_TO_SETTLE
    const ended = this.bill.end({
      outcome,
      errorCode,
      status: this.#status,
      wasSent: this.#wasSent,
      clientLeft,
    })
    if (this.#context.trace && !this.#settling) this.#traceSettling(this.#context.trace, ended)
    return ended
  }

  #traceSettling(trace: CallTrace, ended: Promise<void>): void {
    const step = trace.step('settle')
    this.#settling = step
    ended.then(
      () => step.end(),
      (error: unknown) => step.end(asGwError(error).code),
    )
  }

  /** Does not wait for the commit, because no byte depends on it. The ledger retries until it is committed. */
  #commit(ended: Promise<void>): void {
    ended.catch((error: unknown) => this.#ports.log.error({ err: error }, 'a bill was not committed'))
  }

  /** Releases everything that the request reserved. */
  #leave(): void {
    this.bill?.leave()
    this.#route.leave()
    this.#ports.inFlightRequests.delete(this)
  }
}

/** Whether the endpoint caused the error, not the client, the ledger, or a shutdown. */
function isUpstreamError(error: unknown): error is GwError {
  return error instanceof GwError && (error.code === 'upstream_error' || error.code === 'upstream_timeout')
}
