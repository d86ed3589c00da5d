import { GwError } from '../base/catalogue/wire.ts'
import { ABSENT, IndexedSet, type IndexedSetMember } from '../base/indexed-set.ts'

/** Why an answer is broken off by the gateway itself. */
export class Interrupted extends GwError {
  constructor() {
    super('unavailable', 'The gateway is shutting down.', { retryAfterMs: 1_000 })
  }
}

/**
 * The requests at hand, so that a gateway that ends can end them first: each answer told so in-band, each bill
 * handed to the ledger before that is closed.
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

  /** Why everything is broken off, once it is. */
  get interrupted(): Interrupted | undefined {
    return this.#interrupted
  }

  left(inFlight: InFlightRequest): void {
    this.#inFlight.delete(inFlight)
    if (this.#inFlight.size === 0) this.#empty()
  }

  /** Breaks off every exchange with an upstream, now and from now on. */
  interrupt(): void {
    this.#interrupted ??= new Interrupted()
    for (const inFlight of this.#inFlight) inFlight.interrupt(this.#interrupted)
  }

  /** Resolves when no request is at hand. */
  async idle(): Promise<void> {
    if (this.#inFlight.size === 0) return
    await new Promise<void>(resolve => {
      this.#empty = resolve
    })
  }
}

/** A request at hand, from before its hold until what it held has been given back. */
export class InFlightRequest implements IndexedSetMember {
  place = ABSENT
  readonly #inFlight: InFlightRequests
  #exchange: Abortable | undefined

  constructor(inFlightRequests: InFlightRequests) {
    this.#inFlight = inFlightRequests
  }

  /** From now on it can be broken off; at once, where it should have been already. */
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
