/**
 * The maximum of `retry-after` (spec/wire.md §1): openai-node 4 ignores 60 s and more and retries at once, and
 * Anthropic's SDK sleeps for any given time.
 */
export const MAX_RETRY_AFTER_MS = 59_000

/** The value of `retry-after`: whole seconds, 1 to 59. */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(Math.min(waitMs, MAX_RETRY_AFTER_MS) / 1_000))
}
