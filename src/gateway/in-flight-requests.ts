import { GwError } from '../base/catalogue/wire.ts'
import { ABSENT, IndexedSet, type IndexedSetMember } from '../base/indexed-set.ts'

/** Abort reason of requests that a shutdown interrupts. */
export class Interrupted extends GwError {
  constructor() {
    super('unavailable', 'The gateway is shutting down.', { retryAfterMs: 1_000 })
  }
}

/**
 * The requests in flight. A shutdown ends them before it closes the ledger: each answer ends with an in-band error,
 * and each bill reaches the ledger.
 */
export class InFlightRequests {
  readonly #inFlight = new IndexedSet<InFlightRequest>()
  #interrupted: Interrupted | undefined
  #empty: () => void = () => undefined

  get size(): number {
    return this.#inFlight.size
  }

  enter(): InFlightRequest {
    const inFlight = new InFlightRequest(this)
    this.#inFlight.add(inFlight)
    return inFlight
  }

  /** Set once `interrupt` was called. */
  get interrupted(): Interrupted | undefined {
    return this.#interrupted
  }

  left(inFlight: InFlightRequest): void {
    this.#inFlight.delete(inFlight)
    if (this.#inFlight.size === 0) this.#empty()
  }

  /** Aborts every upstream exchange, also those that start later. */
  interrupt(): void {
    this.#interrupted ??= new Interrupted()
    for (const inFlight of this.#inFlight) inFlight.interrupt(this.#interrupted)
  }

  /** Resolves when no request is in flight. */
  async idle(): Promise<void> {
    if (this.#inFlight.size === 0) return
    await new Promise<void>(resolve => {
      this.#empty = resolve
    })
  }
}

/** A request in flight, from before its hold until its reservation is released. */
export class InFlightRequest implements IndexedSetMember {
  place = ABSENT
  readonly #inFlight: InFlightRequests
  #exchange: Abortable | undefined

  constructor(inFlightRequests: InFlightRequests) {
    this.#inFlight = inFlightRequests
  }

  /** Registers the exchange for `interrupt`; aborts it immediately if that was already called. */
  interruptible(exchange: Abortable): void {
    const { interrupted } = this.#inFlight
    if (interrupted) exchange.abort(interrupted)
    else this.#exchange = exchange
  }

  interrupt(reason: Interrupted): void {
    this.#exchange?.abort(reason)
  }

  leave(): void {
    this.#inFlight.left(this)
  }
}

interface Abortable {
  abort(reason: Error): void
}
