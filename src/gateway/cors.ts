import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Cross-origin calls of browser applications (Fetch standard, "CORS protocol"). Only exact origins of the settings are
 * answered; keys go in headers and never in cookies, so credentials are never allowed.
 */

/** What a script may read of an answer beside its body. */
const EXPOSED = [
  'x-request-id',
  'request-id',
  'retry-after',
  'x-should-retry',
  'x-gw-endpoint',
  'x-gw-revision',
  ...['limit', 'remaining', 'reset'].flatMap(part =>
    ['requests', 'tokens'].map(what => `x-ratelimit-${part}-${what}`),
  ),
  ...['requests', 'tokens'].flatMap(what =>
    ['limit', 'remaining', 'reset'].map(part => `anthropic-ratelimit-${what}-${part}`),
  ),
].join(', ')

const NONE: readonly string[] = []
/** An answer differs by origin: what caches it must know. */
const VARY: readonly string[] = ['vary', 'Origin']
/** How long a browser may go without asking again. */
const MAX_AGE_S = 600
const HEADER_LIST = /^[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,4096}$/

/** The header lines that an answer to this request carries for its origin; names and values in turn. */
export function corsHeaders(
  req: Pick<IncomingMessage, 'headers'>,
  allowed: ReadonlySet<string> | undefined,
): readonly string[] {
  if (allowed === undefined) return NONE
  const { origin } = req.headers
  if (origin === undefined || !allowed.has(origin)) return VARY
  return ['access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED, ...VARY]
}

/** A browser asks what it may send, before it sends it: without a key, and without a body. */
export function isPreflight({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/**
 * Answers a preflight. An origin that is not allowed is answered without permission, which its browser takes for a no.
 *
 * @param methods Of the path.
 */
export function answerPreflight(
  req: IncomingMessage,
  res: ServerResponse,
  allowed: ReadonlySet<string>,
  methods: readonly string[],
): void {
  const { origin = '', 'access-control-request-headers': wanted = '' } = req.headers
  res.setHeader('vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers')
  if (allowed.has(origin)) {
    res.setHeader('access-control-allow-origin', origin)
    res.setHeader('access-control-allow-methods', methods.join(', '))
    // `*` would not cover `authorization`.
    if (wanted !== '' && HEADER_LIST.test(wanted)) res.setHeader('access-control-allow-headers', wanted)
    res.setHeader('access-control-max-age', String(MAX_AGE_S))
  }
  res.writeHead(204).end()
}

/**
 * Where the gateway answers for origins the upstream sees none: vendors reject calls that come from a page.
 *
 * @param lines Names and values in turn.
 */
export function withoutOrigin(lines: readonly string[]): readonly string[] {
  const at = lines.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === 'origin')
  return at < 0 ? lines : withoutOrigin([...lines.slice(0, at), ...lines.slice(at + 2)])
}
