import { modelFilter } from '../../../snapshot/model-filter.ts'

/** A subset of the models of a {@link ModelSets}, as bits. */
export type ModelSet = Uint32Array

const BITS = 32
const GLOB = /[*?]/

/**
 * Sets of models by their name patterns. Each pattern is matched once for all keys that share it: ten thousand keys
 * and five hundred models would need five million matches.
 */
export class ModelSets {
  readonly #models: readonly string[]
  readonly #places: ReadonlyMap<string, number>
  readonly #byPattern = new Map<string, ModelSet>()
  readonly #byPatterns = new Map<string, ModelSet>()

  constructor(models: Iterable<string>) {
    this.#models = [...new Set(models)].sort()
    this.#places = new Map(this.#models.map((model, place) => [model, place]))
  }

  /** The models that match names and globs. */
  matching(patterns: readonly string[]): ModelSet {
    const id = patterns.join('\n')
    let set = this.#byPatterns.get(id)
    if (!set) {
      set = this.none()
      for (const pattern of patterns) union(set, this.#ofPattern(pattern))
      this.#byPatterns.set(id, set)
    }
    return set
  }

  of(models: Iterable<string>): ModelSet {
    const set = this.none()
    for (const model of models) this.#add(set, model)
    return set
  }

  none(): ModelSet {
    return new Uint32Array(Math.ceil(this.#models.length / BITS))
  }

  names(set: ModelSet): string[] {
    return this.#models.filter((_, place) => ((set[Math.floor(place / BITS)] ?? 0) >>> (place % BITS)) & 1)
  }

  #ofPattern(pattern: string): ModelSet {
    let set = this.#byPattern.get(pattern)
    if (!set) {
      const matches = GLOB.test(pattern) ? this.#models.filter(modelFilter([pattern])) : [pattern]
      set = this.of(matches)
      this.#byPattern.set(pattern, set)
    }
    return set
  }

  #add(set: ModelSet, model: string): void {
    const place = this.#places.get(model)
    if (place === undefined) return
    const word = Math.floor(place / BITS)
    set[word] = (set[word] ?? 0) | (1 << (place % BITS))
  }
}

function union(into: ModelSet, other: ModelSet): void {
  for (const [word, bits] of other.entries()) into[word] = (into[word] ?? 0) | bits
}

/** The intersection of all sets. */
export function common(first: ModelSet, ...others: readonly ModelSet[]): ModelSet {
  return first.map((bits, word) => others.reduce((left, other) => left & (other[word] ?? 0), bits))
}

/** The first set without the second. */
export function without(first: ModelSet, second: ModelSet): ModelSet {
  return first.map((bits, word) => bits & ~(second[word] ?? 0))
}

export function isEmpty(set: ModelSet): boolean {
  return set.every(bits => bits === 0)
}
