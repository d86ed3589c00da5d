/** A hold, as far as it takes of a balance. */
export interface TenantHold {
  readonly requestId: string
  readonly attempt: number
  readonly tenant: string
  readonly amountNano: bigint
}

/**
 * What open holds take of each tenant's balance, so that a prepaid hold need not add up all others. In memory, beside
 * `open_holds`: only the writer of the one gateway opens and ends holds.
 *
 * What a batch does takes effect at once and is taken back where the batch is not committed.
 */
export class TenantHolds {
  readonly #open = new Map<string, TenantHold>()
  readonly #sums = new Map<string, bigint>()
  /** What takes back the batch at hand, the latest last. */
  #undo: (() => void)[] = []

  constructor(open: Iterable<TenantHold>) {
    for (const hold of open) this.#add(hold)
  }

  heldNano(tenant: string): bigint {
    return this.#sums.get(tenant) ?? 0n
  }

  /** A batch begins, or has been committed. */
  begin(): void {
    this.#undo = []
  }

  open(hold: TenantHold): void {
    if (hold.amountNano === 0n) return
    this.#add(hold)
    this.#undo.push(() => this.#remove(idOf(hold)))
  }

  close(requestId: string, attempt: number): void {
    const hold = this.#remove(idOf({ requestId, attempt }))
    if (hold) this.#undo.push(() => this.#add(hold))
  }

  rollBack(): void {
    for (const undo of this.#undo.reverse()) undo()
    this.#undo = []
  }

  #add(hold: TenantHold): void {
    this.#open.set(idOf(hold), hold)
    this.#sums.set(hold.tenant, this.heldNano(hold.tenant) + hold.amountNano)
  }

  #remove(id: string): TenantHold | undefined {
    const hold = this.#open.get(id)
    if (!hold) return undefined
    this.#open.delete(id)
    const left = this.heldNano(hold.tenant) - hold.amountNano
    if (left === 0n) this.#sums.delete(hold.tenant)
    else this.#sums.set(hold.tenant, left)
    return hold
  }
}

function idOf({ requestId, attempt }: Pick<TenantHold, 'requestId' | 'attempt'>): string {
  return `${requestId} ${attempt}`
}
