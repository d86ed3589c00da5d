import { JsonScanner } from '../base/json/scanner.ts'
import { type Edit, extract, splice } from '../base/splice.ts'
import type { InferencePath } from '../schema/paths.ts'
import type { Target } from '../snapshot/types.ts'
import { responseHeaders } from '../upstream/headers.ts'
import type { Head, UpstreamRequest } from '../upstream/types.ts'
import type { Call } from './call.ts'
import { withoutOrigin } from './cors.ts'
import type { RequestContext } from './request-context.ts'

/** All differences between a client's request and its upstream request, and between their answers. */

/** An output limit for a request that has none. */
export interface OutputCapEdit {
  readonly field: 'max_tokens' | 'max_completion_tokens'
  readonly tokens: number
}

/**
 * The edits of a body: the served model name, the output limit if the operator configured one, and `include_usage` if
 * the client did not request it.
 */
export function editsFor(
  call: Call,
  target: Target,
  path: InferencePath,
  cap?: OutputCapEdit,
): { readonly edits: readonly Edit[]; readonly hideUsage: boolean } {
  if (call.upload) return { edits: call.upload.named(target.servedModel), hideUsage: false }
  if (!call.modelAt) return { edits: [], hideUsage: false }
  const { start, end } = call.modelAt
  const named: Edit = { start, end, bytes: target.servedJson }
  const edits = cap ? [named, capped(call, path, cap)] : [named]
  if (!path.usageOnRequest || !call.stream) return { edits: sorted(edits), hideUsage: false }
  const at = call.fields['stream_options']
  const options = at && { start: at.start, end: at.end, json: extract(call.pieces, at.start, at.end) }
  const asked = askForUsage(options, call.objectStart)
  return { edits: sorted([...asked, ...edits]), hideUsage: asked.length > 0 }
}

/** Sets the output limit in the configured field; replaces a null. */
function capped(call: Call, { fields }: InferencePath, { field, tokens }: OutputCapEdit): Edit {
  const name = fields.cap ?? field
  const at = call.fields[name]
  if (at) return { start: at.start, end: at.end, bytes: Buffer.from(String(tokens)) }
  return { start: call.objectStart, end: call.objectStart, bytes: Buffer.from(`"${name}":${tokens},`) }
}

function sorted(edits: readonly Edit[]): readonly Edit[] {
  return edits.length === 1 ? edits : edits.toSorted((a, b) => a.start - b.start)
}

/** @param rawHeaders Of the client, with the trace context of this attempt if the call is traced. */
export function upstreamRequest(
  rawHeaders: readonly string[],
  call: Call,
  edits: readonly Edit[],
  target: Target,
  path: InferencePath,
  query: string,
  context: Pick<RequestContext, 'corsHeaders'>,
): UpstreamRequest {
  const { upload } = call
  let grown = 0
  for (const edit of edits) grown += edit.bytes.length - (edit.end - edit.start)
  return {
    upstream: target.endpoint,
    method: path.method ?? 'POST',
    pathAndQuery: path.suffix + query,
    headers: context.corsHeaders.length > 0 ? withoutOrigin(rawHeaders) : rawHeaders,
    // The body has been read as JSON, whatever the client calls it: `curl -d` calls it a form, and servers reject that.
    contentType: upload || call.lengthBytes === 0 ? undefined : 'application/json',
    body: upload ? () => upload.read(edits) : splice(call.pieces, edits),
    lengthBytes: call.lengthBytes + grown,
    mayBeOpaque: path.mayBeOpaque === true,
  }
}

/** The forwarded headers of the upstream, followed by those of the gateway. */
export function answerHeaders(head: Head, target: Target, context: RequestContext): string[] {
  const lines = responseHeaders(head.headers)
  lines.push('x-request-id', context.requestId)
  if (context.protocol === 'anthropic') lines.push('request-id', context.requestId)
  for (const line of context.rateHeaders()) lines.push(line)
  for (const line of context.corsHeaders) lines.push(line)
  if (context.showsEndpoints) lines.push('x-gw-endpoint', target.endpoint.name)
  lines.push('x-gw-revision', String(context.revision))
  return lines
}

const OPTIONS = Buffer.from('{"include_usage":true}')
const OPTIONS_MEMBER = Buffer.from('"stream_options":{"include_usage":true},')
const TRUE = Buffer.from('true')

/** Position and bytes of `stream_options` in a body. */
export interface StreamOptions {
  readonly start: number
  readonly end: number
  readonly json: Buffer
}

/**
 * The edits that make an OpenAI-style stream end with its usage (spec/wire.md §3). None if the client requested usage
 * itself, or sent options that the upstream must validate.
 *
 * @param objectStart Offset after the opening brace of the body; the body has at least one member.
 */
export function askForUsage(options: StreamOptions | undefined, objectStart: number): readonly Edit[] {
  if (!options) return [{ start: objectStart, end: objectStart, bytes: OPTIONS_MEMBER }]
  const scanner = new JsonScanner()
  scanner.push(options.json, options.start)
  if (scanner.rootKind === 'null') return [{ start: options.start, end: options.end, bytes: OPTIONS }]
  if (scanner.rootKind !== 'object') return []
  const present = scanner.members.filter(member => member.name === 'include_usage')
  const unset = present.filter(member => member.kind === 'false' || member.kind === 'null')
  // Of duplicate members the last one counts in JSON.parse and most other parsers; all are set.
  if (present.length > 0) return unset.map(({ start, end }) => ({ start, end, bytes: TRUE }))
  const inside = options.start + 1
  const comma = scanner.members.length > 0 ? ',' : ''
  return [{ start: inside, end: inside, bytes: Buffer.from(`"include_usage":true${comma}`) }]
}
