import { GwError } from '../base/catalogue/wire.ts'
import { ABSENT, Roster, type Rostered } from '../base/roster.ts'

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
export class Underway {
  readonly #visits = new Roster<Visit>()
  #interrupted: Interrupted | undefined
  #empty: () => void = () => undefined

  get size(): number {
    return this.#visits.size
  }

  enter(): Visit {
    const visit = new Visit(this)
    this.#visits.add(visit)
    return visit
  }

  /** Why everything is broken off, once it is. */
  get interrupted(): Interrupted | undefined {
    return this.#interrupted
  }

  left(visit: Visit): void {
    this.#visits.delete(visit)
    if (this.#visits.size === 0) this.#empty()
  }

  /** Breaks off every exchange with an upstream, now and from now on. */
  interrupt(): void {
    this.#interrupted ??= new Interrupted()
    for (const visit of this.#visits) visit.interrupt(this.#interrupted)
  }

  /** Resolves when no request is at hand. */
  async idle(): Promise<void> {
    if (this.#visits.size === 0) return
    await new Promise<void>(resolve => {
      this.#empty = resolve
    })
  }
}

/** A request at hand, from before its hold until what it held has been given back. */
export class Visit implements Rostered {
  place = ABSENT
  readonly #underway: Underway
  #exchange: Abortable | undefined

  constructor(underway: Underway) {
    this.#underway = underway
  }

  /** From now on it can be broken off; at once, where it should have been already. */
  interruptible(exchange: Abortable): void {
    const { interrupted } = this.#underway
    if (interrupted) exchange.abort(interrupted)
    else this.#exchange = exchange
  }

  interrupt(reason: Interrupted): void {
    this.#exchange?.abort(reason)
  }

  leave(): void {
    this.#underway.left(this)
  }
}

interface Abortable {
  abort(reason: Error): void
}
