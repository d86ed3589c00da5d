import { ApiError } from '../base/catalogue/api.ts'
import type { Clock } from '../base/clock.ts'

/** The burst of changes of a tenant, and the refill interval per change. */
const BURST = 30
const REFILL_MS = 2_000

/**
 * Limits the rate of changes and explanations of all users of a tenant together: each change is written to disk and read by
 * every gateway, and each explanation takes time of one, at the expense of other tenants.
 */
export class ChangeRate {
  readonly #clock: Clock
  /** The time when the burst of a tenant is fully refilled. */
  readonly #fullAtMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a change, or an explanation. @throws {ApiError} too_many_changes */
  take(tenant: string): void {
    const nowMs = this.#clock.monotonicMs()
    const fullAtMs = Math.max(this.#fullAtMs.get(tenant) ?? 0, nowMs) + REFILL_MS
    const retryAfterMs = fullAtMs - nowMs - BURST * REFILL_MS
    if (retryAfterMs > 0) throw new ApiError('too_many_changes', undefined, { retryAfterMs })
    this.#fullAtMs.set(tenant, fullAtMs)
    this.#forget(nowMs)
  }

  /** Drops tenants with a full burst, oldest first. */
  #forget(nowMs: number): void {
    for (const [tenant, fullAtMs] of this.#fullAtMs) {
      if (fullAtMs > nowMs) return
      this.#fullAtMs.delete(tenant)
    }
  }
}
