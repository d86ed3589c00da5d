import type { Clock, Timer } from '../base/clock.ts'
import { UpstreamFailure } from './classify.ts'
import { type Coding, type Decoder, decoderFor } from './coding.ts'
import type { Answered, BodySink } from './types.ts'

/** Text rarely compresses by more than 50 to 1, a decompression bomb by 1000 to 1. */
const MAX_RATIO = 200
/** The ratio is checked from here on, which is before a byte of a JSON answer is sent to the client. */
const FREE_BYTES = 131_072
const UNDECODABLE = 'The compressed answer of the model server could not be decoded.'
const MAX_DECODED_BYTES = 268_435_456
/** Behind the end of what was decoded; then the connection is closed instead of reused. */
const MAX_EXCESS_BYTES = 65_536

export interface DecodedBodyOptions {
  readonly coding: Coding
  readonly endpoint: string
  readonly clock: Clock
  /** Time for the client to read the rest after the upstream has ended. */
  readonly readTimeoutMs: number
}

/**
 * Decodes a compressed answer while it streams, with backpressure and a limit against decompression bombs.
 *
 *     exchange ──piece──▶ decoder ──decoded──▶ sink
 *        ▲ resume            │ error, too much, ended too early
 *        └───── drain ───────┴──▶ onBreak
 */
export class DecodedBody implements BodySink, Answered {
  readonly #exchange: Answered
  readonly #options: DecodedBodyOptions
  #sink: BodySink | undefined
  #decoder: Decoder | undefined
  #decodedBytes = 0
  #encodedBytes = 0
  /** The upstream has ended. */
  #isComplete = false
  #over = false
  /** Abort reason, while the exchange is being aborted. */
  #aborted: Error | undefined
  #readTimeout: Timer | undefined

  constructor(exchange: Answered, options: DecodedBodyOptions) {
    this.#exchange = exchange
    this.#options = options
  }

  /** Must be called before the first piece. */
  to(sink: BodySink): this {
    this.#sink = sink
    return this
  }

  onPiece(piece: Buffer): boolean {
    if (this.#aborted || piece.length === 0) return true
    this.#encodedBytes += piece.length
    if (this.#over) {
      this.#limitExcess()
      return true
    }
    const decoder = (this.#decoder ??= this.#open(piece[0] as number))
    if (decoder.write(piece)) return true
    decoder.once('drain', () => this.#exchange.resume())
    return false
  }

  /** The decoder has ended before the upstream: what still comes says nothing. */
  #limitExcess(): void {
    if (this.#encodedBytes - (this.#decoder?.bytesWritten ?? 0) > MAX_EXCESS_BYTES)
      this.#exchange.abort(new Error('bytes behind the end of a compressed answer'))
  }

  onEnd(): void {
    if (this.#over) return
    if (this.#aborted) return this.onBreak(this.#aborted)
    this.#isComplete = true
    if (!this.#decoder) return this.#end()
    const { clock, readTimeoutMs } = this.#options
    this.#readTimeout = clock.after(readTimeoutMs, () => this.#fail('not read in time', 'upstream_timeout'))
    this.#decoder.end()
  }

  onBreak(error: unknown): void {
    if (!this.#close()) return
    this.#sink?.onBreak(error)
  }

  resume(): void {
    this.#decoder?.resume()
  }

  abort(reason: Error): void {
    if (this.#over || this.#aborted) return
    if (this.#isComplete) return this.onBreak(reason)
    this.#aborted = reason
    this.#exchange.abort(reason)
  }

  #open(first: number): Decoder {
    const decoder = decoderFor(this.#options.coding, first)
    decoder.on('data', (bytes: Buffer) => this.#decoded(bytes, decoder))
    decoder.once('end', () => this.#end())
    // Never removed: an error after the end must not crash the process.
    decoder.on('error', error => this.#fail(error.message))
    return decoder
  }

  #decoded(bytes: Buffer, decoder: Decoder): void {
    if (this.#over || this.#aborted) return
    const { bytesWritten: encodedBytes } = decoder
    this.#decodedBytes += bytes.length
    const isTooDense = this.#decodedBytes > FREE_BYTES + MAX_RATIO * encodedBytes
    if (isTooDense || this.#decodedBytes > MAX_DECODED_BYTES)
      return this.#fail(`${this.#decodedBytes} bytes out of ${encodedBytes}`)
    if (this.#sink?.onPiece(bytes) === false) decoder.pause()
  }

  #end(): void {
    if (!this.#close()) return
    this.#sink?.onEnd()
    if (this.#isComplete) return
    // The decoder may have been full, and empties no more.
    this.#exchange.resume()
    this.#limitExcess()
  }

  #fail(why: string, code: 'upstream_error' | 'upstream_timeout' = 'upstream_error'): void {
    const { endpoint, coding } = this.#options
    const reason = `${endpoint}: content-encoding ${coding}, though identity was requested: ${why}`
    this.abort(
      new UpstreamFailure(code, code === 'upstream_error' ? UNDECODABLE : undefined, {
        reason,
        countsAsFailure: true,
        hasAnswered: true,
      }),
    )
  }

  /** @returns false if it was already over. */
  #close(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#readTimeout?.cancel()
    this.#decoder?.destroy()
    return true
  }
}
