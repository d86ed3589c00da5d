import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ABSENT, IndexedSet, type IndexedSetMember } from '../../src/base/indexed-set.ts'

interface Guest extends IndexedSetMember {
  readonly name: number
}

const GUESTS = 12

function guests(): Guest[] {
  return Array.from({ length: GUESTS }, (_, name) => ({ name, place: ABSENT }))
}

const one = fc.nat(GUESTS - 1)
const step = fc.oneof(
  fc.record({ does: fc.constant('comes' as const), who: one }),
  fc.record({ does: fc.constant('leaves' as const), who: one }),
  fc.record({ does: fc.constant('all leave' as const), who: one }),
)

it('has the members that a set would have, after any additions and removals', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), steps => {
      const all = guests()
      const indexed = new IndexedSet<Guest>()
      const set = new Set<Guest>()
      for (const { does, who } of steps) {
        const guest = all[who] as Guest
        if (does === 'comes') {
          indexed.add(guest)
          set.add(guest)
        } else if (does === 'leaves') {
          expect(indexed.delete(guest)).toBe(set.delete(guest))
        } else {
          indexed.clear()
          set.clear()
        }
        expect(indexed.size).toBe(set.size)
        expect(new Set(indexed)).toEqual(set)
        expect([...indexed]).toHaveLength(set.size)
      }
    }),
  )
})

it('visits each member that stays, also while those that are visited leave and take others with them', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(one, one)), leaving => {
      const all = guests()
      const indexed = new IndexedSet<Guest>()
      for (const guest of all) indexed.add(guest)
      const passed = new Set<Guest>()
      for (const guest of indexed) {
        passed.add(guest)
        for (const [name, other] of leaving) {
          if (name !== guest.name) continue
          indexed.delete(guest)
          indexed.delete(all[other] as Guest)
        }
      }
      for (const guest of indexed) expect(passed).toContain(guest)
    }),
  )
})
