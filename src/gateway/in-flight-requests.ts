import { GwError } from '../base/catalogue/wire.ts'
import { IndexedSet, type IndexedSetMember } from '../base/indexed-set.ts'
import type { Answered } from '../upstream/types.ts'

/** Abort reason of requests that a shutdown interrupts. */
export class Interrupted extends GwError {
  constructor() {
    super('unavailable', 'The gateway is shutting down.', { retryAfterMs: 1_000 })
  }
}

/** A request, from before its hold until its reservation is released. */
type InFlightRequest = IndexedSetMember & Pick<Answered, 'abort'>

/**
 * The requests in flight. A shutdown ends them before it closes the ledger: each answer ends with an in-band error,
 * and each bill reaches the ledger.
 */
export class InFlightRequests {
  readonly #requests = new IndexedSet<InFlightRequest>()
  #interrupted: Interrupted | undefined
  #empty: () => void = () => undefined

  get size(): number {
    return this.#requests.size
  }

  /** Aborts the request if `interrupt` was called. */
  add(request: InFlightRequest): void {
    this.#requests.add(request)
    if (this.#interrupted) request.abort(this.#interrupted)
  }

  delete(request: InFlightRequest): void {
    this.#requests.delete(request)
    if (this.#requests.size === 0) this.#empty()
  }

  /** Aborts every request, also those that start later. */
  interrupt(): void {
    this.#interrupted ??= new Interrupted()
    for (const request of this.#requests) request.abort(this.#interrupted)
  }

  /** Resolves when no request is in flight. */
  async idle(): Promise<void> {
    if (this.#requests.size === 0) return
    await new Promise<void>(resolve => {
      this.#empty = resolve
    })
  }
}
