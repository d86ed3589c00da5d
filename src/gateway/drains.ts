import type { Clock, Timer } from '../base/clock.ts'
import type { Answered } from '../upstream/types.ts'
import { ClientGone } from './delivered.ts'

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
