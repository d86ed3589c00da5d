import { UpstreamFailure } from './classify.ts'
import { Exchange, type RelayPorts } from './exchange.ts'
import type { AnswerHandler, Answering, BodySink, UpstreamRequest } from './types.ts'

/** Who may serve a request, one after the other. What fails here is told, so that the next choice knows of it. */
export interface RetryTargets {
  /** The request for the endpoint that was chosen last. */
  request(): UpstreamRequest
  /** Chooses another endpoint after `failure`. @returns false where none is left, or none may be asked any more. */
  tryNext(failure: UpstreamFailure): boolean
}

/**
 * Asks one candidate after the other until one answers (spec/requests.md §4). The client has not seen a byte so far: what
 * fails here can be tried elsewhere, what fails later cannot.
 *
 *     candidate ──▶ exchange ──▶ head ──▶ done: the rest is the answer's
 *         ▲                        │
 *         └── tryNext ◀── failure ──┴──▶ the request's own fault, aborted, nobody left: no answer
 */
export class Failover implements AnswerHandler {
  readonly #targets: RetryTargets
  readonly #ports: RelayPorts
  readonly #handler: AnswerHandler
  readonly #startedMs: number
  #exchange: Exchange | undefined
  #aborted: Error | undefined

  /** @param handler Hears of the answer, or of the failure of the last candidate, or what {@link abort} was given. */
  constructor(candidates: RetryTargets, ports: RelayPorts, handler: AnswerHandler) {
    this.#targets = candidates
    this.#ports = ports
    this.#handler = handler
    this.#startedMs = ports.clock.monotonicMs()
  }

  /** @throws what no candidate is to blame for, before the first is asked. */
  begin(): void {
    if (this.#aborted) throw this.#aborted
    this.#exchange = new Exchange(this.#targets.request(), this.#ports, this.#startedMs, this)
  }

  /** The request has begun to go to the endpoint that was chosen last. */
  get dispatched(): boolean {
    return this.#exchange?.dispatched === true
  }

  /** Ends whatever is at hand, and the search with it. */
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
