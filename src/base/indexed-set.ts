/** What can be in a {@link IndexedSet}, in one at a time. */
export interface IndexedSetMember {
  /** Its place there, kept by the roster; {@link ABSENT} while it is in none. */
  place: number
}

/** The place of what is in no roster. */
export const ABSENT = -1

/**
 * Who is here, where many come and go: a set whose coming and going makes no garbage.
 *
 * A `Set` is rewritten into a new table whenever it has seen enough of both, and the old table keeps its members and
 * points to the new one. Once one of them has grown old, the collector of young garbage takes all that follow for
 * alive, each with the requests that were at hand then: they are copied, twice, and pile up until a full collection.
 * That was a sixth of the main thread's time.
 */
export class IndexedSet<Member extends IndexedSetMember> implements Iterable<Member> {
  readonly #members: Member[] = []

  get size(): number {
    return this.#members.length
  }

  /** Of one that is here already nothing changes. */
  add(member: Member): void {
    if (member.place !== ABSENT) return
    member.place = this.#members.length
    this.#members.push(member)
  }

  /** Takes one out that is here, or in no roster. @returns whether it was here. */
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

  /** In no order that means anything. Whoever is passed may be taken out; where others are, one may come twice. */
  *[Symbol.iterator](): Generator<Member> {
    // From the end: the last one takes the place of one that leaves, and has been passed already.
    for (let at = this.#members.length - 1; at >= 0; at--) {
      const member = this.#members[at]
      if (member) yield member
    }
  }
}
