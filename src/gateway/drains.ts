import type { Clock, Timer } from '../base/clock.ts'
import { ClientGone } from './delivered.ts'

/** Reading on for clients that have left is worth less than what present ones wait for. */
const MAX_DRAINS = 64
/** Beyond this, the rest of an answer costs more than its exact usage is worth. */
const DRAIN_BOUNDS: DrainBounds = { maxMs: 60_000, maxBytes: 8_388_608 }
/** Once the model has said why it stopped, its usage comes next. */
const USAGE_BOUNDS: DrainBounds = { maxMs: 2_000, maxBytes: 65_536 }

interface DrainBounds {
  readonly maxMs: number
  readonly maxBytes: number
}

/** What is read on, and can be ended. */
interface Abortable {
  abort(reason: Error): void
}

/** Exchanges that are read on although their client has left, to learn what they will be charged. */
export class Drains {
  #open = 0

  /** @returns undefined if too many are being read already. */
  enter(exchange: Abortable, clock: Clock): Drain | undefined {
    if (this.#open >= MAX_DRAINS) return undefined
    this.#open++
    return new Drain(exchange, clock, DRAIN_BOUNDS, () => {
      this.#open--
    })
  }
}

/** Reads an answer on for the usage that is due next; short enough to be free of the bound on {@link Drains}. */
export function drainForUsage(exchange: Abortable, clock: Clock): Drain {
  return new Drain(exchange, clock, USAGE_BOUNDS, () => undefined)
}

/** One exchange that is read on, until it ends or has had its time or its bytes. */
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

  /** The exchange has ended. To be called once. */
  end(): void {
    this.#deadline.cancel()
    this.#onEnd()
  }
}
