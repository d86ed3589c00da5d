import { UpstreamFailure } from './classify.ts'
import { Exchange, type RelayPorts } from './exchange.ts'
import type { Answering, AnswerTaker, BodySink, UpstreamRequest } from './types.ts'

/** Who may serve a request, one after the other. What fails here is told, so that the next choice knows of it. */
export interface Candidates {
  /** The request for the endpoint that was chosen last. */
  request(): UpstreamRequest
  /** Chooses another endpoint after `failure`. @returns false where none is left, or none may be asked any more. */
  moveOn(failure: UpstreamFailure): boolean
}

/**
 * Asks one candidate after the other until one answers (DESIGN §7). The client has not seen a byte so far: what
 * fails here can be tried elsewhere, what fails later cannot.
 *
 *     candidate ──▶ exchange ──▶ head ──▶ done: the rest is the answer's
 *         ▲                        │
 *         └── moveOn ◀── failure ──┴──▶ the request's own fault, aborted, nobody left: no answer
 */
export class Failover implements AnswerTaker {
  readonly #candidates: Candidates
  readonly #ports: RelayPorts
  readonly #taker: AnswerTaker
  readonly #startedMs: number
  #exchange: Exchange | undefined
  #aborted: Error | undefined

  /** @param taker Hears of the answer, or of the failure of the last candidate, or what {@link abort} was given. */
  constructor(candidates: Candidates, ports: RelayPorts, taker: AnswerTaker) {
    this.#candidates = candidates
    this.#ports = ports
    this.#taker = taker
    this.#startedMs = ports.clock.monotonicMs()
  }

  /** @throws what no candidate is to blame for, before the first is asked. */
  begin(): void {
    if (this.#aborted) throw this.#aborted
    this.#exchange = new Exchange(this.#candidates.request(), this.#ports, this.#startedMs, this)
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
    return this.#taker.onAnswer(answering)
  }

  onNoAnswer(error: unknown): void {
    const mayMoveOn = error instanceof UpstreamFailure && this.#aborted === undefined
    try {
      if (mayMoveOn && this.#candidates.moveOn(error)) return this.begin()
    } catch (thrown) {
      return this.#taker.onNoAnswer(thrown)
    }
    this.#taker.onNoAnswer(error)
  }
}
