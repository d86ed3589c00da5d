import { ApiError } from '../base/catalogue/api.ts'
import type { Clock } from '../base/clock.ts'

/** Changes that a tenant may make at once, and how soon each of them comes back. */
const BURST = 30
const REFILL_MS = 2_000

/**
 * How fast the users of a tenant may change things, all of them together: each change is written to disk and read by every
 * gateway, which other tenants pay for.
 */
export class ChangeRate {
  readonly #clock: Clock
  /** When the last of its changes will have come back, by tenant. */
  readonly #fullAtMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a change. @throws {ApiError} too_many_changes */
  take(tenant: string): void {
    const nowMs = this.#clock.monotonicMs()
    const fullAtMs = Math.max(this.#fullAtMs.get(tenant) ?? 0, nowMs) + REFILL_MS
    const retryAfterMs = fullAtMs - nowMs - BURST * REFILL_MS
    if (retryAfterMs > 0) throw new ApiError('too_many_changes', undefined, { retryAfterMs })
    this.#fullAtMs.set(tenant, fullAtMs)
    this.#forget(nowMs)
  }

  /** Those who have made no change of late, the ones that were longest ago first. */
  #forget(nowMs: number): void {
    for (const [tenant, fullAtMs] of this.#fullAtMs) {
      if (fullAtMs > nowMs) return
      this.#fullAtMs.delete(tenant)
    }
  }
}
