import { RateBucket } from './gcra.ts'

/** The rates and permits of one key or one tenant. Limits are arguments, because they change with a reload. */
export class RateState {
  readonly kind: 'key' | 'tenant'
  readonly name: string
  readonly requests = new RateBucket()
  readonly tokens = new RateBucket()
  /** For `count_tokens` only: agents send bursts of it, which must not starve inference (spec/wire.md §6). */
  readonly counts = new RateBucket()
  /** Number of requests with a permit; the reservations own them. */
  permits = 0

  constructor(kind: 'key' | 'tenant', name: string) {
    this.kind = kind
    this.name = name
  }

  /** Whether the state equals a new one and can be deleted. */
  isIdle(tickMs: number): boolean {
    return (
      this.permits === 0 &&
      this.requests.isFull(tickMs) &&
      this.tokens.isFull(tickMs) &&
      this.counts.isFull(tickMs)
    )
  }
}
