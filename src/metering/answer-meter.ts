import type { Usage } from '../schema/ledger.ts'
import { type UsageDialect, UsageReader } from './usage.ts'

/**
 * How an answer ended, as far as its bill goes: whole, left by its client, broken off by its upstream, or by the
 * gateway itself, which was told to end.
 */
export type AnswerEnding = 'answered' | 'client_gone' | 'broken' | 'interrupted'

export interface Measured {
  readonly usage: Usage
  /** Not, or not all of it, as the upstream reported it. */
  readonly estimated: boolean
}

/** Bytes of text that make a token, where nobody counts them (spec/wire.md §4 says characters; for English they are one). */
const BYTES_PER_TOKEN = 4

/**
 * Watches an answer pass and says what it used. What the upstream reported counts; where it did not, or had not yet
 * when the answer broke off, the input is estimated from the request and the output from the text that passed.
 */
export class AnswerMeter {
  readonly #reader: UsageReader
  readonly #inputTokens: number
  #textBytes = 0
  #began = false

  /** @param inputTokens What the input is charged as, where it is not reported; never more than was held for it. */
  constructor(dialect: UsageDialect, inputTokens: number) {
    this.#reader = new UsageReader(dialect)
    this.#inputTokens = inputTokens
  }

  /** Whether anything of an answer's body has come. */
  get began(): boolean {
    return this.#began
  }

  /** Whether usage has come with which a whole answer ends. */
  get isFinal(): boolean {
    return this.#reader.isFinal
  }

  /** A member that may tell usage has passed; `json` is its value. */
  onMember(name: string, json: Buffer): void {
    this.#reader.observe(name, json)
  }

  /** A part of the body has passed, with this many bytes of text in it that the model has written. */
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
      // Anthropic tells the input first and the output last: an answer that broke off has only the former.
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
