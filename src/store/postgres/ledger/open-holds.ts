import type { Hold } from '../../../schema/ledger.ts'
import { type HoldId, keyOfHold } from '../../ledger/messages.ts'

/**
 * The holds of this gateway that have no end in the store, in memory beside the tables: an end finds what it needs of its hold, and a
 * server that has lost its last moments gets them once more.
 */
export class OpenHolds {
  readonly #holds = new Map<string, Hold>()

  add(hold: Hold): void {
    this.#holds.set(keyOfHold(hold), hold)
  }

  get(id: HoldId): Hold | undefined {
    return this.#holds.get(keyOfHold(id))
  }

  has(id: HoldId): boolean {
    return this.#holds.has(keyOfHold(id))
  }

  delete(id: HoldId): void {
    this.#holds.delete(keyOfHold(id))
  }

  all(): Hold[] {
    return [...this.#holds.values()]
  }
}
