import type { ClientPool } from './pools.ts'
import type { UpstreamRequest } from './types.ts'

/**
 * Selects the headers to forward, in both directions (spec/wire.md §5). Headers are flat arrays in which names and values
 * alternate: order, case and repeated lines are preserved.
 */

/** Hop-by-hop headers (RFC 9110 §7.6.1). */
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
  // Some clients send the key of the gateway in these as well.
  'api-key',
  'x-goog-api-key',
  'x-portkey-api-key',
  'cookie',
  'host',
  'content-length',
  'expect',
  'forwarded',
  'x-request-id',
  'request-id',
  // `requestHeaders` requests `identity`: compressed answers must be decoded first.
  'accept-encoding',
])
const NEVER_UPSTREAM_PREFIXES = ['x-forwarded-', 'x-gw-']

const NEVER_DOWNSTREAM = new Set([
  ...HOP_BY_HOP,
  'set-cookie',
  'server',
  'content-length',
  // The body has been decoded.
  'content-encoding',
  'x-request-id',
  'request-id',
  // Would name another origin for the gateway.
  'alt-svc',
  // The gateway sets its own.
  'x-should-retry',
])
/** The upstream's rate headers describe the gateway's account there; CORS is decided by the gateway. */
const NEVER_DOWNSTREAM_PREFIXES = ['x-ratelimit-', 'anthropic-ratelimit-', 'x-gw-', 'access-control-']

/** The directions in which a header is forwarded. */
interface Verdict {
  readonly lower: string
  readonly isForwardedUp: boolean
  readonly isForwardedDown: boolean
}

/** Common names, whose verdicts are precomputed: one look-up for each line. */
const USUAL = `host connection content-type content-length transfer-encoding user-agent accept accept-encoding
  accept-language authorization x-api-key cache-control date server vary via x-request-id anthropic-version
  anthropic-beta openai-organization openai-project openai-processing-ms x-stainless-lang x-stainless-os
  x-stainless-arch x-stainless-package-version x-stainless-runtime x-stainless-runtime-version
  x-stainless-retry-count x-stainless-timeout`.split(/\s+/)

/** By each common spelling: `content-type`, `Content-Type`. */
const VERDICTS: ReadonlyMap<string, Verdict> = new Map(
  USUAL.flatMap(name => [name, capitalised(name)]).map(name => [name, judge(name)]),
)

/**
 * The forwarded headers of the client, followed by those of the endpoint.
 *
 * @param lengthBytes Absent: there is no body.
 * @param contentType See {@link UpstreamRequest}.
 */
export function requestHeaders(
  incoming: readonly string[],
  endpointHeaders: readonly string[],
  lengthBytes: number | undefined,
  contentType?: string,
): string[] {
  const named = connectionNames(incoming)
  let typeToSend = hasHeader(endpointHeaders, 'content-type') ? undefined : contentType
  const lines: string[] = []
  for (let index = 0; index < incoming.length; index += 2) {
    const name = incoming[index] as string
    const { lower, isForwardedUp } = VERDICTS.get(name) ?? judge(name)
    if (!isForwardedUp || named?.has(lower) || hasHeader(endpointHeaders, lower)) continue
    if (lower === 'content-type' && contentType !== undefined) {
      if (typeToSend !== undefined) lines.push(name, typeToSend)
      typeToSend = undefined
    } else {
      lines.push(name, incoming[index + 1] as string)
    }
  }
  if (typeToSend !== undefined) lines.push('content-type', typeToSend)
  lines.push('accept-encoding', 'identity')
  if (lengthBytes !== undefined) lines.push('content-length', String(lengthBytes))
  for (const text of endpointHeaders) lines.push(text)
  return lines
}

/** A request line and header lines that cannot be taken for more than one request. */
const VALID_HEAD =
  /^[A-Z]+ [\x21-\x7e\x80-\xff]+ HTTP\/1\.1\r\n(?:[!#$%&'*+.^`|~\w-]+: [\t\x20-\x7e\x80-\xff]*\r\n)+\r\n$/

/**
 * The head of a request as it is sent: the forwarded headers, followed by those of the endpoint and of a proxy.
 *
 * @throws {Error} if a value has a line end, or a character that is no octet.
 */
export function requestHead(
  { upstream, method, pathAndQuery, headers, lengthBytes, contentType }: UpstreamRequest,
  { host, pathPrefix, proxyHeaders }: Pick<ClientPool, 'host' | 'pathPrefix' | 'proxyHeaders'>,
): string {
  const path = pathPrefix + upstream.basePath + pathAndQuery
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  const lines = requestHeaders(
    headers,
    upstream.headers,
    method === 'POST' || lengthBytes > 0 ? lengthBytes : undefined,
    contentType,
  )
  for (let index = 0; index < lines.length; index += 2) head += `${lines[index]}: ${lines[index + 1]}\r\n`
  for (let index = 0; index < proxyHeaders.length; index += 2)
    head += `${proxyHeaders[index]}: ${proxyHeaders[index + 1]}\r\n`
  head += '\r\n'
  // A value may not add a valid line: beside the fields there are the request line, host, connection and the end.
  const lineCount = 4 + (lines.length + proxyHeaders.length) / 2
  if (!VALID_HEAD.test(head) || lineEnds(head) !== lineCount)
    throw new Error('a header of the request has a character that cannot be sent')
  return head
}

function lineEnds(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** The forwarded headers of the upstream; the caller appends those of the gateway. */
export function responseHeaders(incoming: readonly string[]): string[] {
  const named = connectionNames(incoming)
  const lines: string[] = []
  for (let index = 0; index < incoming.length; index += 2) {
    const name = incoming[index] as string
    const { lower, isForwardedDown } = VERDICTS.get(name) ?? judge(name)
    if (!isForwardedDown || named?.has(lower)) continue
    lines.push(name, incoming[index + 1] as string)
  }
  return lines
}

/** The value of the first line with this name. @param name In lower case. */
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
    isForwardedUp: !NEVER_UPSTREAM.has(lower) && !NEVER_UPSTREAM_PREFIXES.some(begins),
    isForwardedDown: !NEVER_DOWNSTREAM.has(lower) && !NEVER_DOWNSTREAM_PREFIXES.some(begins),
  }
}

function capitalised(name: string): string {
  return name.replace(/(?<=^|-)[a-z]/g, letter => letter.toUpperCase())
}

/** Names that `connection` declares as hop-by-hop. */
function connectionNames(lines: readonly string[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined
  for (let index = 0; index < lines.length; index += 2) {
    if (!isNamed(lines[index] as string, 'connection')) continue
    names ??= new Set()
    for (const name of (lines[index + 1] as string).split(',')) names.add(name.trim().toLowerCase())
  }
  return names
}

function hasHeader(lines: readonly string[], lower: string): boolean {
  for (let index = 0; index < lines.length; index += 2) {
    if (isNamed(lines[index] as string, lower)) return true
  }
  return false
}

function isNamed(name: string, lower: string): boolean {
  return name.length === lower.length && name.toLowerCase() === lower
}
