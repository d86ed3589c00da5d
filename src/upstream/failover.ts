import { UpstreamFailure } from './classify.ts'
import { Exchange, type RelayPorts } from './exchange.ts'
import type { AnswerHandler, Answering, BodySink, UpstreamRequest } from './types.ts'

/** The endpoints that may serve a request, in turn. */
export interface RetryTargets {
  /** The request for the current endpoint. */
  request(): UpstreamRequest
  /** Chooses another endpoint after `failure`. @returns false if none is left or allowed. */
  tryNext(failure: UpstreamFailure): boolean
}

/**
 * Tries one endpoint after the other until one answers (spec/requests.md §4). This is possible only before the client
 * gets a byte.
 *
 *     endpoint ──▶ exchange ──▶ head ──▶ done: the handler takes the answer
 *         ▲                        │
 *         └── tryNext ◀── failure ──┴──▶ caused by the request, aborted, or no endpoint left: no answer
 */
export class Failover implements AnswerHandler {
  readonly #targets: RetryTargets
  readonly #ports: RelayPorts
  readonly #handler: AnswerHandler
  readonly #startedMs: number
  #exchange: Exchange | undefined
  #aborted: Error | undefined

  /** @param handler Receives the answer, the failure of the last endpoint, or the reason of {@link abort}. */
  constructor(targets: RetryTargets, ports: RelayPorts, handler: AnswerHandler) {
    this.#targets = targets
    this.#ports = ports
    this.#handler = handler
    this.#startedMs = ports.clock.monotonicMs()
  }

  /** @throws the reason of {@link abort} if it was called before, and errors of {@link RetryTargets.request}. */
  begin(): void {
    if (this.#aborted) throw this.#aborted
    this.#exchange = new Exchange(this.#targets.request(), this.#ports, this.#startedMs, this)
  }

  /** Sending to the current endpoint has begun. */
  get dispatched(): boolean {
    return this.#exchange?.dispatched === true
  }

  /** Ends the current exchange and all further attempts. */
  abort(reason: Error): void {
    this.#aborted ??= reason
    this.#exchange?.abort(reason)
  }

  onAnswer(answering: Answering): BodySink {
    return this.#handler.onAnswer(answering)
  }

  onNoAnswer(error: unknown): void {
    const mayTryNext = error instanceof UpstreamFailure && this.#aborted === undefined
    try {
      if (mayTryNext && this.#targets.tryNext(error)) return this.begin()
    } catch (thrown) {
      return this.#handler.onNoAnswer(thrown)
    }
    this.#handler.onNoAnswer(error)
  }
}
