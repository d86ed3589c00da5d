import type { IncomingMessage } from 'node:http'
import { type Edit, extract, splice } from '../base/splice.ts'
import { responseHeaders } from '../relay/headers.ts'
import { askForUsage } from '../relay/include-usage.ts'
import type { Head, UpstreamRequest } from '../relay/types.ts'
import type { Target } from '../snapshot/types.ts'
import type { Call } from './call.ts'
import type { InferencePath } from './endpoints.ts'
import type { Trace } from './trace.ts'

/** What changes between the two sides of a request, and nothing else does. */

/** The changes to a body: the served name, and the question for usage where the client did not ask it. */
export function editsFor(
  call: Call,
  target: Target,
  path: InferencePath,
): { readonly edits: readonly Edit[]; readonly hideUsage: boolean } {
  const { start, end } = call.modelAt
  const named: Edit = { start, end, bytes: target.servedJson }
  if (path.dialect !== 'openai_chat' || !call.stream) return { edits: [named], hideUsage: false }
  const at = call.streamOptionsAt
  const options = at && { start: at.start, end: at.end, json: extract(call.pieces, at.start, at.end) }
  const asked = askForUsage(options, call.objectStart)
  return { edits: [...asked, named].sort((a, b) => a.start - b.start), hideUsage: asked.length > 0 }
}

export function upstreamRequest(
  req: IncomingMessage,
  call: Call,
  edits: readonly Edit[],
  target: Target,
  path: InferencePath,
  query: string,
): UpstreamRequest {
  let grown = 0
  for (const edit of edits) grown += edit.bytes.length - (edit.end - edit.start)
  return {
    upstream: target.endpoint,
    pathAndQuery: path.suffix + query,
    headers: req.rawHeaders,
    body: splice(call.pieces, edits),
    lengthBytes: call.lengthBytes + grown,
    isLong: call.stream,
  }
}

/** The upstream's header lines that go through, and ours behind them. */
export function answerHeaders(head: Head, target: Target, trace: Trace): string[] {
  const lines = responseHeaders(head.headers)
  lines.push('x-request-id', trace.requestId)
  if (trace.protocol === 'anthropic') lines.push('request-id', trace.requestId)
  for (const line of trace.rateHeaders()) lines.push(line)
  lines.push('x-gw-endpoint', target.endpoint.name, 'x-gw-revision', String(trace.revision))
  return lines
}
