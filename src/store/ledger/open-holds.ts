import type { HoldId } from './rows.ts'

/** A hold, as far as its end and the balance of its tenant need it. */
export interface OpenHold extends HoldId {
  /** The entry that opened it. */
  readonly entryId: number
  readonly tenant: string | null
  readonly amountNano: bigint
  readonly priceId: number | null
}

/**
 * All open holds, and what they take of each tenant's balance, so that an end finds its hold and a prepaid hold need
 * not add up all others. In memory, beside the table `open_holds`: only the writer of the one gateway opens and ends
 * holds.
 *
 * What a batch does takes effect at once and is taken back where the batch is not committed.
 */
export class OpenHolds {
  readonly #open = new Map<string, OpenHold>()
  readonly #sums = new Map<string, bigint>()
  /** What the batch at hand has opened and ended, in order. */
  #done: { readonly did: 'open' | 'end'; readonly hold: OpenHold }[] = []

  constructor(open: Iterable<OpenHold>) {
    for (const hold of open) this.#add(hold)
  }

  heldNano(tenant: string): bigint {
    return this.#sums.get(tenant) ?? 0n
  }

  /** A batch begins, or has been committed. */
  begin(): void {
    this.#done = []
  }

  open(hold: OpenHold): void {
    this.#add(hold)
    this.#done.push({ did: 'open', hold })
  }

  /** Undefined where it is not open. */
  end(id: HoldId): OpenHold | undefined {
    const hold = this.#open.get(idOf(id))
    if (!hold) return undefined
    this.#remove(hold)
    this.#done.push({ did: 'end', hold })
    return hold
  }

  rollBack(): void {
    for (const { did, hold } of this.#done.reverse()) {
      if (did === 'open') this.#remove(hold)
      else this.#add(hold)
    }
    this.#done = []
  }

  #add(hold: OpenHold): void {
    this.#open.set(idOf(hold), hold)
    if (hold.tenant !== null) this.#hold(hold.tenant, hold.amountNano)
  }

  #remove(hold: OpenHold): void {
    this.#open.delete(idOf(hold))
    if (hold.tenant !== null) this.#hold(hold.tenant, -hold.amountNano)
  }

  #hold(tenant: string, amountNano: bigint): void {
    const heldNano = this.heldNano(tenant) + amountNano
    if (heldNano === 0n) this.#sums.delete(tenant)
    else this.#sums.set(tenant, heldNano)
  }
}

function idOf({ requestId, attempt }: HoldId): string {
  return `${requestId} ${attempt}`
}
