/**
 * Which header lines go through, in both directions (WIRE §5). Headers travel as flat arrays, names and values in
 * turn, as they came: order, case and repeated lines survive.
 */

/** Between two neighbours only (RFC 9110 §7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

const NEVER_UPSTREAM = new Set([
  ...HOP_BY_HOP,
  'authorization',
  'x-api-key',
  'cookie',
  'host',
  'content-length',
  'expect',
  'forwarded',
  'x-request-id',
  'request-id',
  // An answer that is compressed cannot be read: see `requestHeaders`.
  'accept-encoding',
])
const NEVER_UPSTREAM_PREFIXES = ['x-forwarded-', 'x-gw-']

const NEVER_DOWN = new Set([
  ...HOP_BY_HOP,
  'set-cookie',
  'server',
  'content-length',
  'x-request-id',
  'request-id',
  // Names another origin for what is ours.
  'alt-svc',
  // Decided by the catalogue where we answer, and by the limits where the upstream does.
  'x-should-retry',
])
/** The upstream's rate headers describe our account there. */
const NEVER_DOWN_PREFIXES = ['x-ratelimit-', 'anthropic-ratelimit-', 'x-gw-']

/** The client's header lines for the upstream, followed by the endpoint's own. */
export function requestHeaders(
  incoming: readonly string[],
  endpointHeaders: readonly string[],
  lengthBytes: number,
): string[] {
  const lines = passed(incoming, NEVER_UPSTREAM, NEVER_UPSTREAM_PREFIXES, namesIn(endpointHeaders))
  lines.push('accept-encoding', 'identity', 'content-length', String(lengthBytes), ...endpointHeaders)
  return lines
}

/** The upstream's header lines for the client; what the gateway adds comes behind them. */
export function responseHeaders(incoming: readonly string[]): string[] {
  return passed(incoming, NEVER_DOWN, NEVER_DOWN_PREFIXES, NO_NAMES)
}

/** The value of the first line that bears `name`, given in lower case. */
export function headerValue(lines: readonly string[], name: string): string | undefined {
  for (let index = 0; index < lines.length; index += 2) {
    if ((lines[index] as string).toLowerCase() === name) return lines[index + 1]
  }
  return undefined
}

const NO_NAMES: ReadonlySet<string> = new Set()

function passed(
  incoming: readonly string[],
  never: ReadonlySet<string>,
  neverPrefixes: readonly string[],
  replaced: ReadonlySet<string>,
): string[] {
  const named = connectionNames(incoming)
  const lines: string[] = []
  for (let index = 0; index < incoming.length; index += 2) {
    const name = incoming[index] as string
    const lower = name.toLowerCase()
    if (never.has(lower) || named.has(lower) || replaced.has(lower)) continue
    if (neverPrefixes.some(prefix => lower.startsWith(prefix))) continue
    lines.push(name, incoming[index + 1] as string)
  }
  return lines
}

/** Headers that `connection` declares to be between two neighbours only. */
function connectionNames(lines: readonly string[]): ReadonlySet<string> {
  let names: Set<string> | undefined
  for (let index = 0; index < lines.length; index += 2) {
    if ((lines[index] as string).toLowerCase() !== 'connection') continue
    names ??= new Set()
    for (const name of (lines[index + 1] as string).split(',')) names.add(name.trim().toLowerCase())
  }
  return names ?? NO_NAMES
}

function namesIn(lines: readonly string[]): ReadonlySet<string> {
  if (lines.length === 0) return NO_NAMES
  return new Set(lines.filter((_, index) => index % 2 === 0).map(name => name.toLowerCase()))
}
