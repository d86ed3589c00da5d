import { GwError } from '../../base/catalogue/wire.ts'
import type { Hold, HoldEnd } from '../../schema/ledger.ts'
import type { Answers, Question } from './rows.ts'

/** Who waits for what was handed to the writer. */
export type Waiter =
  | WaitingHold
  | {
      readonly what: 'end'
      readonly end: HoldEnd
      readonly resolve: () => void
      readonly reject: (error: Error) => void
    }
  | {
      readonly what: 'answer'
      readonly resolve: (answer: Answers[Question['ask']]) => void
      readonly reject: (error: Error) => void
    }
  | typeof LOG

export interface WaitingHold {
  readonly what: 'hold'
  readonly hold: Hold
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  /** Its caller has been refused already; where it is written after all, it must be released. */
  isRefused: boolean
}

/** Nobody waits for a line of the call log; it only counts. */
export const LOG = { what: 'log' } as const

/** A power of two: a number's seat is found with a mask. */
const FIRST_SEATS = 1_024

/**
 * All who wait, by number, in the order in which the writer reports.
 *
 * They sit in a ring that grows: a Map that so many pass through leaves tables behind that keep each other alive, and
 * with them the requests that waited (see `Roster`).
 */
export class WaitingRoom {
  #seats: (Waiter | undefined)[] = emptySeats(FIRST_SEATS)
  #size = 0
  /** All before it have left. */
  #first = 1
  #last = 0

  get size(): number {
    return this.#size
  }

  /** The number that was given out last. */
  get last(): number {
    return this.#last
  }

  get oldest(): number | undefined {
    this.#passOverEmpty()
    return this.#size === 0 ? undefined : this.#first
  }

  add(waiter: Waiter): void {
    if (this.#last + 1 - this.#first >= this.#seats.length) this.#makeRoom()
    this.#last += 1
    this.#seats[this.#last & (this.#seats.length - 1)] = waiter
    this.#size += 1
  }

  take(seq: number): Waiter | undefined {
    if (seq < this.#first || seq > this.#last) return undefined
    const waiter = this.#at(seq)
    if (waiter === undefined) return undefined
    this.#seats[seq & (this.#seats.length - 1)] = undefined
    this.#size -= 1
    return waiter
  }

  /** Resolves all up to a number. Which of them had been refused, and are held now. */
  commit(upTo: number): readonly Hold[] {
    const unwanted: Hold[] = []
    const end = Math.min(upTo, this.#last)
    for (; this.#first <= end; this.#first++) {
      const waiter = this.take(this.#first)
      if (waiter === undefined) continue
      if (waiter.what === 'hold' && waiter.isRefused) unwanted.push(waiter.hold)
      else if (waiter.what === 'hold' || waiter.what === 'end') waiter.resolve()
    }
    return unwanted
  }

  /** Refuses the holds that wait. They keep their places: the writer may still write them. */
  refuseHolds(reason: string): void {
    for (const waiter of this.#seats) {
      if (waiter?.what !== 'hold' || waiter.isRefused) continue
      waiter.isRefused = true
      waiter.reject(unavailable(reason))
    }
  }

  /** Everybody, in vain. How many rows of the ledger were among them. */
  rejectAll(reason: string): number {
    let rows = 0
    for (let seq = this.#first; seq <= this.#last; seq++) {
      const waiter = this.take(seq)
      if (waiter?.what === 'hold' || waiter?.what === 'end') rows += 1
      if (waiter && waiter.what !== 'log') waiter.reject(unavailable(reason))
    }
    return rows
  }

  #at(seq: number): Waiter | undefined {
    return this.#seats[seq & (this.#seats.length - 1)]
  }

  #passOverEmpty(): void {
    while (this.#first <= this.#last && this.#at(this.#first) === undefined) this.#first += 1
  }

  /** For one more than there are seats from the first to the last. */
  #makeRoom(): void {
    this.#passOverEmpty()
    if (this.#last + 1 - this.#first < this.#seats.length) return
    const seats = emptySeats(2 * this.#seats.length)
    for (let seq = this.#first; seq <= this.#last; seq++) seats[seq & (seats.length - 1)] = this.#at(seq)
    this.#seats = seats
  }
}

function emptySeats(count: number): (Waiter | undefined)[] {
  return Array.from({ length: count }, () => undefined)
}

export function unavailable(reason: string): GwError {
  return new GwError('unavailable', undefined, { reason })
}

/** `hold req_1, attempt 2`, for an alarm. */
export function describeRow(waiter: Waiter): string {
  switch (waiter.what) {
    case 'hold':
      return `hold ${waiter.hold.requestId}, attempt ${waiter.hold.attempt}`
    case 'end':
      return describeEnd(waiter.end)
    case 'answer':
      return 'a question'
    case 'log':
      return 'a line of the call log'
  }
}

function describeEnd(end: HoldEnd): string {
  const id = `${end.kind} of hold ${end.requestId}, attempt ${end.attempt}, key ${end.key}`
  if (end.kind === 'release') return `${id}, ${end.reason}`
  const { inputTokens, outputTokens } = end.usage
  return `${id}, ${end.publication}, ${inputTokens} + ${outputTokens} tokens, ${end.amountNano} nano-units`
}
