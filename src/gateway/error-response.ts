import type { ServerResponse } from 'node:http'
import { retryAfterSeconds } from '../base/catalogue/retry-after.ts'
import { GwError, WIRE_ERRORS, type WireError } from '../base/catalogue/wire.ts'
import { sendJson } from '../http/json.ts'
import type { RejectionAnswer } from '../http/listen.ts'
import type { Protocol } from '../schema/protocol.ts'

/**
 * Formats errors as responses, in the format of the path's protocol (spec/wire.md §1). Nothing else writes error bodies.
 */

/** Converts a thrown value to an error that a client may see. Anything but a GwError is a bug in the gateway. */
export function asGwError(thrown: unknown): GwError {
  return thrown instanceof GwError ? thrown : new GwError('internal_error', undefined, { cause: thrown })
}

/** Determines the body and headers of an error response. */
interface ErrorContext {
  readonly protocol: Protocol
  readonly requestId: string
  readonly showsEndpoints: boolean
}

export function errorBody(error: GwError, { protocol, requestId, showsEndpoints }: ErrorContext): string {
  const entry: WireError = WIRE_ERRORS[error.code]
  const message = error.messageFor(showsEndpoints)
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

/**
 * The event that ends a stream whose head has been sent; no `[DONE]` or `message_stop` follows it.
 *
 * @param sequence The `sequence_number` of the event, if it belongs to a response. Such an event has the error twice:
 * its fields at the root, as OpenAI defines it, and as `error`, which the SDKs throw.
 */
export function errorEvent(error: GwError, context: ErrorContext, sequence?: number): string {
  const body = errorBody(error, context)
  if (sequence !== undefined) {
    const { error: fields } = JSON.parse(body) as { error: object }
    const event = { ...fields, type: 'error', sequence_number: sequence, error: fields }
    return `event: error\ndata: ${JSON.stringify(event)}\n\n`
  }
  return context.protocol === 'anthropic' ? `event: error\ndata: ${body}\n\n` : `data: ${body}\n\n`
}

interface ResponseContext extends ErrorContext {
  readonly rateHeaders: () => readonly string[]
  readonly corsHeaders: readonly string[]
}

/** Answers with an error. The head must not have been sent. */
export function sendError(res: ServerResponse, error: GwError, context: ResponseContext): void {
  const { body, headers } = errorAnswer(error, context)
  setHeaders(res, context.rateHeaders())
  setHeaders(res, context.corsHeaders)
  sendJson(res, WIRE_ERRORS[error.code].status, body, headers)
}

/** @param lines Names and values alternate. */
export function setHeaders(res: ServerResponse, lines: readonly string[]): void {
  for (let index = 0; index < lines.length; index += 2)
    res.setHeader(lines[index] ?? '', lines[index + 1] ?? '')
}

/** An error response for a caller that has a socket but no `ServerResponse`. */
export function errorAnswer(error: GwError, context: ErrorContext): RejectionAnswer {
  const headers = {
    'content-type': 'application/json',
    ...idHeaders(context.protocol, context.requestId),
    ...retryHeaders(error, WIRE_ERRORS[error.code]),
    ...error.headers,
  }
  return { headers, body: errorBody(error, context) }
}

/** Each SDK reads its own vendor's header; `x-request-id` is sent on every path. */
export function idHeaders(protocol: Protocol, requestId: string): Record<string, string> {
  return protocol === 'anthropic'
    ? { 'x-request-id': requestId, 'request-id': requestId }
    : { 'x-request-id': requestId }
}

function retryHeaders(error: GwError, entry: WireError): Record<string, string> {
  const headers: Record<string, string> = {}
  const waitMs = error.retryAfterMs ?? entry.retryAfterMs
  if (waitMs !== undefined) headers['retry-after'] = String(retryAfterSeconds(waitMs))
  if (entry.shouldRetry !== undefined) headers['x-should-retry'] = String(entry.shouldRetry)
  return headers
}
