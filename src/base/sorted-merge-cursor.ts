/**
 * Walks a sorted list in step with another one in the same order: finds common items without an index. If the orders
 * differ, it misses some items, but never returns a wrong one.
 */
export class SortedMergeCursor<Item, Sought> {
  readonly #items: readonly Item[]
  readonly #compare: (item: Item, sought: Sought) => number
  #at = 0

  /** @param compare negative if the item sorts before `sought`, 0 if it matches. */
  constructor(items: readonly Item[], compare: (item: Item, sought: Sought) => number) {
    this.#items = items
    this.#compare = compare
  }

  /** Call it in the order of the list. */
  find(sought: Sought): Item | undefined {
    for (; this.#at < this.#items.length; this.#at++) {
      const item = this.#items[this.#at] as Item
      const order = this.#compare(item, sought)
      if (order >= 0) return order === 0 ? item : undefined
    }
    return undefined
  }
}
