/**
 * The errors of the control plane: problem documents (RFC 9457). Their `code` is the key here, their `type` is
 * {@link problemType} of it.
 */
export interface ApiFault {
  readonly status: number
  /** The same for every occurrence. */
  readonly title: string
  /** What the client can do about it. */
  readonly hint: string
}

export const API_FAULTS = {
  bad_request: {
    status: 400,
    title: 'The request is not valid HTTP for this server.',
    hint: 'Send an origin-form target and one Host header; any HTTP client does.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not a JSON object in UTF-8.',
    hint: 'Send one JSON object, each member once, without a byte order mark.',
  },
  not_logged_in: {
    status: 401,
    title: 'The session is missing or has ended.',
    hint: 'Log in with `POST /api/v1/session`. API keys for inference are not accepted here.',
  },
  wrong_credentials: {
    status: 401,
    title: 'The name or the password is wrong.',
    hint: 'Try again; an administrator can set a new password with `gw users reset-password`.',
  },
  forbidden: {
    status: 403,
    title: 'The role of this user does not allow this operation.',
    hint: 'Ask an administrator.',
  },
  cross_site: {
    status: 403,
    title: 'The change is authorised by a cookie, and its headers do not prove that it comes from this site.',
    hint: 'Send `content-type: application/json`, the `x-csrf-token` of the session, and `Sec-Fetch-Site` or `Origin` as browsers do; scripts log in for a bearer token.',
  },
  not_found: {
    status: 404,
    title: 'No resource has this name.',
    hint: 'List the existing names and correct this one. Characters other than letters, digits and - . _ ~ : @ are percent-encoded in a path, slashes as well.',
  },
  unknown_path: {
    status: 404,
    title: 'The control plane does not serve this path.',
    hint: 'See `schemas/openapi.json` for the paths that it serves.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The path exists, the method does not.',
    hint: 'Use a method from the `allow` header.',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time.',
    hint: 'Send the head and the body without long pauses.',
  },
  managed_by_config: {
    status: 409,
    title: 'A configuration file declares the resource; only `gw apply` changes it.',
    hint: 'Edit it in `file` at `line`, and apply. Keys can be disabled and revoked here without that.',
  },
  already_exists: {
    status: 409,
    title: 'A resource of this name exists already.',
    hint: 'Choose another name, or change the existing resource.',
  },
  in_use: {
    status: 409,
    title: 'Another resource refers to this one.',
    hint: 'Remove the reference first, as the message says.',
  },
  has_secret: {
    status: 409,
    title: 'The key has a secret already.',
    hint: 'Rotate it; if a configuration file defines the secret, replace it in that file.',
  },
  disabled_by_policy: {
    status: 409,
    title: 'The key is disabled by its policy, not manually.',
    hint: 'Set `enabled` to true in its policy.',
  },
  last_admin: {
    status: 409,
    title: 'The change would leave no administrator who can log in.',
    hint: 'Create or enable another administrator first.',
  },
  gateway_alive: {
    status: 409,
    title: 'The gateway may be alive.',
    hint: 'End its process; others take over what it has by themselves. A store in PostgreSQL also accepts `force`. Nothing was changed.',
  },
  too_many_keys: {
    status: 409,
    title: 'The tenant has as many keys of its own as it may have.',
    hint: 'Delete a key that is not used any more, or ask an administrator.',
  },
  too_many_deletes: {
    status: 409,
    title: 'The change deletes more resources than allowed.',
    hint: 'Review the plan, and pass the number as `allow_deletes`; nothing was changed.',
  },
  reference_taken: {
    status: 409,
    title: 'The reference belongs to another credit or debit.',
    hint: 'Use a new reference for a new payment; nothing was booked.',
  },
  balance_too_low: {
    status: 409,
    title: 'The balance does not cover the debit.',
    hint: 'Debit less, or credit the tenant first; nothing was booked.',
  },
  changed_meanwhile: {
    status: 412,
    title: 'The resource has changed since it was read.',
    hint: 'Read it again, and send the new `etag` as `if-match`; nothing was changed.',
  },
  request_too_large: {
    status: 413,
    title: 'The body is over the limit.',
    hint: 'Send a smaller body.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not plain JSON.',
    hint: 'Send `content-type: application/json`, without `content-encoding`.',
  },
  misdirected: {
    status: 421,
    title: 'The control plane does not answer under this host name.',
    hint: 'Use a loopback name or the address that it listens on, or start it with `--control-url` and the public name.',
  },
  invalid_request: {
    status: 422,
    title: 'Fields of the request are invalid.',
    hint: 'Correct the fields in `errors`: `pointer` points into the body, `parameter` names one of path or query.',
  },
  configuration_invalid: {
    status: 422,
    title: 'The configuration is not valid.',
    hint: 'Correct the `problems`; nothing was changed.',
  },
  reference_rejected: {
    status: 422,
    title: 'A reference to a secret that is not yet in use for the same host.',
    hint: 'New references to variables and files of this machine are for configuration files and `gw apply`; nothing was changed.',
  },
  not_servable: {
    status: 422,
    title: 'A gateway could not serve the result.',
    hint: 'Correct the cause in the message; nothing was changed.',
  },
  probe_failed: {
    status: 422,
    title: 'The probe of the endpoint failed.',
    hint: 'Correct the `failures`, or set `skip_probe` to true; nothing was changed.',
  },
  precondition_required: {
    status: 428,
    title: 'The change has no `if-match` header.',
    hint: 'Read it first, and send its `etag` as `if-match`.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many failed log-ins from this address or for this account.',
    hint: 'Wait for the time in `retry-after`.',
  },
  too_many_changes: {
    status: 429,
    title: 'Too many changes and explanations by the users of this tenant.',
    hint: 'Wait for the time in `retry-after`; nothing was changed.',
  },
  too_many_open_requests: {
    status: 429,
    title: 'This user has as many requests of this kind open as it may have at a time.',
    hint: 'Wait for one of them to end, or close one: those of all sessions and tokens of the user count.',
  },
  header_too_large: {
    status: 431,
    title: 'Too many header lines, or too many bytes of them.',
    hint: 'Send at most 128 header lines and 16 KiB.',
  },
  internal_error: {
    status: 500,
    title: 'A bug of the control plane; its log has the cause under the request id.',
    hint: 'Report it with the request id.',
  },
  unsupported_transfer_encoding: {
    status: 501,
    title: 'The transfer coding is not `chunked`.',
    hint: 'Send the body with `content-length` or plain `chunked`.',
  },
  no_gateway: {
    status: 503,
    title: 'No gateway serves this store.',
    hint: 'Start one with `gw serve`.',
  },
  busy: {
    status: 503,
    title: 'Too many log-ins at once.',
    hint: 'Retry after the time in `retry-after`.',
  },
  unavailable: {
    status: 503,
    title: 'The store cannot be read or written.',
    hint: 'Retry; if the error persists, the log has the cause under the request id.',
  },
} as const satisfies Record<string, ApiFault>

