import type { Owner } from './limit.ts'
import { RateLimit, type RateUnit } from './rate-limit.ts'
import type { Sharing } from './shares/limit-shares.ts'

const TOKENS: RateUnit = {
  scope: 'tpm',
  info: { name: 'tpm', title: 'tokens per minute', unit: 'tokens', field: 'limits.tpm' },
  code: 'rate_limit_tokens',
  title: 'Tokens',
  needed: ({ ratedTokens }) => ratedTokens,
  correction: ({ ratedTokens }, { charge }) => (charge?.tokens ?? 0) - ratedTokens,
}

/** Tokens per minute: a request takes its estimate, and is corrected by its usage; an excess is debt. */
export function tokensPerMinute(owner: Owner, sharing?: Sharing): RateLimit {
  return new RateLimit(owner, TOKENS, sharing)
}
