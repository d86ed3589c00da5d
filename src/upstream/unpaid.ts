import type { UpstreamMessage } from './probe/read-answer.ts'

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
