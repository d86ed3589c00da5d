import type { Clock, Timer } from '../base/clock.ts'
import { UpstreamFailure } from './classify.ts'
import { type Coding, type Decoder, decoderFor } from './coding.ts'
import type { Answered, BodySink } from './types.ts'

/** A text is seldom a fiftieth of its size when it is compressed; a bomb is a thousandth. */
const MAX_RATIO = 200
/** Judged by its ratio from here on, which is before a byte of an answer in JSON goes to the client. */
const FREE_BYTES = 131_072
const UNDECODABLE = 'The compressed answer of the model server could not be decoded.'
const MAX_DECODED_BYTES = 268_435_456

export interface DecodedBodyOptions {
  readonly coding: Coding
  readonly endpoint: string
  readonly clock: Clock
  /** For so long a client may take what is left to be decoded once the upstream has said all. */
  readonly patienceMs: number
}

/**
 * The body of an answer that came compressed, decoded on its way: at the pace of its reader, and within a bound, so
 * that few bytes never become many.
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
  /** The upstream has said all. */
  #isComplete = false
  #over = false
  /** Why it was ended from this side; the exchange goes about it. */
  #aborted: Error | undefined
  #patience: Timer | undefined

  constructor(exchange: Answered, options: DecodedBodyOptions) {
    this.#exchange = exchange
    this.#options = options
  }

  /** To be called before the first piece. */
  to(sink: BodySink): this {
    this.#sink = sink
    return this
  }

  onPiece(piece: Buffer): boolean {
    if (this.#over || this.#aborted || piece.length === 0) return true
    const decoder = (this.#decoder ??= this.#open(piece[0] as number))
    if (decoder.write(piece)) return true
    decoder.once('drain', () => this.#exchange.resume())
    return false
  }

  onEnd(): void {
    if (this.#over) return
    if (this.#aborted) return this.onBreak(this.#aborted)
    this.#isComplete = true
    if (!this.#decoder) return this.#end()
    const { clock, patienceMs } = this.#options
    this.#patience = clock.after(patienceMs, () => this.#fail('not read in time', 'upstream_timeout'))
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
    // It stays on: what fails behind the end of all this must not end the process.
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
    if (this.#close()) this.#sink?.onEnd()
  }

  #fail(why: string, code: 'upstream_error' | 'upstream_timeout' = 'upstream_error'): void {
    const { endpoint, coding } = this.#options
    const reason = `${endpoint}: content-encoding ${coding}, though identity was asked for: ${why}`
    this.abort(
      new UpstreamFailure(code, code === 'upstream_error' ? UNDECODABLE : undefined, {
        reason,
        countsAsFailure: true,
        hasAnswered: true,
      }),
    )
  }

  /** @returns false where it was over before. */
  #close(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#patience?.cancel()
    this.#decoder?.destroy()
    return true
  }
}
