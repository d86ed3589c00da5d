import type { Entry, Node } from '../../config/node.ts'
import { formatPath, type Path } from '../../config/path.ts'
import type { Place } from '../../config/types.ts'

/** A field of the file without an equivalent in gw. Never its value. */
export interface UnconvertedField {
  /** `model_list[2].litellm_params.rpm` */
  readonly field: string
  readonly place: Place
  readonly why: string
}

/** A field that was imported with a change, or needs manual work. */
export interface Note {
  readonly place: Place
  readonly text: string
}

/** The import state of each field of one file. */
export class Tally {
  readonly left: UnconvertedField[] = []
  readonly notes: Note[] = []
  /** The addresses that stand for environment variables, by the variable. */
  readonly addresses = new Map<string, string>()
  /** Literal keys and their variables: the same key always gets the same variable. */
  readonly #keyVariables = new Map<string, string>()
  readonly #reserved: ReadonlySet<string>
  readonly #kept = new Set<string>()
  readonly #left = new Set<string>()

  /** @param reserved the variables that have a value of their own: those that the file names, and those of vendors. */
  constructor(reserved: ReadonlySet<string>) {
    this.#reserved = reserved
  }

  /** An address that never resolves (RFC 2606), in the place of one that is in a variable. */
  addressFor(variable: string): string {
    const known = this.addresses.get(variable)
    if (known !== undefined) return known
    const host = variable
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
    const taken = new Set(this.addresses.values())
    let address = `https://${host}.invalid`
    for (let count = 2; taken.has(address); count++) address = `https://${host}-${count}.invalid`
    this.addresses.set(variable, address)
    return address
  }

  /** The variable for a literal key: `wanted`, or `wanted_2` if that name has another value. */
  variableFor(secret: string, wanted: string): string {
    const known = this.#keyVariables.get(secret)
    if (known !== undefined) return known
    const taken = new Set([...this.#reserved, ...this.#keyVariables.values()])
    let variable = wanted
    for (let count = 2; taken.has(variable); count++) variable = `${wanted}_${count}`
    this.#keyVariables.set(secret, variable)
    return variable
  }

  keep(path: Path): void {
    for (let length = path.length; length > 0; length--) this.#kept.add(identity(path.slice(0, length)))
  }

  leave(part: Part, why: string): void {
    if (this.#left.has(identity(part.path))) return
    this.#left.add(identity(part.path))
    // Its parents are now reported by their parts.
    this.keep(part.path.slice(0, -1))
    this.left.push({ field: formatPath(part.path), place: part.place, why })
  }

  /** Whether any part of it was imported. */
  isKept(path: Path): boolean {
    return this.#kept.has(identity(path))
  }

  isLeft(path: Path): boolean {
    return this.#left.has(identity(path))
  }
}

function identity(path: Path): string {
  return JSON.stringify(path)
}

/** A value of the file with its place. A value that a reader takes counts as imported. */
export class Part {
  readonly node: Node
  readonly path: Path
  readonly place: Place
  readonly tally: Tally

  constructor(node: Node, path: Path, place: Place, tally: Tally) {
    this.node = node
    this.path = path
    this.place = place
    this.tally = tally
  }

  static root(node: Node, tally: Tally): Part {
    return new Part(node, [], node.span.source.placeAt(node.span.start), tally)
  }

  /** A member of a map. An empty field counts as absent. */
  member(name: string): Part | undefined {
    const entry = this.node.kind === 'map' ? this.node.entries.get(name) : undefined
    return entry && !isEmpty(entry.value) ? this.#below(name, entry) : undefined
  }

  members(): readonly (readonly [name: string, part: Part])[] {
    if (this.node.kind !== 'map') return []
    return [...this.node.entries].flatMap(([name, entry]) =>
      isEmpty(entry.value) ? [] : [[name, this.#below(name, entry)] as const],
    )
  }

  items(): readonly Part[] {
    if (this.node.kind !== 'list') return []
    return this.node.items.map((node, at) => {
      return new Part(node, [...this.path, at], node.span.source.placeAt(node.span.start), this.tally)
    })
  }

  /** The text of a scalar; a number as it is written. Does not mark it. */
  get text(): string | undefined {
    if (this.node.kind !== 'scalar' || this.node.value === null) return undefined
    return typeof this.node.value === 'boolean' ? undefined : this.node.written
  }

  /** Marks it and its content as imported. */
  keep(): this {
    this.tally.keep(this.path)
    return this
  }

  leave(why: string): undefined {
    this.tally.leave(this, why)
  }

  note(text: string): void {
    this.tally.notes.push({ place: this.place, text })
  }

  #below(name: string, { key, value }: Entry): Part {
    return new Part(value, [...this.path, name], key.source.placeAt(key.start), this.tally)
  }
}

function isEmpty(node: Node): boolean {
  if (node.kind === 'scalar') return node.value === null
  return (node.kind === 'map' && node.entries.size === 0) || (node.kind === 'list' && node.items.length === 0)
}
