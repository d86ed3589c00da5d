import { isStorable } from '../base/storable-text.ts'
import { API_PREFIX, OPERATION_IDS, type OperationId, operation } from '../schema/api/operations.ts'

export type OperationMatch =
  | { readonly found: true; readonly id: OperationId; readonly params: Readonly<Record<string, string>> }
  | {
      readonly found: false
      /** The methods that the path supports. */
      readonly allow: readonly string[]
    }

interface Row {
  readonly id: OperationId
  readonly method: string
  /** `{name}` matches any segment. */
  readonly segments: readonly string[]
}

const PARAMETER = /^\{(\w+)\}$/

/**
 * Finds the operation of a request by its raw path, segment by segment. Parameters are decoded once. A segment in a
 * non-canonical encoding matches nothing, so that every name has exactly one path, which a proxy in front cannot
 * interpret differently.
 */
export class OperationRouter {
  readonly #rows = new Map<number, Row[]>()

  constructor() {
    for (const id of OPERATION_IDS) {
      const { method, path } = operation(id)
      const segments = `${API_PREFIX}${path}`.split('/')
      const rows = this.#rows.get(segments.length)
      const row = { id, method, segments }
      if (rows) rows.push(row)
      else this.#rows.set(segments.length, [row])
    }
  }

  /** @param path raw, without its query. */
  match(method: string, path: string): OperationMatch {
    const segments = path.split('/')
    const allow: string[] = []
    for (const row of this.#rows.get(segments.length) ?? []) {
      const params = paramsOf(row.segments, segments)
      if (!params) continue
      if (row.method === method) return { found: true, id: row.id, params }
      allow.push(row.method)
    }
    return { found: false, allow }
  }
}

function paramsOf(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? ''
    const name = PARAMETER.exec(expected)?.[1]
    if (name === undefined) {
      if (segment !== expected) return undefined
      continue
    }
    const value = decoded(segment)
    if (value === undefined) return undefined
    params[name] = value
  }
  return params
}

/** Decodes a segment in the form of `encodeURIComponent`; `:` and `@` may be unescaped (RFC 3986 §3.3). */
function decoded(segment: string): string | undefined {
  if (segment === '') return undefined
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    return undefined // a broken escape, or invalid UTF-8
  }
  if (!isStorable(text)) return undefined
  const canonical = (escaped: string) => escaped.replace(/%(3A|40)/gi, escape => decodeURIComponent(escape))
  const upper = segment.replace(/%[0-9a-f]{2}/gi, escape => escape.toUpperCase())
  return canonical(upper) === canonical(encodeURIComponent(text)) ? text : undefined
}
