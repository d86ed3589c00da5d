import type { Usage } from '../schema/ledger.ts'
import type { UsageDialect } from '../schema/paths.ts'
import { UsageReader } from './usage.ts'

/**
 * The end of an answer, for its bill: complete, left by its client, broken off by its upstream, or interrupted by a
 * shutdown of the gateway.
 */
export type AnswerEnding = 'answered' | 'client_gone' | 'broken' | 'interrupted'

export interface Measured {
  readonly usage: Usage
  /** The upstream did not report the usage, or not all of it. */
  readonly estimated: boolean
}

/** Bytes of text per token in estimates (spec/wire.md §4 counts characters; in English both are equal). */
const BYTES_PER_TOKEN = 4

/**
 * Measures the usage of a streaming answer. Usage reported by the upstream takes precedence. If it is missing, for example
 * because the answer broke off, the input is estimated from the request and the output from the text that passed.
 */
export class AnswerMeter {
  readonly #reader: UsageReader
  readonly #inputTokens: number
  #textBytes = 0
  #began = false

  /** @param inputTokens The charged input if none is reported; never more than was held. */
  constructor(dialect: UsageDialect, inputTokens: number) {
    this.#reader = new UsageReader(dialect)
    this.#inputTokens = inputTokens
  }

  /** Whether a part of the answer's body has arrived. */
  get began(): boolean {
    return this.#began
  }

  /** Whether the final usage of the answer has arrived. */
  get isFinal(): boolean {
    return this.#reader.isFinal
  }

  /** A member that may contain usage has passed; `json` is its value. */
  onMember(name: string, json: Buffer): void {
    this.#reader.observe(name, json)
  }

  /** A part of the body has passed, with this many bytes of text written by the model. */
  onText(bytes: number): void {
    this.#began = true
    this.#textBytes += bytes
  }

  measure(ending: AnswerEnding): Measured {
    const reported = this.#reader.read()
    if (reported && (ending === 'answered' || this.#reader.isFinal))
      return { usage: reported, estimated: false }
    const outputTokens = this.#reader.hasOutput ? Math.ceil(this.#textBytes / BYTES_PER_TOKEN) : 0
    if (reported) {
      // Anthropic reports the input first and the output last: an answer that broke off has only the input.
      const usage = { ...reported, outputTokens: Math.max(reported.outputTokens, outputTokens) }
      return { usage, estimated: true }
    }
    const inputTokens = this.#inputTokens
    return {
      usage: { inputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens, searchUnits: 0 },
      estimated: true,
    }
  }
}
