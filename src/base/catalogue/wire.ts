/**
 * The errors of the gateway. The shapes and the pairs of type and code are those of the OpenAI and Anthropic error
 * objects, so that each vendor's SDK raises the class that its users expect.
 */
export interface WireError {
  readonly status: number
  /** `error.type` in the OpenAI shape. */
  readonly openaiType: string
  /** `error.code` in the OpenAI shape, if it differs from the key of the catalogue: one code may have several types. */
  readonly code?: string
  /** `error.type` in the Anthropic shape. */
  readonly anthropicType: string
  /** `error.param`, if the error always concerns the same field. */
  readonly param?: string
  /**
   * `x-should-retry`, if the rule of the SDKs (408, 409, 429 and ≥ 500 are retried) would be wrong.
   * Absent: the rule is right.
   */
  readonly shouldRetry?: boolean
  /** `retry-after` of an error that knows no better time. */
  readonly retryAfterMs?: number
  /** What happened, for the docs and for errors without a more specific message. */
  readonly title: string
  /** What the client can do about it. */
  readonly hint: string
}

const invalid = { openaiType: 'invalid_request_error', anthropicType: 'invalid_request_error' } as const
const forbidden = { status: 403, openaiType: 'permission_error', anthropicType: 'permission_error' } as const
const missing = {
  status: 404,
  openaiType: 'invalid_request_error',
  anthropicType: 'not_found_error',
} as const
const limited = { status: 429, code: 'rate_limit_exceeded', anthropicType: 'rate_limit_error' } as const
const spent = { openaiType: 'insufficient_quota', shouldRetry: false } as const
const broken = { status: 502, openaiType: 'server_error', anthropicType: 'api_error' } as const
const away = { status: 503, openaiType: 'server_error', anthropicType: 'overloaded_error' } as const

