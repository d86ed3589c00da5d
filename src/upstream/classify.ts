import { MAX_RETRY_AFTER_MS } from '../base/catalogue/retry-after.ts'
import { GwError, type GwErrorOptions, type WireCode } from '../base/catalogue/wire.ts'
import { type Coding, decodedAtOnce } from './coding.ts'
import { ConnectionClosed } from './connection.ts'
import { headerValue } from './headers.ts'
import { ProxyError } from './proxy.ts'
import { isUnpaid, readMessage } from './read-answer.ts'
import { InvalidResponse } from './response-parser.ts'
import type { Head } from './types.ts'

const DEFAULT_RETRY_AFTER_MS = 1_000
/** Limit of a decoded error message. */
const MAX_MESSAGE_BYTES = 1_048_576

/** Errors of connecting that mean "too slow" rather than "broken". */
const TIMEOUT_CODES = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'])

/** A failed request to one endpoint: the error for the client, and the consequences for routing. */
export class UpstreamFailure extends GwError {
  override readonly name = 'UpstreamFailure'
  /** Another endpoint may be tried: no byte of an answer was sent, and the request is not the cause. */
  readonly mayTryNext: boolean
  /** It counts against the endpoint's health (spec/requests.md §4). */
  readonly countsAsFailure: boolean
  /** The request was sent to the endpoint, wholly or in part. */
  readonly wasSent: boolean
  /** The failure is an answer, not a connection error. */
  readonly hasAnswered: boolean
  /** The cooldown that the upstream asked for. */
  readonly cooldownMs: number | undefined
  /** A 429, 503 or 529. */
  readonly isOverload: boolean
  /** The result of the attempt in metrics: the error code, or a more specific one. */
  readonly result: string
  /** Of the answer; set once it is known to be one. */
  status: number | undefined

  constructor(code: WireCode, message: string | undefined, more: FailureOptions) {
    super(code, message, more)
    this.mayTryNext = more.mayTryNext ?? true
    this.countsAsFailure = more.countsAsFailure ?? false
    this.hasAnswered = more.hasAnswered ?? false
    this.wasSent = more.wasSent ?? this.hasAnswered
    this.cooldownMs = more.cooldownMs
    this.isOverload = more.isOverload ?? false
    this.result = more.result ?? code
  }
}

interface FailureOptions extends GwErrorOptions {
  readonly mayTryNext?: boolean
  readonly countsAsFailure?: boolean
  readonly wasSent?: boolean
  readonly hasAnswered?: boolean
  readonly cooldownMs?: number | undefined
  readonly isOverload?: boolean
  readonly result?: string
}

/**
 * Converts a connection error. Returns a GwError unchanged.
 *
 * @param wasSent The connection was established, and the request was being sent.
 */
export function fromTransport(error: unknown, endpoint: string, wasSent: boolean): GwError {
  if (error instanceof GwError) return error
  const code = errorCode(error)
  const reason = `${endpoint}: ${hasReason(error) ? error.message : (code ?? String(error))}`
  const tooSlow = code !== undefined && TIMEOUT_CODES.has(code)
  if (tooSlow)
    return new UpstreamFailure('upstream_timeout', undefined, {
      reason,
      cause: error,
      countsAsFailure: true,
      wasSent,
    })
  return new UpstreamFailure('upstream_error', transportMessage(error, wasSent), {
    reason,
    cause: error,
    countsAsFailure: true,
    wasSent,
  })
}

/** Its message says what happened, in words of the gateway. */
function hasReason(error: unknown): error is Error {
  return error instanceof ProxyError || error instanceof ConnectionClosed || error instanceof InvalidResponse
}

function transportMessage(error: unknown, wasSent: boolean): string {
  if (error instanceof InvalidResponse) return 'The answer of the model server is not valid HTTP.'
  return wasSent ? 'The connection to the model server broke off.' : 'The model server could not be reached.'
}

/**
 * The failure of a missed deadline. `total` covers the whole request, not only this endpoint.
 *
 * @param isUnread The client has not read what there is: the endpoint is not the cause.
 */
export function fromDeadline(
  deadline: 'first_byte' | 'idle' | 'total',
  endpoint: string,
  wasSent: boolean,
  isUnread = false,
): UpstreamFailure {
  return new UpstreamFailure('upstream_timeout', undefined, {
    reason: `${endpoint}: ${deadline} deadline${isUnread ? ', while the client did not read' : ''}`,
    mayTryNext: deadline !== 'total',
    countsAsFailure: !isUnread,
    wasSent,
  })
}

/** The statuses that concern the client's own request (spec/wire.md §1): they are forwarded. */
const FORWARDED: ReadonlySet<number> = new Set([400, 409, 413, 422])
/** Those of the request that a retry can change: Request Timeout and Too Early. */
const MAY_PASS: ReadonlySet<number> = new Set([408, 425])

/**
 * The failure that an answer's head represents; undefined if the answer is forwarded: a success that can be metered, or
 * an error about the client's own request (spec/security.md §4).
 *
 * @param coding The encoding of the body.
 * @param mayBeOpaque The answer may be neither JSON nor an event stream.
 * @param body The received part of the body, if the status alone is ambiguous: see {@link PERHAPS_UNPAID}.
 */
