/**
 * Exact routing on the raw path without its query. Nothing is decoded or normalised: an ambiguous path matches no route.
 */
export interface Route<Handler> {
  readonly method: string
  /** A path; with a `/` at its end it matches every path below, but not itself. */
  readonly path: string
  readonly handler: Handler
}

export type Match<Handler> =
  | { readonly found: true; readonly handler: Handler; readonly path: string; readonly query: string }
  | {
      readonly found: false
      readonly path: string
      /** Methods of the path. */
      readonly allow: readonly string[]
    }

export class Router<Handler> {
  readonly #exact = new Map<string, Map<string, Handler>>()
  readonly #below: { readonly prefix: string; readonly methods: Map<string, Handler> }[] = []

  constructor(routes: readonly Route<Handler>[]) {
    for (const { method, path, handler } of routes) this.#methods(path).set(method, handler)
  }

  /** @param target The request target in origin form, such as `/v1/messages?beta=true`. */
  match(method: string, target: string): Match<Handler> {
    const cut = target.indexOf('?')
    const path = cut === -1 ? target : target.slice(0, cut)
    const query = cut === -1 ? '' : target.slice(cut)
    const methods = this.#exact.get(path) ?? this.#below.find(({ prefix }) => isBelow(path, prefix))?.methods
    // A HEAD is a GET whose answer has no body (RFC 9110 §9.3.2): node:http leaves it out.
    const handler = methods?.get(method) ?? (method === 'HEAD' ? methods?.get('GET') : undefined)
    if (handler !== undefined) return { found: true, handler, path, query }
    return { found: false, path, allow: methods ? allowOf(methods) : [] }
  }

  /** Whether the path exists, for any method. */
  has(path: string): boolean {
    return this.#exact.has(path) || this.#below.some(({ prefix }) => isBelow(path, prefix))
  }

  #methods(path: string): Map<string, Handler> {
    const known = path.endsWith('/')
      ? this.#below.find(({ prefix }) => prefix === path)?.methods
      : this.#exact.get(path)
    if (known) return known
    const methods = new Map<string, Handler>()
    if (path.endsWith('/')) this.#below.push({ prefix: path, methods })
    else this.#exact.set(path, methods)
    return methods
  }
}

function allowOf(methods: ReadonlyMap<string, unknown>): string[] {
  return [...methods.keys()].flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : method))
}

function isBelow(path: string, prefix: string): boolean {
  return path.length > prefix.length && path.startsWith(prefix)
}
