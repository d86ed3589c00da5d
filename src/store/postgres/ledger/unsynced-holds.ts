interface Waiting {
  readonly order: number
  readonly resolve: () => void
}

/**
 * Holds that the server has committed and may still lose in a power cut. Reports of the ledger's thread are in order: one about a
 * sync covers the holds of all reports before it.
 */
export class UnsyncedHolds {
  /** The report of each hold, by the number of its row, in the order of the reports. */
  readonly #orders = new Map<number, number>()
  #waiting: Waiting[] = []
  #syncedOrder = 0

  /** How many there are. */
  get size(): number {
    return this.#orders.size
  }

  add(number: number, order: number): void {
    if (order > this.#syncedOrder) this.#orders.set(number, order)
  }

  /** Resolves when the hold survives a power cut; undefined if it does already. */
  synced(number: number): Promise<void> | undefined {
    const order = this.#orders.get(number)
    if (order === undefined) return undefined
    return new Promise(resolve => this.#waiting.push({ order, resolve }))
  }

  /** All holds of reports up to this one survive a power cut. */
  onSynced(order: number): void {
    if (order <= this.#syncedOrder) return
    this.#syncedOrder = order
    for (const [number, earlier] of this.#orders) {
      if (earlier > order) break
      this.#orders.delete(number)
    }
    const waiting = this.#waiting
    this.#waiting = waiting.filter(one => one.order > order)
    for (const one of waiting) if (one.order <= order) one.resolve()
  }
}
