import { UpstreamFailure } from './classify.ts'
import { Exchange, type RelayPorts } from './exchange.ts'
import type { Head, UpstreamRequest } from './types.ts'

/** Who may serve a request, one after the other. What fails here is told, so that the next choice knows of it. */
export interface Candidates {
  /** The request for the endpoint that was chosen last. */
  request(): UpstreamRequest
  /** Chooses another endpoint after `failure`. @returns false where none is left, or none may be asked any more. */
  moveOn(failure: UpstreamFailure): boolean
}

/** An exchange that has a head, with its body held back. */
export interface Answering {
  readonly exchange: Exchange
  readonly head: Head
}

/**
 * Asks one candidate after the other until one answers (DESIGN §7). The client has not seen a byte so far: what
 * fails here can be tried elsewhere, what fails later cannot.
 *
 *     candidate ──▶ exchange ──▶ head ──▶ done: the rest is the answer's
 *         ▲                        │
 *         └── moveOn ◀── failure ──┴──▶ the request's own fault, aborted, nobody left: thrown
 */
export class Failover {
  readonly #candidates: Candidates
  readonly #ports: RelayPorts
  readonly #startedMs: number
  #exchange: Exchange | undefined
  #aborted: Error | undefined

  constructor(candidates: Candidates, ports: RelayPorts) {
    this.#candidates = candidates
    this.#ports = ports
    this.#startedMs = ports.clock.monotonicMs()
  }

  /**
   * @throws {GwError} of the last candidate, or what {@link abort} was given.
   */
  async answer(): Promise<Answering> {
    for (;;) {
      if (this.#aborted) throw this.#aborted
      const exchange = new Exchange(this.#candidates.request(), this.#ports, this.#startedMs)
      this.#exchange = exchange
      try {
        return { exchange, head: await exchange.head }
      } catch (error) {
        const mayMoveOn = error instanceof UpstreamFailure && this.#aborted === undefined
        if (!mayMoveOn || !this.#candidates.moveOn(error)) throw error
      }
    }
  }

  /** Ends whatever is at hand, and the search with it. */
  abort(reason: Error): void {
    this.#aborted ??= reason
    this.#exchange?.abort(reason)
  }
}
