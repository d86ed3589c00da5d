/**
 * The longest wait that a client is asked for (spec/wire.md §1): openai-node 4 ignores 60 s and more and retries
 * at once, and Anthropic's SDK sleeps whatever it is given.
 */
export const MAX_RETRY_AFTER_MS = 59_000

/** A wait as a client is given it: whole seconds for `retry-after`, 1 to 59. */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(Math.min(waitMs, MAX_RETRY_AFTER_MS) / 1_000))
}
