import { GwError } from '../base/catalogue/wire.ts'

/** Both SDKs sleep for what `retry-after` says, one of them without a cap of its own (WIRE §1). */
const MAX_RETRY_AFTER_MS = 60_000

/** Errors of undici and of the system that mean "too slow" rather than "broken". */
const TIMEOUT_CODES = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
])

/** The one place that says what an upstream's failure means to a client. */
export function fromTransport(error: unknown, endpoint: string): GwError {
  if (error instanceof GwError) return error
  const code = errorCode(error)
  const reason = `${endpoint}: ${code ?? String(error)}`
  if (code !== undefined && TIMEOUT_CODES.has(code)) {
    return new GwError('upstream_timeout', undefined, { reason, cause: error })
  }
  return new GwError('upstream_error', undefined, { reason, cause: error })
}

/**
 * What a status means, or undefined where the answer goes through as it is: 2xx, and the 400, 413 and 422 that
 * speak about the client's own request.
 */
export function fromStatus(
  status: number,
  endpoint: string,
  retryAfter: string | undefined,
): GwError | undefined {
  if ((status >= 200 && status < 300) || status === 400 || status === 413 || status === 422) return undefined
  const more = { reason: `${endpoint} answered ${status}` }
  switch (status) {
    case 401:
    case 402:
    case 403:
      return new GwError(
        'upstream_credentials',
        `The endpoint ${endpoint} refused the gateway’s own credential (${status}); your key is fine.`,
        more,
      )
    case 404:
      return new GwError(
        'upstream_not_found',
        `The endpoint ${endpoint} does not know the path or the model (404).`,
        more,
      )
    case 429:
      return new GwError('upstream_rate_limited', undefined, {
        ...more,
        retryAfterMs: retryAfterMs(retryAfter),
      })
    case 503:
    case 529:
      return new GwError('unavailable', 'The model server is overloaded.', {
        ...more,
        retryAfterMs: retryAfterMs(retryAfter),
      })
    default:
      return new GwError('upstream_error', undefined, more)
  }
}

/** Seconds, as a retry hint that no client sleeps on for ever. Dates are rare here and taken as one second. */
function retryAfterMs(value: string | undefined): number {
  const seconds = Number(value)
  if (!Number.isFinite(seconds) || seconds <= 0) return 1_000
  return Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS)
}

function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
