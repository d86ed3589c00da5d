import type { ByteSource } from '../../base/byte-source.ts'
import type { AnswerFormat } from '../../schema/paths.ts'
import type { AnswerObserver } from '../types.ts'

/**
 * Edits a streaming answer: replaces the served model name by the external one, and applies spec/wire.md §3. The last
 * bytes (the end of a body, `[DONE]`, `message_stop`) are withheld until `takeLast`, so that a bill can be committed
 * before an answer is complete.
 */
export interface AnswerFilter {
  /**
   * A fast path of {@link push}: succeeds if every event in `bytes` has the form of an earlier one.
   * @returns the bytes to write now, valid until the next call; undefined: nothing was consumed, call `push`.
   */
  repeated?(bytes: Buffer): ByteSource | undefined
  /** @returns bytes that may be written now. @throws {GwError} upstream_error if the answer cannot continue. */
  push(piece: Buffer): readonly Buffer[]
  /** The upstream has ended. @returns whether the answer is complete. */
  end(): boolean
  /** The last bytes have arrived and are withheld. */
  readonly atLast: boolean
  /** An event was sent in part: it must be ended before another event. */
  readonly insideEvent: boolean
  /** The `sequence_number` of an error event in this stream; absent if its format has none. */
  readonly nextSequence?: number | undefined
  /** The answer contains an error event, or reports its own failure: it will not be complete. */
  readonly failed: boolean
  /** The whole answer is an error: the model has written nothing. Absent: its parts are measured as they arrive. */
  readonly isBareError?: boolean
  /** The finish reason has arrived: only the usage is still missing. */
  readonly finished: boolean
  /** Returns the withheld bytes; everything passes from here on. */
  takeLast(): readonly Buffer[]
}

export interface FilterOptions {
  readonly format: AnswerFormat
  /** Requested answers: a stream of images ends with the last one. */
  readonly answers: number
  /** The external model name, as a JSON string. */
  readonly nameJson: Buffer
  /** The model name in the upstream request. */
  readonly servedModel: string
  /** The gateway requested usage and the client did not: the client must not see it. */
  readonly hideUsage: boolean
  readonly observer: AnswerObserver
  /** The id in the client's response headers. */
  readonly requestId: string
}
