import { RateBucket } from './gcra.ts'

/** The rates and permits of one key or one tenant. Limits come with each question: they change with a reload. */
export class RateState {
  readonly kind: 'key' | 'tenant'
  readonly name: string
  readonly requests = new RateBucket()
  readonly tokens = new RateBucket()
  /** Of `count_tokens` alone: agents send bursts of it, which must not starve inference (spec/wire.md §6). */
  readonly counts = new RateBucket()
  /** Requests that have a permit. Whose they are and until when, each reservation knows itself. */
  permits = 0

  constructor(kind: 'key' | 'tenant', name: string) {
    this.kind = kind
    this.name = name
  }

  /** Nothing would be lost by forgetting it. */
  isIdle(tickMs: number): boolean {
    return (
      this.permits === 0 &&
      this.requests.isFull(tickMs) &&
      this.tokens.isFull(tickMs) &&
      this.counts.isFull(tickMs)
    )
  }
}
