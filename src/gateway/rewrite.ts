import { type Edit, extract, splice } from '../base/splice.ts'
import type { InferencePath } from '../schema/paths.ts'
import type { Target } from '../snapshot/types.ts'
import { responseHeaders } from '../upstream/headers.ts'
import { askForUsage } from '../upstream/include-usage.ts'
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
  const { start, end } = call.modelAt
  const named: Edit = { start, end, bytes: target.servedJson }
  const edits = cap ? [named, capped(call, path, cap)] : [named]
  if (path.dialect !== 'openai_chat' || !call.stream) return { edits: sorted(edits), hideUsage: false }
  const at = call.streamOptionsAt
  const options = at && { start: at.start, end: at.end, json: extract(call.pieces, at.start, at.end) }
  const asked = askForUsage(options, call.objectStart)
  return { edits: sorted([...asked, ...edits]), hideUsage: asked.length > 0 }
}

/** Sets the output limit in the configured field; replaces a null. */
function capped(call: Call, { protocol }: InferencePath, { field, tokens }: OutputCapEdit): Edit {
  // Anthropic has only this field.
  const name = protocol === 'anthropic' ? 'max_tokens' : field
  const at = name === 'max_tokens' ? call.maxTokensAt : call.maxCompletionTokensAt
  if (at) return { start: at.start, end: at.end, bytes: Buffer.from(String(tokens)) }
  return { start: call.objectStart, end: call.objectStart, bytes: Buffer.from(`"${name}":${tokens},`) }
}

function sorted(edits: readonly Edit[]): readonly Edit[] {
  return edits.length === 1 ? edits : edits.toSorted((a, b) => a.start - b.start)
}

export function upstreamRequest(
  rawHeaders: readonly string[],
  call: Call,
  edits: readonly Edit[],
  target: Target,
  path: InferencePath,
  query: string,
  context: Pick<RequestContext, 'corsHeaders'>,
): UpstreamRequest {
  let grown = 0
  for (const edit of edits) grown += edit.bytes.length - (edit.end - edit.start)
  return {
    upstream: target.endpoint,
    pathAndQuery: path.suffix + query,
    headers: context.corsHeaders.length > 0 ? withoutOrigin(rawHeaders) : rawHeaders,
    body: splice(call.pieces, edits),
    lengthBytes: call.lengthBytes + grown,
    isLong: call.stream,
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