export const WIRE_ERRORS = {
  bad_request: {
    ...invalid,
    status: 400,
    title: 'The request is not valid HTTP for this gateway.',
    hint: 'Send an origin-form target and one Host header; any HTTP client does.',
  },
  unmet_expectation: {
    ...invalid,
    status: 417,
    shouldRetry: false,
    title: 'The `expect` header is not `100-continue`.',
    hint: 'Send the request without it.',
  },
  invalid_json: {
    ...invalid,
    status: 400,
    title: 'The body is not a JSON object in UTF-8.',
    hint: 'Send one JSON object, without a byte order mark, at most 128 levels deep.',
  },
  invalid_multipart: {
    ...invalid,
    status: 400,
    title: 'The body is not multipart/form-data as RFC 7578 defines it.',
    hint: 'Send the fields and the file as a form, with one boundary; any HTTP client does.',
  },
  invalid_model: {
    ...invalid,
    status: 400,
    param: 'model',
    title: '`model` is missing, empty, not a string, or given twice.',
    hint: 'Send `model` once, as a non-empty string.',
  },
  invalid_parameter: {
    ...invalid,
    status: 400,
    title:
      'A field that the gateway reads is given twice, in another letter case, or has a value of the wrong kind.',
    hint: 'Correct the field that `param` names.',
  },
  invalid_api_key: {
    status: 401,
    openaiType: 'invalid_request_error',
    anthropicType: 'authentication_error',
    title: 'The API key is missing, unknown, disabled or expired.',
    hint: 'Send a valid key as `Authorization: Bearer …` or `x-api-key`. Only the log of the gateway has the reason.',
  },
  insufficient_balance: {
    ...spent,
    status: 402,
    anthropicType: 'billing_error',
    title: 'The tenant’s prepaid balance does not cover the call.',
    hint: 'Credit the wallet.',
  },
  model_not_allowed: {
    ...forbidden,
    title: 'The key or its tenant may not use this model.',
    hint: 'Add the model to `models` of the key and of the tenant, or use another key.',
  },
  model_not_priced: {
    ...forbidden,
    title:
      'The model has no price in force, or none for the units of the call, and `settings.require_price` is set.',
    hint: 'The operator sets a `price` of the publication, `"0"` if it is free on purpose.',
  },
  model_banned: {
    ...forbidden,
    title: 'The model is banned, for everyone or for this tenant.',
    hint: 'Use another model; the operator has set the ban.',
  },
  tenant_disabled: {
    ...forbidden,
    title: 'The tenant of this key is disabled.',
    hint: 'Ask the operator of the gateway.',
  },
  tenant_banned: {
    ...forbidden,
    title: 'The tenant of this key is banned.',
    hint: 'Ask the operator of the gateway.',
  },
  model_not_found: {
    ...missing,
    param: 'model',
    title: 'No listed model has this name.',
    hint: 'List the names with `GET /v1/models`.',
  },
  response_not_found: {
    ...missing,
    title: 'No stored response has this id.',
    hint: 'Ids expire, and belong to the tenant that got them. Send the whole conversation as `input`.',
  },
  wrong_protocol: {
    ...missing,
    param: 'model',
    title: 'The model exists, but is not served at this path.',
    hint: 'Call the path in the message.',
  },
  unknown_path: {
    ...missing,
    title: 'The gateway does not serve this path.',
    hint: 'Use one of the paths of the README; paths are not decoded or normalised.',
  },
  method_not_allowed: {
    ...invalid,
    status: 405,
    title: 'The path exists, the method does not.',
    hint: 'Use the method in the `allow` header.',
  },
  request_timeout: {
    ...invalid,
    status: 408,
    title: 'The request did not arrive in time.',
    hint: 'Send the head and the body without long pauses.',
  },
  request_too_large: {
    ...invalid,
    status: 413,
    anthropicType: 'request_too_large',
    title: 'The body is over the limit.',
    hint: 'Send a smaller body, or ask the operator to raise `settings.limits.body`.',
  },
  unsupported_encoding: {
    ...invalid,
    status: 415,
    title: 'The body is compressed; the gateway does not decompress requests.',
    hint: 'Send the body without `content-encoding`.',
  },
  header_too_large: {
    ...invalid,
    status: 431,
    title: 'Too many header lines, or too many bytes of them.',
    hint: 'Send at most 128 header lines and 16 KiB.',
  },
  unsupported_transfer_encoding: {
    ...invalid,
    status: 501,
    shouldRetry: false,
    title: 'The transfer coding is not `chunked`.',
    hint: 'Send the body with `content-length` or plain `chunked`.',
  },
  rate_limit_requests: {
    ...limited,
    openaiType: 'requests',
    title: 'The key or its tenant has used up its requests per minute.',
    hint: 'Retry after the time in `retry-after`, or ask the operator to raise `limits.rpm`.',
  },
  rate_limit_tokens: {
    ...limited,
    openaiType: 'tokens',
    title: 'The key or its tenant has used up its tokens per minute.',
    hint: 'Retry after the time in `retry-after`, ask for less output, or ask the operator to raise `limits.tpm`.',
  },
  rate_limit_concurrency: {
    ...limited,
    openaiType: 'concurrency',
    title: 'The key or its tenant has reached its limit of concurrent requests.',
    hint: 'Wait until one has ended, or ask the operator to raise `limits.concurrency`.',
  },
  quota_exceeded: {
    ...spent,
    status: 429,
    anthropicType: 'rate_limit_error',
    title: 'The remaining token quota of the key does not cover the call.',
    hint: 'Ask for less output (`max_tokens`), or ask the operator to raise `quota`; it never refills by itself.',
  },
  budget_exceeded: {
    ...spent,
    status: 429,
    anthropicType: 'rate_limit_error',
    title: 'The remaining budget of the key does not cover the call.',
    hint: 'Ask for less output (`max_tokens`), wait for the next window, or ask the operator to raise `budget`.',
  },
  upstream_rate_limited: {
    status: 429,
    openaiType: 'requests',
    anthropicType: 'rate_limit_error',
    title: 'The model server limits the rate of the gateway, and no other endpoint is left.',
    hint: 'Retry after the time in `retry-after`.',
  },
  upstream_error: {
    ...broken,
    title: 'The model server failed, or its answer could not be used.',
    hint: 'Retry; if the error persists, the operator finds the cause in the log under the request id.',
  },
  upstream_credentials: {
    ...broken,
    shouldRetry: false,
    title:
      'The model server rejected the credential of the gateway, or the account behind it has no money left.',
    hint: 'Your key is valid. The operator must correct `upstream_key` of the endpoint in the message, or pay the bill of its account.',
  },
  upstream_not_found: {
    ...broken,
    shouldRetry: false,
    title: 'The model server does not know the path or the model.',
    hint: 'The operator must correct `base_url` (is `/v1` missing?) or `served_model` of the endpoint in the message.',
  },
  maintenance: {
    ...away,
    title: 'The gateway is in maintenance.',
    hint: 'Retry later; the operator ends it with `gw maintenance off` or `settings.maintenance`.',
  },
  no_healthy_endpoint: {
    ...away,
    title: 'No enabled and healthy endpoint serves this model.',
    hint: 'Retry later; the operator checks the bindings of the publication and their endpoints.',
  },
  unavailable: {
    ...away,
    retryAfterMs: 1_000,
    title:
      'The gateway is starting, shutting down, short of memory for large bodies, or cannot reach its store.',
    hint: 'Retry after the time in `retry-after`.',
  },
  too_many_connections: {
    ...away,
    title: 'The gateway has reached its limit of connections.',
    hint: 'Retry; the operator raises `--max-connections`, or adds gateways.',
  },
  upstream_timeout: {
    status: 504,
    openaiType: 'server_error',
    anthropicType: 'timeout_error',
    title: 'The model server did not connect, answer or finish in time.',
    hint: 'Retry, or ask the operator to raise `timeouts` of the endpoint.',
  },
  internal_error: {
    status: 500,
    openaiType: 'server_error',
    anthropicType: 'api_error',
    title: 'A bug of the gateway; its log has the cause under the request id.',
    hint: 'Report it with the request id.',
  },
} as const satisfies Record<string, WireError>

