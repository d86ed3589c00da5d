/** An unvalidated JSON object. */
export type Fields = { readonly [field: string]: unknown }

/** The answer of a route with status 200. */
export type DemoAnswer =
  | { readonly kind: 'json'; readonly body: unknown }
  | { readonly kind: 'bytes'; readonly contentType: string; readonly body: Buffer }
  /** Whole Server-Sent Events, each with its empty line, written at the server's pace. */
  | { readonly kind: 'stream'; readonly events: readonly string[] }

/** The context of a request, besides its body. */
export interface DemoScene {
  /** A fresh id, such as `msg_9f…` for the prefix `msg_`. */
  id(prefix: string): string
  readonly nowMs: number
  /** The stored responses. */
  readonly responses: StoredResponses
}

/** A response with the messages before it and its own. */
export interface StoredResponse {
  readonly whole: Fields & { readonly id: string }
  readonly input: readonly Fields[]
  /** The conversation up to here, the output included. */
  readonly messages: readonly Fields[]
  /** The message of each item of the output, by id. */
  readonly items: ReadonlyMap<string, Fields>
}

const MAX_STORED = 1_000

/** The newest responses. */
export class StoredResponses {
  readonly #byId = new Map<string, StoredResponse>()

  add(response: StoredResponse): void {
    this.#byId.set(response.whole.id, response)
    const [oldest] = this.#byId.keys()
    if (this.#byId.size > MAX_STORED && oldest !== undefined) this.#byId.delete(oldest)
  }

  /** @throws {DemoFault} 404 */
  get(id: string): StoredResponse {
    const found = this.#byId.get(id)
    if (!found) throw new DemoFault(404, `Response with id '${id}' not found.`)
    return found
  }

  /** The message of a stored item. @throws {DemoFault} 404 */
  itemOf(id: string): Fields {
    for (const { items } of this.#byId.values()) {
      const item = items.get(id)
      if (item) return item
    }
    throw new DemoFault(404, `Item with id '${id}' not found.`, 'input')
  }

  delete(id: string): void {
    this.#byId.delete(this.get(id).whole.id)
  }
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
