import type { Json } from '../schema/kinds.ts'
import type { Described } from './fields.ts'
import { findingsOf, type Issue, type IssueContext, unfolded } from './issues.ts'
import type { Node } from './node.ts'
import type { Path } from './path.ts'
import type { Report } from './report.ts'

/** The part of a zod schema that validation needs. */
export interface Schema<Output> extends Described {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: Output }
    | { readonly success: false; readonly error: { readonly issues: unknown } }
}

/**
 * The number of validation rounds. Each round removes the invalid parts found before, because zod skips the checks of
 * an object while one of its fields is invalid.
 */
const ROUNDS = 3

/**
 * Validates a node against the schema and reports every error.
 *
 * @returns the decoded value, or `undefined` after any error.
 */
export function check<Output>(
  schema: Schema<Output>,
  asked: Omit<IssueContext, 'schema'>,
  report: Report,
): Output | undefined {
  const struck = new Struck()
  let json = toJson(asked.node, report, struck, asked.path)
  if (struck.has([])) return undefined
  for (let round = 1; round <= ROUNDS; round++) {
    const result = schema.safeParse(json)
    if (result.success) return struck.isEmpty ? result.data : undefined
    const issues = (result.error.issues as Issue[])
      .flatMap(unfolded)
      .filter(issue => !struck.explains(issue.path))
    if (issues.length === 0) return undefined
    for (const finding of findingsOf(issues, { ...asked, schema })) report.add(finding)
    for (const issue of issues) {
      for (const key of issue.keys ?? [undefined])
        struck.add(key === undefined ? issue.path : [...issue.path, key])
    }
    if (struck.has([])) return undefined
    json = without(json, struck, [])
  }
  return undefined
}

/** Paths with a reported error; errors there or below are consequences. */
class Struck {
  readonly #paths = new Set<string>()
  /** Every path above an excluded one, so that a lookup stays cheap in a file with a hundred thousand errors. */
  readonly #above = new Set<string>()

  get isEmpty(): boolean {
    return this.#paths.size === 0
  }

  add(path: readonly PropertyKey[]): void {
    this.#paths.add(JSON.stringify(path))
    for (let length = 1; length < path.length; length++)
      this.#above.add(JSON.stringify(path.slice(0, length)))
  }

  has(path: readonly PropertyKey[]): boolean {
    if (this.isEmpty) return false
    for (let length = 0; length <= path.length; length++) {
      if (this.#paths.has(JSON.stringify(path.slice(0, length)))) return true
    }
    return false
  }

  /** Whether an issue at `path` is a consequence: at, below, or around an excluded path. */
  explains(path: readonly PropertyKey[]): boolean {
    return this.has(path) || this.#above.has(JSON.stringify(path))
  }
}

/** The plain value of a node. Broken nodes are reported, excluded, and become `undefined`. */
function toJson(node: Node, report: Report, struck: Struck, at: Path): Json | undefined {
  const inner: (string | number)[] = []
  const plain = (node: Node): Json | undefined => {
    if (node.kind === 'scalar') return node.value
    if (node.kind === 'list') return node.items.map((item, index) => within(index, item)) as Json
    if (node.kind === 'map') {
      const json: Record<string, Json | undefined> = {}
      for (const [name, { value }] of node.entries) json[name] = within(name, value)
      return json as Json
    }
    for (const finding of node.findings) report.add({ ...finding, path: [...at, ...inner] })
    struck.add(inner)
    return undefined
  }
  const within = (step: string | number, node: Node): Json | undefined => {
    inner.push(step)
    const value = plain(node)
    inner.pop()
    return value
  }
  return plain(node)
}

function without(json: Json | undefined, struck: Struck, path: Path): Json | undefined {
  if (struck.has(path)) return undefined
  if (Array.isArray(json)) return json.map((item, index) => without(item, struck, [...path, index])) as Json
  if (json === null || typeof json !== 'object') return json
  const kept = Object.entries(json).flatMap(([name, value]) => {
    const rest = without(value, struck, [...path, name])
    return rest === undefined ? [] : [[name, rest] as const]
  })
  return Object.fromEntries(kept)
}
