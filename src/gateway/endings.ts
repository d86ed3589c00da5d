import { GwError } from '../base/catalogue/wire.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { IndexedSet, type IndexedSetMember } from '../base/indexed-set.ts'
import type { Outcome } from '../metering/request-log.ts'
import type { Answered } from '../upstream/types.ts'

/** How requests end: their results, clients that disconnect, a shutdown, and answers that are read on. */

/** How a request ended. */
export interface Delivered {
  readonly outcome: Outcome
  /** The cause if the request was rejected, failed, or broke off. */
  readonly error?: unknown
}

/** The client disconnected before the end of the answer. */
export const CLIENT_GONE: Delivered = { outcome: 'client_gone' }

/** Abort reason of an exchange whose client disconnected. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

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

/** Limits the connections that drains may take from connected clients. */
const MAX_DRAINS = 64
/** Beyond these, the rest of an answer costs more than its exact usage is worth. */
const DRAIN_BOUNDS: DrainBounds = { maxMs: 60_000, maxBytes: 8_388_608 }
/** After the finish reason only the usage is still to come. */
const USAGE_BOUNDS: DrainBounds = { maxMs: 2_000, maxBytes: 65_536 }

interface DrainBounds {
  readonly maxMs: number
  readonly maxBytes: number
}

/** An exchange, or the request that owns it. */
type Abortable = Pick<Answered, 'abort'>

/** Limits how many exchanges are read to their end after a client disconnect, to learn their usage. */
export class Drains {
  #open = 0

  /** @returns undefined if too many drains are open. */
  enter(exchange: Abortable, clock: Clock): Drain | undefined {
    if (this.#open >= MAX_DRAINS) return undefined
    this.#open++
    return new Drain(exchange, clock, DRAIN_BOUNDS, () => {
      this.#open--
    })
  }
}

/** Drains an answer whose usage is due next; short enough not to count towards the limit of {@link Drains}. */
export function drainForUsage(exchange: Abortable, clock: Clock): Drain {
  return new Drain(exchange, clock, USAGE_BOUNDS, () => undefined)
}

/** Bounds the time and bytes of one drained exchange. */
export class Drain {
  readonly #exchange: Abortable
  readonly #deadline: Timer
  readonly #onEnd: () => void
  #leftBytes: number

  constructor(exchange: Abortable, clock: Clock, bounds: DrainBounds, onEnd: () => void) {
    this.#exchange = exchange
    this.#leftBytes = bounds.maxBytes
    this.#onEnd = onEnd
    this.#deadline = clock.after(bounds.maxMs, () => exchange.abort(new ClientGone()))
  }

  onPiece(bytes: number): void {
    this.#leftBytes -= bytes
    if (this.#leftBytes < 0) this.#exchange.abort(new ClientGone())
  }

  /** The exchange has ended. Must be called once. */
  end(): void {
    this.#deadline.cancel()
    this.#onEnd()
  }
}