export type WireCode = keyof typeof WIRE_ERRORS

/** Optional details of an error. */
export interface GwErrorOptions {
  /** The message for callers if `show_endpoints` is off. */
  readonly withoutEndpoint?: string
  readonly param?: string
  readonly retryAfterMs?: number
  readonly reason?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** An error that a client of the gateway sees. Any other exception is a bug: `internal_error`. */
export class GwError extends Error {
  override readonly name: string = 'GwError'
  readonly code: WireCode
  /** The field with the error, if the catalogue does not set it. */
  readonly param: string | undefined
  /** Milliseconds until a retry can succeed. */
  readonly retryAfterMs: number | undefined
  /** Only for the log, never shown to the client. */
  readonly reason: string | undefined
  /** Additional response headers, such as `allow`. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The message without the name of an endpoint; absent: the message has none. */
  readonly withoutEndpoint: string | undefined

  constructor(code: WireCode, message?: string, more: GwErrorOptions = {}) {
    super(message ?? WIRE_ERRORS[code].title, { cause: more.cause })
    this.code = code
    this.param = more.param
    this.retryAfterMs = more.retryAfterMs
    this.reason = more.reason
    this.headers = more.headers
    this.withoutEndpoint = more.withoutEndpoint
  }

  /** The message as the client sees it. @param showsEndpoints `settings.show_endpoints` */
  messageFor(showsEndpoints: boolean): string {
    return showsEndpoints ? this.message : (this.withoutEndpoint ?? this.message)
  }
}

/** What went wrong, for operators: the reason of a GwError says more than its message. */
export function reasonOf(error: unknown): string {
  if (error instanceof GwError && error.reason !== undefined) return error.reason
  return error instanceof Error ? error.message : String(error)
}
