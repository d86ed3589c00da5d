/**
 * A list that is gone through beside another one in the same order: what both have is found without a table of it. Where
 * the two orders differ some of it is not found; nothing wrong ever is.
 */
export class SortedMergeCursor<Item, Sought> {
  readonly #items: readonly Item[]
  readonly #compare: (item: Item, sought: Sought) => number
  #at = 0

  /** @param compare below 0 where the item comes before what is sought, 0 where it is that. */
  constructor(items: readonly Item[], compare: (item: Item, sought: Sought) => number) {
    this.#items = items
    this.#compare = compare
  }

  /** To be asked in the order of the list. */
  find(sought: Sought): Item | undefined {
    for (; this.#at < this.#items.length; this.#at++) {
      const item = this.#items[this.#at] as Item
      const order = this.#compare(item, sought)
      if (order >= 0) return order === 0 ? item : undefined
    }
    return undefined
  }
}
