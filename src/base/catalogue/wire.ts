/**
 * What the gateway may answer instead of an answer. The shapes and the pairs of type and code are those of the
 * OpenAI and Anthropic error objects, so that each vendor's SDK raises the class its users expect.
 */
export interface WireError {
  readonly status: number
  /** `error.type` in the OpenAI shape. */
  readonly openaiType: string
  /** `error.code` in the OpenAI shape, where it is not the catalogue's own key: one code may have several types. */
  readonly code?: string
  /** `error.type` in the Anthropic shape. */
  readonly anthropicType: string
  /** `error.param`, where the fault always lies in one field. */
  readonly param?: string
  /**
   * `x-should-retry`, where the SDKs' own rule (408, 409, 429 and ≥ 500 are retried) would be wrong.
   * Absent: the rule is right.
   */
  readonly shouldRetry?: boolean
  /** What happened, for the docs and for an answer that has nothing more particular to say. */
  readonly title: string
  /** What the reader can do about it. */
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
    title: 'An `expect` header other than `100-continue`.',
    hint: 'Send the request without it.',
  },
  invalid_json: {
    ...invalid,
    status: 400,
    title: 'The body is not a JSON object in UTF-8.',
    hint: 'Send one JSON object, without a byte order mark, at most 128 levels deep.',
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
    hint: 'Send a valid key as `Authorization: Bearer …` or `x-api-key`. The reason stands in the gateway log only.',
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
    title: 'The model has no price in force, and `settings.require_price` is set.',
    hint: 'The operator gives the publication a `price`, `"0"` where it is free on purpose.',
  },
  model_banned: {
    ...forbidden,
    title: 'The model is banned, for everyone or for this tenant.',
    hint: 'Use another model; the ban is the operator’s decision.',
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
  wrong_protocol: {
    ...missing,
    param: 'model',
    title: 'The model exists, but is not served on this path’s protocol.',
    hint: 'Call the path that the message names.',
  },
  unknown_path: {
    ...missing,
    title: 'The gateway does not serve this path.',
    hint: 'Use one of the paths of the README; nothing is decoded or normalised.',
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
    hint: 'Send less, or ask the operator to raise `settings.limits.body`.',
  },
  unsupported_encoding: {
    ...invalid,
    status: 415,
    title: 'The body is compressed; the gateway never inflates a request.',
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
    title: 'A transfer coding other than `chunked`.',
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
    title: 'The key or its tenant has as many requests under way as it may.',
    hint: 'Wait until one has ended, or ask the operator to raise `limits.concurrency`.',
  },
  quota_exceeded: {
    ...spent,
    status: 429,
    anthropicType: 'rate_limit_error',
    title: 'What is left of the key’s token quota does not cover the call.',
    hint: 'Ask for less output (`max_tokens`), or ask the operator to raise `quota`; it never refills by itself.',
  },
  budget_exceeded: {
    ...spent,
    status: 429,
    anthropicType: 'rate_limit_error',
    title: 'What is left of the key’s budget does not cover the call.',
    hint: 'Ask for less output (`max_tokens`), wait for the next window, or ask the operator to raise `budget`.',
  },
  upstream_rate_limited: {
    status: 429,
    openaiType: 'requests',
    anthropicType: 'rate_limit_error',
    title: 'The model server is rate limiting the gateway, and no other endpoint is left.',
    hint: 'Retry after the time in `retry-after`.',
  },
  upstream_error: {
    ...broken,
    title: 'The model server failed, or its answer could not be used.',
    hint: 'Retry; if it stays, the operator finds the cause in the log under the request id.',
  },
  upstream_credentials: {
    ...broken,
    shouldRetry: false,
    title:
      'The model server rejected the gateway’s own credential, or the account behind it has no money left.',
    hint: 'Your key is fine. The operator must hint `upstream_key` of the endpoint that the message names, or pay its bill there.',
  },
  upstream_not_found: {
    ...broken,
    shouldRetry: false,
    title: 'The model server does not know the path or the model.',
    hint: 'The operator must hint `base_url` (does it miss `/v1`?) or `served_model` of the endpoint that the message names.',
  },
  maintenance: {
    ...away,
    title: 'The gateway is in maintenance.',
    hint: 'Retry later; the operator ended or will end it with `settings.maintenance`.',
  },
  no_healthy_endpoint: {
    ...away,
    title: 'No enabled and healthy endpoint serves this model.',
    hint: 'Retry later; the operator looks at the publication’s bindings and their endpoints.',
  },
  unavailable: {
    ...away,
    title: 'The gateway is starting, shutting down, or cannot reach its store.',
    hint: 'Retry after the time in `retry-after`.',
  },
  too_many_connections: {
    ...away,
    title: 'The gateway serves as many connections as it may.',
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
    title: 'A bug of the gateway; the cause stands in its log under the request id.',
    hint: 'Report it with the request id.',
  },
} as const satisfies Record<string, WireError>

export type WireCode = keyof typeof WIRE_ERRORS

/** What a failure may tell besides its code. */
export interface GwErrorOptions {
  /** The message where callers are shown no names of endpoints. */
  readonly withoutEndpoint?: string
  readonly param?: string
  readonly retryAfterMs?: number
  readonly reason?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** A failure that a data-plane client is told of. Anything else that is thrown is a bug: `internal_error`. */
export class GwError extends Error {
  override readonly name: string = 'GwError'
  readonly code: WireCode
  /** The field at fault, where the catalogue does not fix it. */
  readonly param: string | undefined
  /** Milliseconds until a retry can succeed. */
  readonly retryAfterMs: number | undefined
  /** For the log only: never shown to the client. */
  readonly reason: string | undefined
  /** Response headers that belong to this failure, such as `allow`. */
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
}
