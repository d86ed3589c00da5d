import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Cross-origin calls of browser applications (Fetch standard, "CORS protocol"). Only exact origins of the settings are
 * answered; keys go in headers and never in cookies, so credentials are never allowed.
 */

/** Response headers that a script may read. */
const EXPOSED = [
  'x-request-id',
  'request-id',
  'retry-after',
  'x-should-retry',
  'x-gw-endpoint',
  'x-gw-revision',
  ...['limit', 'remaining', 'reset'].flatMap(part =>
    ['requests', 'tokens'].map(unit => `x-ratelimit-${part}-${unit}`),
  ),
  ...['requests', 'tokens'].flatMap(unit =>
    ['limit', 'remaining', 'reset'].map(part => `anthropic-ratelimit-${unit}-${part}`),
  ),
].join(', ')

const NONE: readonly string[] = []
/** For caches: the answer depends on the origin. */
const VARY: readonly string[] = ['vary', 'Origin']
/** How long a browser may cache a preflight answer. */
const MAX_AGE_S = 600
const HEADER_LIST = /^[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,4096}$/

/** The CORS headers of the answer to this request; names and values alternate. */
export function corsHeaders(
  req: Pick<IncomingMessage, 'headers'>,
  allowed: ReadonlySet<string> | undefined,
): readonly string[] {
  if (allowed === undefined) return NONE
  const { origin } = req.headers
  if (origin === undefined || !allowed.has(origin)) return VARY
  return ['access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED, ...VARY]
}

/** Whether this is a CORS preflight. It has neither a key nor a body. */
export function isPreflight({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/**
 * Answers a preflight. For an origin that is not allowed the answer has no `access-control-*` headers, and the browser
 * blocks the request.
 *
 * @param methods Allowed methods of the path.
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
 * Removes `origin` from the request headers: if the gateway handles CORS, the upstream must not see an origin, because
 * vendors reject calls from web pages.
 *
 * @param lines Names and values alternate.
 */
export function withoutOrigin(lines: readonly string[]): readonly string[] {
  const at = lines.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === 'origin')
  return at < 0 ? lines : withoutOrigin([...lines.slice(0, at), ...lines.slice(at + 2)])
}
