import { GwError } from '../base/catalogue/wire.ts'

/** Why an answer is broken off by the gateway itself. */
export class Interrupted extends GwError {
  constructor() {
    super('unavailable', 'The gateway is shutting down.', { retryAfterMs: 1_000 })
  }
}

/** A request at hand, from before its hold until what it held has been given back. */
export interface Visit {
  /** From now on it can be broken off; at once, where it should have been already. */
  interruptible(abort: (error: Interrupted) => void): void
  leave(): void
}

/**
 * The requests at hand, so that a gateway that ends can end them first: each answer told so in-band, each bill
 * handed to the ledger before that is closed.
 */
export class Underway {
  readonly #visits = new Map<Visit, ((error: Interrupted) => void) | undefined>()
  #interrupted: Interrupted | undefined
  #empty: () => void = () => undefined

  get size(): number {
    return this.#visits.size
  }

  enter(): Visit {
    const visit: Visit = {
      interruptible: abort => {
        if (this.#interrupted) abort(this.#interrupted)
        else this.#visits.set(visit, abort)
      },
      leave: () => {
        this.#visits.delete(visit)
        if (this.#visits.size === 0) this.#empty()
      },
    }
    this.#visits.set(visit, undefined)
    return visit
  }

  /** Breaks off every exchange with an upstream, now and from now on. */
  interrupt(): void {
    this.#interrupted ??= new Interrupted()
    for (const abort of this.#visits.values()) abort?.(this.#interrupted)
  }

  /** Resolves when no request is at hand. */
  async idle(): Promise<void> {
    if (this.#visits.size === 0) return
    await new Promise<void>(resolve => {
      this.#empty = resolve
    })
  }
}
