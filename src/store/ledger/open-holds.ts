import { type HoldId, keyOfHold } from './messages.ts'

/** The part of a hold that its end and the balance of its tenant need. */
export interface OpenHold extends HoldId {
  /** Its row of `open_holds`; undefined if it was opened in the current batch. */
  id: number | undefined
  readonly tenant: string | null
  readonly openedAtMs: number
  readonly amountNano: bigint
  readonly tokens: number
  readonly priceId: number | null
}

/**
 * The open holds of a lane, and the amount that they reserve of each tenant's balance, so that an end finds its hold and a
 * prepaid hold need not add up all others. In memory, beside the table `open_holds`: only the writer of the lane opens
 * and ends them.
 * The changes of a batch take effect at once and are rolled back if the batch is not committed.
 */
export class OpenHolds {
  readonly #open = new Map<string, OpenHold>()
  readonly #sums = new Map<string, bigint>()
  /** The changes of the current batch, in order. */
  #changes: { readonly change: 'open' | 'end'; readonly hold: OpenHold }[] = []

  constructor(open: Iterable<OpenHold>) {
    for (const hold of open) this.#add(hold)
  }

  has(id: HoldId): boolean {
    return this.#open.has(keyOfHold(id))
  }

  /** Whether this very hold is still open. */
  isOpen(hold: OpenHold): boolean {
    return this.#open.get(keyOfHold(hold)) === hold
  }

  heldNano(tenant: string): bigint {
    return this.#sums.get(tenant) ?? 0n
  }

  /** A batch begins, or has been committed. */
  begin(): void {
    this.#changes = []
  }

  open(hold: OpenHold): void {
    this.#add(hold)
    this.#changes.push({ change: 'open', hold })
  }

  /** Undefined if the hold is not open. */
  end(id: HoldId): OpenHold | undefined {
    const hold = this.#open.get(keyOfHold(id))
    if (!hold) return undefined
    this.#remove(hold)
    this.#changes.push({ change: 'end', hold })
    return hold
  }

  rollBack(): void {
    for (const { change, hold } of this.#changes.reverse()) {
      if (change === 'open') this.#remove(hold)
      else this.#add(hold)
    }
    this.#changes = []
  }

  #add(hold: OpenHold): void {
    this.#open.set(keyOfHold(hold), hold)
    if (hold.tenant !== null) this.#hold(hold.tenant, hold.amountNano)
  }

  #remove(hold: OpenHold): void {
    this.#open.delete(keyOfHold(hold))
    if (hold.tenant !== null) this.#hold(hold.tenant, -hold.amountNano)
  }

  #hold(tenant: string, amountNano: bigint): void {
    const heldNano = this.heldNano(tenant) + amountNano
    if (heldNano === 0n) this.#sums.delete(tenant)
    else this.#sums.set(tenant, heldNano)
  }
}
