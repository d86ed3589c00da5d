import { JsonScanner } from '../../base/json/scanner.ts'
import type { AnswerFilter, FilterOptions } from './filter.ts'
import { isJsonLike, LOOK_BACK, ServedName } from './served-name.ts'

/** A longer answer passes in parts, still with the names restored. */
const HOLD_BYTES = 1_048_576

/**
 * Filters an upstream's own 400, 409, 413 or 422. Only the model name is replaced by the external one and, on Anthropic's
 * paths, the request id by the gateway's.
 */
export class RejectionAnswer implements AnswerFilter {
  readonly insideEvent = false
  readonly failed = false
  readonly finished = false
  readonly #options: FilterOptions
  readonly #served: ServedName
  #held: Buffer[] = []
  #heldBytes = 0
  /** For an answer that passes in parts, in latin1: the end of the passed text, and the text that has not passed. */
  #rest = ''
  #passed = 0
  #isJson: boolean | undefined
  #atLast = false
  #isPassing = false

  constructor(options: FilterOptions) {
    this.#options = options
    this.#served = new ServedName(options.servedModel, options.nameJson)
  }

  get atLast(): boolean {
    return this.#atLast
  }

  push(piece: Buffer): readonly Buffer[] {
    this.#held.push(piece)
    this.#heldBytes += piece.length
    this.#isPassing ||= this.#heldBytes > HOLD_BYTES
    if (!this.#isPassing) return []
    const text = this.#rest + this.#takeHeld()
    const from = this.#passed
    const to = Math.max(from, this.#served.safeEnd(text))
    this.#passed = Math.min(LOOK_BACK, to)
    this.#rest = text.slice(to - this.#passed)
    return [this.#restored(text, from, to)]
  }

  end(): boolean {
    this.#atLast = true
    return true
  }

  takeLast(): readonly Buffer[] {
    const isWhole = !this.#isPassing
    const text = this.#rest + this.#takeHeld()
    const from = this.#passed
    this.#rest = ''
    this.#passed = 0
    if (text.length === from) return []
    const isNamed = isWhole && this.#options.format === 'messages'
    return [this.#restored(isNamed ? this.#withOwnId(text) : text, from)]
  }

  #takeHeld(): string {
    const held = Buffer.concat(this.#held)
    this.#held = []
    return held.toString('latin1')
  }

  #restored(text: string, from: number, to?: number): Buffer {
    this.#isJson ??= isJsonLike(text)
    return Buffer.from(this.#served.restored(text, this.#isJson, from, to), 'latin1')
  }

  /** Replaces the upstream's request id: only the gateway's is in its log. */
  #withOwnId(text: string): string {
    const scanner = new JsonScanner()
    scanner.push(Buffer.from(text, 'latin1'))
    const id = scanner.done ? scanner.members.findLast(({ name }) => name === 'request_id') : undefined
    if (!id) return text
    return text.slice(0, id.start) + JSON.stringify(this.#options.requestId) + text.slice(id.end)
  }
}
