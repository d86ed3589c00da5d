/**
 * Which header lines go through, in both directions (spec/wire.md §5). Headers travel as flat arrays, names and values in
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
  // What was encoded has been decoded.
  'content-encoding',
  'x-request-id',
  'request-id',
  // Names another origin for what is ours.
  'alt-svc',
  // Decided by the catalogue where we answer, and by the limits where the upstream does.
  'x-should-retry',
])
/** The upstream's rate headers describe our account there, and who may read its answers is not for it to say. */
const NEVER_DOWN_PREFIXES = ['x-ratelimit-', 'anthropic-ratelimit-', 'x-gw-', 'access-control-']

/** What becomes of a line, by its name alone. */
interface Verdict {
  readonly lower: string
  readonly goesUp: boolean
  readonly goesDown: boolean
}

/** Names that nearly every message has; what is judged beforehand costs one look-up a line. */
const USUAL = `host connection content-type content-length transfer-encoding user-agent accept accept-encoding
  accept-language authorization x-api-key cache-control date server vary via x-request-id anthropic-version
  anthropic-beta openai-organization openai-project openai-processing-ms x-stainless-lang x-stainless-os
  x-stainless-arch x-stainless-package-version x-stainless-runtime x-stainless-runtime-version
  x-stainless-retry-count x-stainless-timeout`.split(/\s+/)

/** By each spelling that is in use: `content-type`, `Content-Type`. */
const VERDICTS: ReadonlyMap<string, Verdict> = new Map(
  USUAL.flatMap(name => [name, capitalised(name)]).map(name => [name, judge(name)]),
)

/** The client's header lines for the upstream, followed by the endpoint's own. */
export function requestHeaders(
  incoming: readonly string[],
  endpointHeaders: readonly string[],
  lengthBytes: number,
): string[] {
  const named = connectionNames(incoming)
  const lines: string[] = []
  for (let index = 0; index < incoming.length; index += 2) {
    const name = incoming[index] as string
    const { lower, goesUp } = VERDICTS.get(name) ?? judge(name)
    if (!goesUp || named?.has(lower) || bears(endpointHeaders, lower)) continue
    lines.push(name, incoming[index + 1] as string)
  }
  lines.push('accept-encoding', 'identity', 'content-length', String(lengthBytes))
  for (const text of endpointHeaders) lines.push(text)
  return lines
}

/** The upstream's header lines for the client; what the gateway adds comes behind them. */
export function responseHeaders(incoming: readonly string[]): string[] {
  const named = connectionNames(incoming)
  const lines: string[] = []
  for (let index = 0; index < incoming.length; index += 2) {
    const name = incoming[index] as string
    const { lower, goesDown } = VERDICTS.get(name) ?? judge(name)
    if (!goesDown || named?.has(lower)) continue
    lines.push(name, incoming[index + 1] as string)
  }
  return lines
}

/** The value of the first line that bears `name`, given in lower case. */
export function headerValue(lines: readonly string[], name: string): string | undefined {
  for (let index = 0; index < lines.length; index += 2) {
    if (isNamed(lines[index] as string, name)) return lines[index + 1]
  }
  return undefined
}

function judge(name: string): Verdict {
  const lower = name.toLowerCase()
  const begins = (prefix: string) => lower.startsWith(prefix)
  return {
    lower,
    goesUp: !NEVER_UPSTREAM.has(lower) && !NEVER_UPSTREAM_PREFIXES.some(begins),
    goesDown: !NEVER_DOWN.has(lower) && !NEVER_DOWN_PREFIXES.some(begins),
  }
}

function capitalised(name: string): string {
  return name.replace(/(?<=^|-)[a-z]/g, letter => letter.toUpperCase())
}

/** Headers that `connection` declares to be between two neighbours only. */
function connectionNames(lines: readonly string[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined
  for (let index = 0; index < lines.length; index += 2) {
    if (!isNamed(lines[index] as string, 'connection')) continue
    names ??= new Set()
    for (const name of (lines[index + 1] as string).split(',')) names.add(name.trim().toLowerCase())
  }
  return names
}

function bears(lines: readonly string[], lower: string): boolean {
  for (let index = 0; index < lines.length; index += 2) {
    if (isNamed(lines[index] as string, lower)) return true
  }
  return false
}

function isNamed(name: string, lower: string): boolean {
  return name.length === lower.length && name.toLowerCase() === lower
}
