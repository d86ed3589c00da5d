import { NameTable } from './names.ts'

/** Names below the members of a root object, with the counters for their strings. */
export interface CountedNames {
  readonly counts: number
  readonly table: NameTable
  /** The counter of a name in the table; undefined for a name that is counted only inside the scope. */
  readonly countOf: ReadonlyMap<string, number>
  /** Inside the value of the name `scope`, the names `scoped` have a counter of their own. */
  readonly scope: string
  readonly scoped: ReadonlySet<string>
  readonly scopedCount: number
}

/** @param names Grouped by counter: `[['content', 'text']]` makes one. The scope's counter is the last one. */
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

/** Counts bytes of text in the strings under certain names, driven by a scanner. */
export class StringCounter {
  readonly #names: CountedNames
  readonly #bytes: number[]
  /** The counter of the current strings. */
  #count = 0
  /** Names deeper than this are inside the scope. */
  #scopeDepth = Number.POSITIVE_INFINITY
  /** Bytes of the current incomplete string. */
  #openBytes = 0

  constructor(names: CountedNames) {
    this.#names = names
    this.#bytes = Array.from({ length: names.counts }, () => 0)
  }

  /** Bytes of text of one counter so far. */
  bytes(count: number): number {
    return (this.#bytes[count] ?? 0) + (count === this.#count ? this.#openBytes : 0)
  }

  /** The counter of the current strings. */
  protected get count(): number {
    return this.#count
  }

  /** A name between two offsets has ended. @returns whether its strings are counted. */
  onName(bytes: Uint8Array, from: number, to: number, depth: number): boolean {
    if (depth <= this.#scopeDepth) this.#scopeDepth = Number.POSITIVE_INFINITY
    const name = this.#names.table.find(bytes, from, to)
    return name !== undefined && this.#starts(name, depth)
  }

  /** A member of the root object begins. */
  onRootName(): void {
    this.#scopeDepth = Number.POSITIVE_INFINITY
  }

  /** @param _end Offset of the closing quote, in the numbering of the scanner's caller. */
  onString(bytes: number, _end: number): void {
    this.#bytes[this.#count] = (this.#bytes[this.#count] ?? 0) + bytes
  }

  /** A counted string is incomplete at the end of a piece; 0: none. */
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