export type ApiCode = keyof typeof API_FAULTS

/** A problem of one field: a JSON pointer (RFC 6901) into the body, a parameter of path or query, or a header. */
export interface FieldFault {
  readonly pointer?: string
  readonly parameter?: string
  readonly header?: string
  readonly detail: string
}

/** An error that a client of the control plane sees. Any other exception is a bug: `internal_error`. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ApiCode
  readonly errors: readonly FieldFault[] | undefined
  /** Milliseconds until a retry can succeed. */
  readonly retryAfterMs: number | undefined
  /** Additional response headers, such as `allow`. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** Additional members of the problem document. */
  readonly more: Readonly<Record<string, unknown>> | undefined

  constructor(
    code: ApiCode,
    message?: string,
    details: {
      errors?: readonly FieldFault[]
      retryAfterMs?: number
      headers?: Readonly<Record<string, string>>
      more?: Readonly<Record<string, unknown>>
      cause?: unknown
    } = {},
  ) {
    super(message ?? API_FAULTS[code].title, { cause: details.cause })
    this.code = code
    this.errors = details.errors
    this.retryAfterMs = details.retryAfterMs
    this.headers = details.headers
    this.more = details.more
  }
}

/** `type` of a problem document: an identifier, not a page to fetch (RFC 9457 §3.1.1). */
export function problemType(code: ApiCode): string {
  return `urn:gw:problem:${code}`
}