export function fromHead(
  head: Head,
  endpoint: string,
  coding: Coding | 'unknown' | undefined,
  mayBeOpaque: boolean,
  body?: Buffer,
): UpstreamFailure | undefined {
  const { status } = head
  if (status === 402 || (body && isAccountEmpty(head, body, coding))) return unpaid(status, endpoint)
  const isSuccess = status >= 200 && status < 300
  if (isSuccess || FORWARDED.has(status)) {
    const isKnown = bodyKind(head) !== 'other' || (mayBeOpaque && !isHtml(head))
    const isReadable = coding !== 'unknown' && (!isSuccess || isKnown)
    return isReadable ? undefined : unreadable(head, endpoint)
  }
  const reason = `${endpoint} answered ${status}`
  switch (status) {
    case 401:
    case 403:
      return new UpstreamFailure(
        'upstream_credentials',
        `The endpoint ${endpoint} rejected the gateway’s own credential (${status}); your key is fine.`,
        {
          reason,
          countsAsFailure: true,
          hasAnswered: true,
          withoutEndpoint: `The model server rejected the gateway’s own credential (${status}); your key is fine.`,
        },
      )
    case 404:
      return new UpstreamFailure(
        'upstream_not_found',
        `The endpoint ${endpoint} does not know the path or the model (404).`,
        { reason, withoutEndpoint: 'The model server does not know the path or the model (404).' },
      )
    case 429:
      return new UpstreamFailure('upstream_rate_limited', undefined, {
        reason,
        isOverload: true,
        ...retryHint(head),
      })
    case 503:
    case 529:
      return new UpstreamFailure('unavailable', 'The model server is overloaded.', {
        reason,
        countsAsFailure: true,
        hasAnswered: true,
        isOverload: true,
        ...retryHint(head),
      })
    default: {
      // All other 4xx concern the request: no other endpoint would accept it either.
      const isOfRequest = status >= 400 && status < 500
      return new UpstreamFailure('upstream_error', `The model server answered ${status}.`, {
        reason,
        mayTryNext: !isOfRequest,
        ...(isOfRequest && !MAY_PASS.has(status) && { headers: { 'x-should-retry': 'false' } }),
        countsAsFailure: status >= 500,
        hasAnswered: true,
      })
    }
  }
}

function isAccountEmpty(
  { status, headers }: Head,
  body: Buffer,
  coding: Coding | 'unknown' | undefined,
): boolean {
  const contentType = headerValue(headers, 'content-type') ?? ''
  const asksToWait =
    headerValue(headers, 'retry-after') !== undefined || headerValue(headers, 'retry-after-ms') !== undefined
  const text =
    coding === undefined || coding === 'unknown' ? body : decodedAtOnce(body, coding, MAX_MESSAGE_BYTES)
  return isUnpaid({ ...readMessage({ contentType, body: text ?? body }), status, asksToWait })
}

/** Not a rate limit, although many vendors send it as 429: waiting does not help. */
function unpaid(status: number, endpoint: string): UpstreamFailure {
  return new UpstreamFailure(
    'upstream_credentials',
    `The gateway’s account at the endpoint ${endpoint} has nothing left to spend (${status}); your key is fine.`,
    {
      reason: `${endpoint} answered ${status}: its account has nothing left to spend`,
      withoutEndpoint: `The gateway’s account at the model server has nothing left to spend (${status}); your key is fine.`,
      result: 'upstream_unpaid',
      countsAsFailure: true,
      hasAnswered: true,
    },
  )
}

/** The kind of the decoded body; in `other` the model name could not be restored and the usage not metered. */
export function bodyKind(head: Head): 'json' | 'events' | 'other' {
  const type = (headerValue(head.headers, 'content-type') ?? '').toLowerCase()
  if (type.startsWith('text/event-stream')) return 'events'
  return JSON_TYPE.test(type) ? 'json' : 'other'
}

/** What servers send in place of an answer, with status 200. */
const isHtml = (head: Head) => /\bhtml\b/i.test(headerValue(head.headers, 'content-type') ?? 'html')

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/

function unreadable(head: Head, endpoint: string): UpstreamFailure {
  const type = headerValue(head.headers, 'content-type') ?? 'missing'
  const coding = headerValue(head.headers, 'content-encoding') ?? 'identity'
  return new UpstreamFailure(
    'upstream_error',
    'The answer of the model server is neither JSON nor an event stream.',
    {
      reason: `${endpoint}: content-type ${type}, content-encoding ${coding}`,
      countsAsFailure: true,
      hasAnswered: true,
    },
  )
}

/**
 * The cooldown that the upstream asks for, and the `retry-after` of the client: limited, because SDKs sleep that long.
 * `retry-after-ms` is OpenAI's own; the standard one has seconds or a date (RFC 9110 §10.2.3).
 */
function retryHint({ headers }: Head): { retryAfterMs: number; cooldownMs?: number } {
  const exactMs = Number(headerValue(headers, 'retry-after-ms') ?? Number.NaN)
  const text = headerValue(headers, 'retry-after') ?? ''
  const askedMs = Number.isFinite(exactMs) ? exactMs : secondsOf(text) * 1_000
  if (!(askedMs > 0)) return { retryAfterMs: DEFAULT_RETRY_AFTER_MS }
  const cooldownMs = Math.min(askedMs, MAX_RETRY_AFTER_MS)
  return { retryAfterMs: cooldownMs, cooldownMs }
}

/** A date is ignored: it would require synchronized clocks. */
function secondsOf(text: string): number {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN
}

function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
