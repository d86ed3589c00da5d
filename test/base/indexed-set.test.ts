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

it('holds whom a set would hold, whoever comes and leaves', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), steps => {
      const all = guests()
      const roster = new IndexedSet<Guest>()
      const set = new Set<Guest>()
      for (const { does, who } of steps) {
        const guest = all[who] as Guest
        if (does === 'comes') {
          roster.add(guest)
          set.add(guest)
        } else if (does === 'leaves') {
          expect(roster.delete(guest)).toBe(set.delete(guest))
        } else {
          roster.clear()
          set.clear()
        }
        expect(roster.size).toBe(set.size)
        expect(new Set(roster)).toEqual(set)
        expect([...roster]).toHaveLength(set.size)
      }
    }),
  )
})

it('passes everybody who stays, also while those who are passed leave and take others with them', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(one, one)), leaving => {
      const all = guests()
      const roster = new IndexedSet<Guest>()
      for (const guest of all) roster.add(guest)
      const passed = new Set<Guest>()
      for (const guest of roster) {
        passed.add(guest)
        for (const [name, other] of leaving) {
          if (name !== guest.name) continue
          roster.delete(guest)
          roster.delete(all[other] as Guest)
        }
      }
      for (const guest of roster) expect(passed).toContain(guest)
    }),
  )
})
