import type { UpstreamMessage } from './probe/read-answer.ts'

/** What an answer says that tells an empty account from a rate limit. */
export interface SaidOfMoney extends Pick<UpstreamMessage, 'code' | 'type' | 'message'> {
  readonly status: number
  /** It says when to come back, as a rate limit does. */
  readonly asksToWait: boolean
}

/**
 * `insufficient_quota`, `billing_hard_limit_reached`, `billing_not_active` (OpenAI), `billing_error` (Anthropic),
 * `exceeded_current_quota_error` (Moonshot), `Arrearage` (Alibaba), `insufficient_user_quota` (one-api and its kin).
 */
const CODES =
  /^(?:insufficient_(?:user_)?(?:quota|balance|funds|credits?)|billing_\w+|exceeded_current_quota\w*|arrearage)$/i
/** Anthropic says it under `invalid_request_error`, with status 400. */
const EMPTY = /credit balance is too low/i
const NO_MONEY =
  /exceeded (?:your|the) current quota|credit balance|insufficient.{0,10}(?:balance|quota|funds|credit)|out of credits|billing/i
/** Gemini says "exceeded your current quota" of what refills each minute, too. */
const REFILLS = /(?:retry|try again) (?:in|after)|per.?(?:second|minute|hour)|rate.?limit/i

/** Statuses that may mean an empty account, once the body has been read. */
export const PERHAPS_UNPAID: ReadonlySet<number> = new Set([400, 403, 429])

/**
 * The account behind the credential has nothing left to spend: a 402, or what vendors send in its place. A 400 may
 * repeat the words of a prompt: there only a code or the one known sentence counts.
 */
export function isUnpaid({ status, code, type, message = '', asksToWait }: SaidOfMoney): boolean {
  if (status === 402 || CODES.test(code) || CODES.test(type)) return true
  if (!PERHAPS_UNPAID.has(status)) return false
  if (status === 400) return EMPTY.test(message)
  return NO_MONEY.test(message) && !asksToWait && !REFILLS.test(message)
}
