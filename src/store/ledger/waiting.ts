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

/** All who wait, by number, in the order in which the writer reports. */
export class WaitingRoom {
  readonly #waiters = new Map<number, Waiter>()
  #last = 0

  get size(): number {
    return this.#waiters.size
  }

  /** The number that was given out last. */
  get last(): number {
    return this.#last
  }

  get oldest(): number | undefined {
    return this.#waiters.keys().next().value
  }

  add(waiter: Waiter): void {
    this.#last += 1
    this.#waiters.set(this.#last, waiter)
  }

  take(seq: number): Waiter | undefined {
    const waiter = this.#waiters.get(seq)
    this.#waiters.delete(seq)
    return waiter
  }

  /** Resolves all up to a number. Which of them had been refused, and are held now. */
  commit(upTo: number): readonly Hold[] {
    const unwanted: Hold[] = []
    for (const [seq, waiter] of this.#waiters) {
      if (seq > upTo) break
      this.#waiters.delete(seq)
      if (waiter.what === 'hold' && waiter.isRefused) unwanted.push(waiter.hold)
      else if (waiter.what === 'hold' || waiter.what === 'end') waiter.resolve()
    }
    return unwanted
  }

  /** Refuses the holds that wait. They keep their places: the writer may still write them. */
  refuseHolds(reason: string): void {
    for (const waiter of this.#waiters.values()) {
      if (waiter.what !== 'hold' || waiter.isRefused) continue
      waiter.isRefused = true
      waiter.reject(unavailable(reason))
    }
  }

  /** Everybody, in vain. How many rows of the ledger were among them. */
  rejectAll(reason: string): number {
    let rows = 0
    for (const waiter of this.#waiters.values()) {
      if (waiter.what === 'hold' || waiter.what === 'end') rows += 1
      if (waiter.what !== 'log') waiter.reject(unavailable(reason))
    }
    this.#waiters.clear()
    return rows
  }
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
