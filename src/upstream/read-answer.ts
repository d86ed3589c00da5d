import type { Protocol } from '../schema/protocol.ts'
import type { Answer } from './probe/ask.ts'
import type { ProbedService } from './probe.ts'

/** The kind of an answer's body. */
export type Shape = Protocol | 'html' | 'json' | 'other'

/** The parts of an answer that are read. */
type AnswerText = Pick<Answer, 'contentType' | 'body'>

/** The error of an answer. */
export interface UpstreamMessage {
  readonly shape: Shape
  /** `error.type`, `error.code`, `error.param`; empty if absent. */
  readonly type: string
  readonly code: string
  readonly param: string
  readonly message: string | undefined
}

export function readMessage(answer: AnswerText): UpstreamMessage {
  const json = parsed(answer)
  const error = member(json, 'error')
  const fault = error === undefined || typeof error === 'string' ? json : error
  const message = [error, member(fault, 'message'), member(json, 'detail')].find(isText)
  return {
    shape: shapeOf(answer, json),
    type: text(member(fault, 'type')),
    code: text(member(fault, 'code')),
    param: text(member(fault, 'param')),
    message,
  }
}

/** Whether a 200 has the JSON shape of that service. */
export function isAnswerOf(service: ProbedService, protocol: Protocol, answer: Answer): boolean {
  const json = parsed(answer)
  if (service === 'rerank') return Array.isArray(member(json, 'results'))
  if (service === 'responses') return member(json, 'object') === 'response'
  if (service === 'embeddings') return Array.isArray(member(json, 'data'))
  // A completion has `choices`, as a chat of OpenAI has.
  return chatShape(json) === protocol
}

/** The names in a list of models, in its order; undefined if the body is not such a list. */
export function listedModels(answer: Answer): readonly string[] | undefined {
  const json = parsed(answer)
  const data = member(json, 'data') ?? json
  if (!Array.isArray(data)) return undefined
  return data.map(entry => member(entry, 'id')).filter(isText)
}

function shapeOf(answer: AnswerText, json: unknown): Shape {
  if (json === undefined) {
    const isHtml = /\bhtml\b/i.test(answer.contentType) || /^\s*<(?:!doctype|html)/i.test(start(answer))
    return isHtml ? 'html' : 'other'
  }
  const error = member(json, 'error')
  if (member(json, 'type') === 'error' && isText(member(error, 'type'))) return 'anthropic'
  const isOpenai = isText(member(error, 'message')) || member(json, 'object') === 'error'
  return chatShape(json) ?? (isOpenai ? 'openai' : 'json')
}

function chatShape(json: unknown): Protocol | undefined {
  if (Array.isArray(member(json, 'choices'))) return 'openai'
  return member(json, 'type') === 'message' && Array.isArray(member(json, 'content'))
    ? 'anthropic'
    : undefined
}

function parsed(answer: AnswerText): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8')) as unknown
  } catch {
    return undefined // invalid or truncated
  }
}

function start(answer: AnswerText): string {
  return answer.body.subarray(0, 200).toString('latin1')
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The parts of an answer that distinguish an empty account from a rate limit. */
export interface AccountMessage extends Pick<UpstreamMessage, 'code' | 'type' | 'message'> {
  readonly status: number
  /** It has a `retry-after`, like a rate limit. */
  readonly asksToWait: boolean
}

/**
 * `insufficient_quota`, `billing_hard_limit_reached`, `billing_not_active` (OpenAI), `billing_error` (Anthropic),
 * `exceeded_current_quota_error` (Moonshot), `Arrearage` (Alibaba), `insufficient_user_quota` (one-api and its forks).
 */
const CODES =
  /^(?:insufficient_(?:user_)?(?:quota|balance|funds|credits?)|billing_\w+|exceeded_current_quota\w*|arrearage)$/i
/** Anthropic sends it as `invalid_request_error`, with status 400. */
const EMPTY = /credit balance is too low/i
const NO_MONEY =
  /exceeded (?:your|the) current quota|credit balance|insufficient.{0,10}(?:balance|quota|funds|credit)|out of credits|billing/i
/** Gemini uses "exceeded your current quota" also for limits that refill each minute. */
const REFILLS = /(?:retry|try again) (?:in|after)|per.?(?:second|minute|hour)|rate.?limit/i

/** Statuses that may mean an empty account, once the body has been read. */
export const PERHAPS_UNPAID: ReadonlySet<number> = new Set([400, 403, 429])

/**
 * Whether the account of the credential has nothing left to spend: a 402, or what vendors send instead. A 400 may quote
 * the prompt: there only a code or the one known sentence counts.
 */
export function isUnpaid({ status, code, type, message = '', asksToWait }: AccountMessage): boolean {
  if (status === 402 || CODES.test(code) || CODES.test(type)) return true
  if (!PERHAPS_UNPAID.has(status)) return false
  if (status === 400) return EMPTY.test(message)
  return NO_MONEY.test(message) && !asksToWait && !REFILLS.test(message)
}

/** Limit of a quoted message in characters. */
const MAX_LENGTH = 200
/** This many consecutive characters of a credential are redacted. */
const MIN_SECRET_PART = 6
const MASK = '…'
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029\s]+/gu

/**
 * Quotes an upstream's message for display: on one line, shortened, and without any part of the credential, which some
 * vendors repeat when they reject it. Empty if nothing is left.
 */
export function redactQuote(message: string | undefined, secrets: readonly string[]): string {
  if (message === undefined) return ''
  const line = withoutSecrets(message.slice(0, 4 * MAX_LENGTH), secrets)
    .replaceAll(INVISIBLE, ' ')
    .trim()
  if (line === '') return ''
  return line.length > MAX_LENGTH ? `“${line.slice(0, MAX_LENGTH)}…”` : `“${line}”`
}

/** Masks every part that also occurs in a secret. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const hidden = new Uint8Array(text.length)
  const lower = text.toLowerCase()
  for (const secret of secrets) {
    const known = secret.toLowerCase()
    const window = Math.min(MIN_SECRET_PART, known.length)
    if (window === 0) continue
    for (let at = 0; at + window <= lower.length; at++) {
      if (known.includes(lower.slice(at, at + window))) hidden.fill(1, at, at + window)
    }
  }
  let shown = ''
  for (let at = 0; at < text.length; at++) {
    if (!hidden[at]) shown += text[at]
    else if (!hidden[at - 1]) shown += MASK
  }
  return shown
}
