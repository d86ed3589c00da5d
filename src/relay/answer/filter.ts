import type { Protocol } from '../../schema/endpoint.ts'
import type { AnswerObserver } from '../types.ts'

/**
 * Changes the bytes of an answer on their way to the client: the external model name instead of the served one, and
 * what spec/wire.md §3 lists. The last bytes (the end of a body, `[DONE]`, `message_stop`) are withheld until they are
 * taken, so that a bill can be committed before an answer is complete.
 */
export interface AnswerFilter {
  /** @returns bytes that may be written now. @throws {GwError} upstream_error where the answer cannot go on. */
  push(piece: Buffer): readonly Buffer[]
  /** The upstream has ended. @returns whether what it said is a whole answer. */
  end(): boolean
  /** The last bytes have come and are withheld. */
  readonly atLast: boolean
  /** A part of an event has gone out, and not yet its end: what is told next must end it first. */
  readonly insideEvent: boolean
  /** The upstream has told of an error inside its answer: it has said all that it will, and that is not a whole answer. */
  readonly failed: boolean
  /** The model has said why it stopped: of a whole answer only its usage is yet to come. */
  readonly finished: boolean
  /** Gives the withheld bytes away; from here on everything passes. */
  takeLast(): readonly Buffer[]
}

export interface FilterOptions {
  readonly protocol: Protocol
  /** The external model name, as a JSON string. */
  readonly nameJson: Buffer
  /** The name that the upstream was asked for. */
  readonly servedModel: string
  /** The gateway asked for usage and the client did not: the client must not see it. */
  readonly hideUsage: boolean
  readonly observer: AnswerObserver
  /** As the client's headers have it. */
  readonly requestId: string
}
