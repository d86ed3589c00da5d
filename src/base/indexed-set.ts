/** A member of an {@link IndexedSet}, of at most one at a time. */
export interface IndexedSetMember {
  /** Its index, maintained by the set; {@link ABSENT} while it is in none. */
  place: number
}

/** The index of an object that is in no set. */
export const ABSENT = -1

/**
 * An indexed set with O(1) add and delete that allocates nothing.
 * A `Set` is copied to a new table after enough changes, and the old table keeps its members and points to the new one.
 * Once an old table is tenured, the scavenger treats all later tables as live, each with the requests in flight at that
 * time: they are copied twice and accumulate until a full collection. That took a sixth of the main thread's time.
 */
export class IndexedSet<Member extends IndexedSetMember> implements Iterable<Member> {
  readonly #members: Member[] = []

  get size(): number {
    return this.#members.length
  }

  /** No effect if the member is already in the set. */
  add(member: Member): void {
    if (member.place !== ABSENT) return
    member.place = this.#members.length
    this.#members.push(member)
  }

  /** The member must be in this set or in none. @returns whether it was in the set. */
  delete(member: Member): boolean {
    const { place } = member
    if (place === ABSENT) return false
    const last = this.#members.pop()
    if (last !== undefined && last !== member) {
      last.place = place
      this.#members[place] = last
    }
    member.place = ABSENT
    return true
  }

  clear(): void {
    for (const member of this.#members) member.place = ABSENT
    this.#members.length = 0
  }

  /**
   * In no meaningful order. Members that were already visited may be deleted meanwhile; after other deletions a member
   * may be visited twice.
   */
  *[Symbol.iterator](): Generator<Member> {
    // From the end: a deleted member is replaced by the last one, which was already visited.
    for (let at = this.#members.length - 1; at >= 0; at--) {
      const member = this.#members[at]
      if (member) yield member
    }
  }
}
