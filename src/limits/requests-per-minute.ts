import type { Owner } from './limit.ts'
import { RateLimit, type RateUnit } from './rate-limit.ts'
import type { Sharing } from './shares/limit-shares.ts'

const REQUESTS: RateUnit = {
  scope: 'rpm',
  info: { name: 'rpm', title: 'requests per minute', unit: 'requests', field: 'limits.rpm' },
  code: 'rate_limit_requests',
  title: 'Requests',
  needed: () => 1,
  // A released request still counts, one that was not admitted does not.
  correction: (_request, { isWithdrawn }) => (isWithdrawn ? -1 : undefined),
}

const COUNTS: RateUnit = { ...REQUESTS, scope: 'count_rpm', title: 'Calls of count_tokens' }

/** Requests per minute. */
export function requestsPerMinute(owner: Owner, sharing?: Sharing): RateLimit {
  return new RateLimit(owner, REQUESTS, sharing)
}

/** Calls of `count_tokens`: agents send bursts of them, which must not starve inference (spec/wire.md §6). */
export function countsPerMinute(owner: Owner, sharing?: Sharing): RateLimit {
  return new RateLimit(owner, COUNTS, sharing)
}
