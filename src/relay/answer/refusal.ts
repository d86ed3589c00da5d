import type { AnswerFilter, FilterOptions } from './filter.ts'

/** A refusal that is longer is no message for people; it passes as it is. */
const HOLD_BYTES = 1_048_576

/**
 * An upstream's own 400, 413 or 422, which goes through as it is, except that the client reads the name that it
 * asked for: where the served name stands as a whole JSON string, or in quotes inside one.
 */
export class RefusalAnswer implements AnswerFilter {
  readonly insideEvent = false
  readonly failed = false
  readonly finished = false
  readonly #options: FilterOptions
  #held: Buffer[] = []
  #heldBytes = 0
  #atLast = false
  #passing = false

  constructor(options: FilterOptions) {
    this.#options = options
  }

  get atLast(): boolean {
    return this.#atLast
  }

  push(piece: Buffer): readonly Buffer[] {
    this.#held.push(piece)
    this.#heldBytes += piece.length
    this.#passing ||= this.#heldBytes > HOLD_BYTES
    return this.#passing ? this.#held.splice(0) : []
  }

  end(): boolean {
    this.#atLast = true
    return true
  }

  takeLast(): readonly Buffer[] {
    const held = this.#held.splice(0)
    return this.#passing || held.length === 0 ? held : [this.#renamed(Buffer.concat(held))]
  }

  /** Bytes are compared as latin1, so that what is no UTF-8 survives. */
  #renamed(body: Buffer): Buffer {
    const served = jsonInside(this.#options.servedModel)
    const name = jsonInside(this.#options.nameJson)
    let text = body.toString('latin1')
    for (const [open, close] of QUOTES)
      text = text.replaceAll(open + served + close, (found, at: number) =>
        open === '"' && isMemberName(text, at + found.length) ? found : open + name + close,
      )
    return Buffer.from(text, 'latin1')
  }
}

/** A JSON string; and, inside one, what messages put around names. */
const QUOTES = [
  ['"', '"'],
  [String.raw`\"`, String.raw`\"`],
  ["'", "'"],
  ['`', '`'],
] as const

/** Whether the JSON string that ends at `end` names a member: a model may be called `message`, too. */
function isMemberName(text: string, end: number): boolean {
  return text
    .slice(end, end + 8)
    .trimStart()
    .startsWith(':')
}

/** The inside of a JSON string, as latin1 text of its UTF-8 bytes. */
function jsonInside(value: string | Buffer): string {
  const json = typeof value === 'string' ? Buffer.from(JSON.stringify(value)) : value
  return json.toString('latin1').slice(1, -1)
}
