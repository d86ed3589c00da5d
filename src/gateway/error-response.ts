import type { ServerResponse } from 'node:http'
import { retryAfterSeconds } from '../base/catalogue/retry-after.ts'
import { GwError, WIRE_ERRORS, type WireError } from '../base/catalogue/wire.ts'
import { sendJson } from '../http/json.ts'
import type { RejectionAnswer } from '../http/listen.ts'
import type { Protocol } from '../schema/endpoint.ts'

/**
 * The one place that turns an error into bytes, in the shape of the path's protocol (spec/wire.md §1).
 */

/** What was thrown, as something that a client may be told. Anything that is not ours is a bug of ours. */
export function asGwError(thrown: unknown): GwError {
  return thrown instanceof GwError ? thrown : new GwError('internal_error', undefined, { cause: thrown })
}

/** What the text of an error depends on. */
interface Asker {
  readonly protocol: Protocol
  readonly requestId: string
  readonly showsEndpoints: boolean
}

/** The body of an error answer. */
export function errorBody(error: GwError, { protocol, requestId, showsEndpoints }: Asker): string {
  const entry: WireError = WIRE_ERRORS[error.code]
  const message = showsEndpoints ? error.message : (error.withoutEndpoint ?? error.message)
  const body =
    protocol === 'anthropic'
      ? { type: 'error', error: { type: entry.anthropicType, message }, request_id: requestId }
      : {
          error: {
            message,
            type: entry.openaiType,
            param: error.param ?? entry.param ?? null,
            code: entry.code ?? error.code,
          },
        }
  return JSON.stringify(body)
}

/** The event that ends a stream whose head has gone out; no `[DONE]` or `message_stop` follows it. */
export function errorEvent(error: GwError, asker: Asker): string {
  const data = `data: ${errorBody(error, asker)}\n\n`
  return asker.protocol === 'anthropic' ? `event: error\n${data}` : data
}

/** What an answer's shape and headers depend on. */
interface AnsweredAs extends Asker {
  readonly rateHeaders: () => readonly string[]
  readonly corsHeaders: readonly string[]
}

/** Answers with an error. The head must not have been sent. */
export function sendError(res: ServerResponse, error: GwError, context: AnsweredAs): void {
  const { body, headers } = errorAnswer(error, context)
  setHeaders(res, context.rateHeaders())
  setHeaders(res, context.corsHeaders)
  sendJson(res, WIRE_ERRORS[error.code].status, body, headers)
}

/** @param lines names and values in turn. */
export function setHeaders(res: ServerResponse, lines: readonly string[]): void {
  for (let index = 0; index < lines.length; index += 2)
    res.setHeader(lines[index] ?? '', lines[index + 1] ?? '')
}

/** The answer that tells an error, for where there is nothing but a socket to write it to. */
export function errorAnswer(error: GwError, context: Asker): RejectionAnswer {
  const headers = {
    'content-type': 'application/json',
    ...idHeaders(context.protocol, context.requestId),
    ...retryHeaders(error, WIRE_ERRORS[error.code]),
    ...error.headers,
  }
  return { headers, body: errorBody(error, context) }
}

/** Both SDKs read their own vendor's header; `x-request-id` goes out on every path. */
export function idHeaders(protocol: Protocol, requestId: string): Record<string, string> {
  return protocol === 'anthropic'
    ? { 'x-request-id': requestId, 'request-id': requestId }
    : { 'x-request-id': requestId }
}

function retryHeaders(error: GwError, entry: WireError): Record<string, string> {
  const headers: Record<string, string> = {}
  if (error.retryAfterMs !== undefined) headers['retry-after'] = String(retryAfterSeconds(error.retryAfterMs))
  if (entry.shouldRetry !== undefined) headers['x-should-retry'] = String(entry.shouldRetry)
  return headers
}
