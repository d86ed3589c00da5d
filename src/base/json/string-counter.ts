import { NameTable } from './names.ts'

/** Names below the members of a root object whose strings are counted, and the count that each adds to. */
export interface CountedNames {
  readonly counts: number
  readonly table: NameTable
  /** The count of a name of the table; undefined of one that is counted inside the scope alone. */
  readonly countOf: ReadonlyMap<string, number>
  /** Inside the value of the name `scope`, the names `scoped` add to a count of their own. */
  readonly scope: string
  readonly scoped: ReadonlySet<string>
  readonly scopedCount: number
}

/** @param names By their count: `{ answer: ['content', 'text'] }` makes one. The scope's count is the last one. */
export function countedNames(
  names: readonly (readonly string[])[],
  scope: { readonly name: string; readonly names: readonly string[] },
): CountedNames {
  const countOf = new Map(names.flatMap((each, count) => each.map(name => [name, count] as const)))
  return {
    counts: names.length + 1,
    table: new NameTable([...new Set([...countOf.keys(), scope.name, ...scope.names])]),
    countOf,
    scope: scope.name,
    scoped: new Set(scope.names),
    scopedCount: names.length,
  }
}

/** Counts bytes of text in the strings that stand under certain names, while a scanner walks over them. */
export class StringCounter {
  readonly #names: CountedNames
  readonly #bytes: number[]
  /** The count of the strings at hand. */
  #count = 0
  /** Names deeper than this stand inside the scope. */
  #scopeDepth = Number.POSITIVE_INFINITY
  /** Of a counted string that has not ended yet. */
  #openBytes = 0

  constructor(names: CountedNames) {
    this.#names = names
    this.#bytes = Array.from({ length: names.counts }, () => 0)
  }

  /** Bytes of text under the names of one count, as far as they have come. */
  bytes(count: number): number {
    return (this.#bytes[count] ?? 0) + (count === this.#count ? this.#openBytes : 0)
  }

  /** A name has ended, between two offsets. @returns whether the strings that follow are counted. */
  onName(bytes: Uint8Array, from: number, to: number, depth: number): boolean {
    if (depth <= this.#scopeDepth) this.#scopeDepth = Number.POSITIVE_INFINITY
    const name = this.#names.table.find(bytes, from, to)
    return name !== undefined && this.#starts(name, depth)
  }

  /** A member of the root object has begun. */
  onRootName(): void {
    this.#scopeDepth = Number.POSITIVE_INFINITY
  }

  onString(bytes: number): void {
    this.#bytes[this.#count] = (this.#bytes[this.#count] ?? 0) + bytes
  }

  /** A counted string has come in part; 0: none. */
  onOpenString(bytes: number): void {
    this.#openBytes = bytes
  }

  reset(): void {
    this.#bytes.fill(0)
    this.#openBytes = 0
    this.#scopeDepth = Number.POSITIVE_INFINITY
  }

  #starts(name: string, depth: number): boolean {
    const { scope, scoped, scopedCount, countOf } = this.#names
    const isInside = this.#scopeDepth !== Number.POSITIVE_INFINITY
    if (name === scope && !isInside) this.#scopeDepth = depth
    const count = isInside ? (scoped.has(name) ? scopedCount : undefined) : countOf.get(name)
    if (count === undefined) return false
    this.#count = count
    return true
  }
}
