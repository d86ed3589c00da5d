/** An unvalidated JSON object. */
export type Fields = { readonly [field: string]: unknown }

/** The answer of a route with status 200. */
export type DemoAnswer =
  | { readonly kind: 'json'; readonly body: unknown }
  /** Whole Server-Sent Events, each with its empty line, written at the server's pace. */
  | { readonly kind: 'stream'; readonly events: readonly string[] }

/** The context of a request, besides its body. */
export interface DemoScene {
  /** A fresh id, such as `msg_9f…` for the prefix `msg_`. */
  id(prefix: string): string
  readonly nowMs: number
}

export type DemoRoute = (body: Fields, scene: DemoScene) => DemoAnswer

/** An error that the vendor would return, too; 500 is a bug of the demo. */
export class DemoFault extends Error {
  override readonly name = 'DemoFault'
  readonly status: 400 | 404 | 405 | 413 | 500
  /** `error.param` in the OpenAI shape. */
  readonly param: string | null
  constructor(status: DemoFault['status'], message: string, param: string | null = null) {
    super(message)
    this.status = status
    this.param = param
  }
}

const ANTHROPIC_TYPES = {
  400: 'invalid_request_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  500: 'api_error',
} as const

/** The error object of OpenAI's API, all four fields present. */
export function openaiError(fault: DemoFault): Fields {
  const code = fault.status === 404 ? 'not_found' : null
  const type = fault.status === 500 ? 'server_error' : 'invalid_request_error'
  return { error: { message: fault.message, type, param: fault.param, code } }
}

/** The error object of Anthropic's API. */
export function anthropicError(fault: DemoFault, requestId: string): Fields {
  return {
    type: 'error',
    error: { type: ANTHROPIC_TYPES[fault.status], message: fault.message },
    request_id: requestId,
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The model name of a request, which every answer repeats. */
export function modelOf(body: Fields): string {
  const model = body['model']
  if (typeof model !== 'string' || model === '') {
    throw new DemoFault(400, 'you must provide a model parameter', 'model')
  }
  return model
}
