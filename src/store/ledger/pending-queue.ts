import { GwError } from '../../base/catalogue/wire.ts'
import type { Hold, HoldEnd } from '../../schema/ledger.ts'
import type { Answers, LedgerQuery } from './messages.ts'

/** The caller of an item that was sent to the writer. */
export type PendingEntry =
  | PendingHold
  | {
      readonly what: 'end'
      readonly end: HoldEnd
      readonly resolve: () => void
      readonly reject: (error: Error) => void
    }
  | {
      readonly what: 'answer'
      readonly resolve: (answer: Answers[LedgerQuery['query']]) => void
      readonly reject: (error: Error) => void
    }
  | typeof LOG

export interface PendingHold {
  readonly what: 'hold'
  readonly hold: Hold
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  /** The caller has already been rejected; if the hold is written nevertheless, it must be released. */
  isRejected: boolean
}

/** A line of the call log has no waiting caller; it only counts. */
export const LOG = { what: 'log' } as const

/** A power of two: a mask maps a number to its slot. */
const FIRST_SLOTS = 1_024

/**
 * All pending callers, by number, in the order of the writer's reports.
 * They are in a growing ring: a Map with such a turnover leaves tables behind that keep each other alive, and with them
 * the waiting requests (see `IndexedSet`).
 */
export class PendingQueue {
  #slots: (PendingEntry | undefined)[] = emptySlots(FIRST_SLOTS)
  #size = 0
  /** All entries before this number have left. */
  #first = 1
  #last = 0

  get size(): number {
    return this.#size
  }

  /** The last number that was assigned. */
  get last(): number {
    return this.#last
  }

  get oldest(): number | undefined {
    this.#skipEmpty()
    return this.#size === 0 ? undefined : this.#first
  }

  add(entry: PendingEntry): void {
    if (this.#last + 1 - this.#first >= this.#slots.length) this.#grow()
    this.#last += 1
    this.#slots[this.#last & (this.#slots.length - 1)] = entry
    this.#size += 1
  }

  take(seq: number): PendingEntry | undefined {
    if (seq < this.#first || seq > this.#last) return undefined
    const entry = this.#at(seq)
    if (entry === undefined) return undefined
    this.#slots[seq & (this.#slots.length - 1)] = undefined
    this.#size -= 1
    return entry
  }

  /** Resolves all entries up to a number. Returns the holds that had already been rejected, and are now written. */
  commit(upTo: number): readonly Hold[] {
    const unwanted: Hold[] = []
    const end = Math.min(upTo, this.#last)
    for (; this.#first <= end; this.#first++) {
      const entry = this.take(this.#first)
      if (entry === undefined) continue
      if (entry.what === 'hold' && entry.isRejected) unwanted.push(entry.hold)
      else if (entry.what === 'hold' || entry.what === 'end') entry.resolve()
    }
    return unwanted
  }

  /** Rejects the pending holds. They keep their slots: the writer may still write them. */
  rejectHolds(reason: string): void {
    for (const entry of this.#slots) {
      if (entry?.what !== 'hold' || entry.isRejected) continue
      entry.isRejected = true
      entry.reject(unavailable(reason))
    }
  }

  /** Rejects all entries. Returns how many of them were rows of the ledger. */
  rejectAll(reason: string): number {
    let rows = 0
    for (let seq = this.#first; seq <= this.#last; seq++) {
      const entry = this.take(seq)
      if (entry?.what === 'hold' || entry?.what === 'end') rows += 1
      if (entry && entry.what !== 'log') entry.reject(unavailable(reason))
    }
    return rows
  }

  #at(seq: number): PendingEntry | undefined {
    return this.#slots[seq & (this.#slots.length - 1)]
  }

  #skipEmpty(): void {
    while (this.#first <= this.#last && this.#at(this.#first) === undefined) this.#first += 1
  }

  /** Makes room for one more entry than there are slots from the first to the last. */
  #grow(): void {
    this.#skipEmpty()
    if (this.#last + 1 - this.#first < this.#slots.length) return
    const slots = emptySlots(2 * this.#slots.length)
    for (let seq = this.#first; seq <= this.#last; seq++) slots[seq & (slots.length - 1)] = this.#at(seq)
    this.#slots = slots
  }
}

function emptySlots(count: number): (PendingEntry | undefined)[] {
  return Array.from({ length: count }, () => undefined)
}

export function unavailable(reason: string): GwError {
  return new GwError('unavailable', undefined, { reason })
}

/** `hold req_1, attempt 2`, for an alarm. */
export function describeRow(entry: PendingEntry): string {
  switch (entry.what) {
    case 'hold':
      return `hold ${entry.hold.requestId}, attempt ${entry.hold.attempt}`
    case 'end':
      return describeEnd(entry.end)
    case 'answer':
      return 'a query'
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
