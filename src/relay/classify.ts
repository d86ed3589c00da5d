import { MAX_RETRY_AFTER_MS } from '../base/catalogue/retry-after.ts'
import { GwError, type GwErrorOptions, type WireCode } from '../base/catalogue/wire.ts'
import { type Coding, decodedAtOnce } from './coding.ts'
import { headerValue } from './headers.ts'
import { readMessage } from './probe/read-answer.ts'
import { ProxyError } from './proxy.ts'
import type { Head } from './types.ts'
import { isUnpaid } from './unpaid.ts'

const DEFAULT_RETRY_AFTER_MS = 1_000
/** No message for people is longer. */
const MAX_TOLD_BYTES = 1_048_576

/** Errors of undici and of the system that mean "too slow" rather than "broken". */
const TIMEOUT_CODES = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'])

/** A request to one endpoint that came to nothing: what the client is told, and what follows from it. */
export class UpstreamFailure extends GwError {
  override readonly name = 'UpstreamFailure'
  /** Another endpoint may do better: nothing of an answer has been seen, and the fault is not the request's. */
  readonly mayTryNext: boolean
  /** It says that the endpoint is not well: three in a row take it out (spec/requests.md §4). */
  readonly countsAsFailure: boolean
  /** The request had gone to the endpoint, wholly or in part. */
  readonly wasSent: boolean
  /** It was said by an answer, not by a connection. */
  readonly hasAnswered: boolean
  /** How long the upstream asked to be left alone. */
  readonly cooldownMs: number | undefined
  /** As metrics count the attempt: the code, or what tells more. */
  readonly result: string

  constructor(code: WireCode, message: string | undefined, more: FailureOptions) {
    super(code, message, more)
    this.mayTryNext = more.mayTryNext ?? true
    this.countsAsFailure = more.countsAsFailure ?? false
    this.hasAnswered = more.hasAnswered ?? false
    this.wasSent = more.wasSent ?? this.hasAnswered
    this.cooldownMs = more.cooldownMs
    this.result = more.result ?? code
  }
}

interface FailureOptions extends GwErrorOptions {
  readonly mayTryNext?: boolean
  readonly countsAsFailure?: boolean
  readonly wasSent?: boolean
  readonly hasAnswered?: boolean
  readonly cooldownMs?: number | undefined
  readonly result?: string
}

/**
 * What a connection's failure means to a client. Errors that are ours already stay as they are.
 *
 * @param wasSent The connection stood: the request was on its way over it.
 */
export function fromTransport(error: unknown, endpoint: string, wasSent: boolean): GwError {
  if (error instanceof GwError) return error
  const code = errorCode(error)
  const reason = `${endpoint}: ${error instanceof ProxyError ? error.message : (code ?? String(error))}`
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

function transportMessage(error: unknown, wasSent: boolean): string {
  const isUnparsed = error instanceof Error && error.name === 'HTTPParserError'
  if (isUnparsed) return 'The answer of the model server is not valid HTTP.'
  return wasSent ? 'The connection to the model server broke off.' : 'The model server could not be reached.'
}

/** An endpoint did not say in time what it had to. `total` is the time of the request, not only of the endpoint. */
export function fromDeadline(
  deadline: 'first_byte' | 'idle' | 'total',
  endpoint: string,
  wasSent: boolean,
): UpstreamFailure {
  return new UpstreamFailure('upstream_timeout', undefined, {
    reason: `${endpoint}: ${deadline} deadline`,
    mayTryNext: deadline !== 'total',
    countsAsFailure: true,
    wasSent,
  })
}

/** The statuses that speak about the client's own request (spec/wire.md §1): they go through. */
const OWN_WORDS: ReadonlySet<number> = new Set([400, 409, 413, 422])

/**
 * What an answer means by its head, or undefined where it goes through: a success of a shape that can be metered, and
 * what speaks about the client's own request (spec/security.md §4).
 *
 * @param coding How its body is encoded.
 * @param body What has come of it, where the status alone does not tell: see {@link PERHAPS_UNPAID}.
 */
export function fromHead(
  head: Head,
  endpoint: string,
  coding: Coding | 'unknown' | undefined,
  body?: Buffer,
): UpstreamFailure | undefined {
  const { status } = head
  if (status === 402 || (body && isAccountEmpty(head, body, coding))) return unpaid(status, endpoint)
  const isSuccess = status >= 200 && status < 300
  if (isSuccess || OWN_WORDS.has(status)) {
    const isReadable = coding !== 'unknown' && (!isSuccess || bodyKind(head) !== undefined)
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
      return new UpstreamFailure('upstream_rate_limited', undefined, { reason, ...retryHint(head) })
    case 503:
    case 529:
      return new UpstreamFailure('unavailable', 'The model server is overloaded.', {
        reason,
        countsAsFailure: true,
        hasAnswered: true,
        ...retryHint(head),
      })
    default:
      // Of the 4xx that are left each speaks about the request: no other endpoint would take it either.
      return new UpstreamFailure('upstream_error', `The model server answered ${status}.`, {
        reason,
        mayTryNext: status < 400 || status >= 500,
        countsAsFailure: status >= 500,
        hasAnswered: true,
      })
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
    coding === undefined || coding === 'unknown' ? body : decodedAtOnce(body, coding, MAX_TOLD_BYTES)
  return isUnpaid({ ...readMessage({ contentType, body: text ?? body }), status, asksToWait })
}

/** Not a rate limit, though many vendors say it with 429: no wait helps. */
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

/** What kind of body a head announces, once decoded; undefined for one that could be neither renamed nor metered. */
export function bodyKind(head: Head): 'json' | 'events' | undefined {
  const type = (headerValue(head.headers, 'content-type') ?? '').toLowerCase()
  if (type.startsWith('text/event-stream')) return 'events'
  return JSON_TYPE.test(type) ? 'json' : undefined
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/

function unreadable(head: Head, endpoint: string): UpstreamFailure {
  const type = headerValue(head.headers, 'content-type') ?? 'missing'
  const coding = headerValue(head.headers, 'content-encoding') ?? 'identity'
  return new UpstreamFailure(
    'upstream_error',
    'The model server answered something that is neither JSON nor an event stream.',
    {
      reason: `${endpoint}: content-type ${type}, content-encoding ${coding}`,
      countsAsFailure: true,
      hasAnswered: true,
    },
  )
}

/**
 * For how long the upstream asks to be left alone, and for how long a client is told to wait: never longer than an
 * SDK may be made to sleep. `retry-after-ms` is OpenAI's own; the standard one holds seconds or a date (RFC 9110 §10.2.3).
 */
function retryHint({ headers }: Head): { retryAfterMs: number; cooldownMs?: number } {
  const exactMs = Number(headerValue(headers, 'retry-after-ms') ?? Number.NaN)
  const text = headerValue(headers, 'retry-after') ?? ''
  const askedMs = Number.isFinite(exactMs) ? exactMs : secondsOf(text) * 1_000
  if (!(askedMs > 0)) return { retryAfterMs: DEFAULT_RETRY_AFTER_MS }
  const cooldownMs = Math.min(askedMs, MAX_RETRY_AFTER_MS)
  return { retryAfterMs: cooldownMs, cooldownMs }
}

/** A date would need the upstream's clock to agree with ours: it is taken as no hint. */
function secondsOf(text: string): number {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN
}

function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
