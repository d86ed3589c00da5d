import type { AnswerFilter, FilterOptions } from './filter.ts'

/**
 * Passes an answer that is neither JSON nor an event stream, such as audio or subtitles: it has neither a model name nor
 * usage. Its last piece is withheld.
 */
export class OpaqueAnswer implements AnswerFilter {
  readonly insideEvent = false
  readonly failed = false
  readonly finished = false
  readonly #observer: FilterOptions['observer']
  #withheld: Buffer | undefined
  #atLast = false

  constructor({ observer }: Pick<FilterOptions, 'observer'>) {
    this.#observer = observer
  }

  get atLast(): boolean {
    return this.#atLast
  }

  push(piece: Buffer): readonly Buffer[] {
    this.#observer.onText(0)
    const passed = this.#withheld
    this.#withheld = piece
    return passed ? [passed] : []
  }

  end(): boolean {
    this.#atLast = true
    return true
  }

  takeLast(): readonly Buffer[] {
    const last = this.#withheld
    this.#withheld = undefined
    return last ? [last] : []
  }
}
