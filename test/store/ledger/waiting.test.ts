import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Hold } from '../../../src/schema/ledger.ts'
import { WaitingRoom } from '../../../src/store/ledger/waiting.ts'

interface Told {
  readonly seq: number
  resolved: boolean
  rejected: boolean
}

/** One who waits, and what it was told. */
function holdOf(seq: number): Told & { readonly waiter: Parameters<WaitingRoom['add']>[0] } {
  const told: Told = { seq, resolved: false, rejected: false }
  const waiter = {
    what: 'hold' as const,
    hold: { requestId: `req_${seq}`, attempt: 1 } as Hold,
    resolve: () => {
      told.resolved = true
    },
    reject: () => {
      told.rejected = true
    },
    isRefused: false,
  }
  return Object.assign(told, { waiter })
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('add' as const), count: fc.integer({ min: 1, max: 900 }) }),
  },
  fc.record({ does: fc.constant('commit' as const), count: fc.nat(1_500) }),
  fc.record({ does: fc.constant('take' as const), count: fc.nat(4_000) }),
  fc.record({ does: fc.constant('take first' as const), count: fc.nat(1) }),
  fc.record({ does: fc.constant('oldest' as const), count: fc.constant(0) }),
)

it('finds everybody under their number, however many wait, as a map would', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), steps => {
      const room = new WaitingRoom()
      const map = new Map<number, ReturnType<typeof holdOf>>()
      const all: ReturnType<typeof holdOf>[] = []
      let taken = 0
      for (const { does, count } of steps) {
        if (does === 'add')
          for (let i = 0; i < count; i++) {
            const next = holdOf(room.last + 1)
            room.add(next.waiter)
            all.push(next)
            map.set(next.seq, next)
          }
        else if (does === 'commit') {
          const upTo = (map.keys().next().value ?? room.last) + count
          expect(room.commit(upTo)).toEqual([])
          for (const seq of map.keys()) if (seq <= upTo) map.delete(seq)
          expect(all.filter(({ resolved }) => resolved).length + taken + map.size).toBe(all.length)
          for (const { resolved } of map.values()) if (resolved) throw new Error('told before its time')
        } else if (does === 'take' || does === 'take first') {
          const seq = does === 'take' ? count : (map.keys().next().value ?? 0)
          expect(room.take(seq)).toBe(map.get(seq)?.waiter)
          if (map.delete(seq)) taken++
        } else expect(room.oldest).toBe(map.keys().next().value)
        expect(room.size).toBe(map.size)
      }
      expect(room.rejectAll('the end')).toBe(map.size)
      expect(all.filter(({ rejected }) => rejected)).toEqual([...map.values()])
      expect(room.size).toBe(0)
    }),
    { numRuns: 40 },
  )
})

it('tells of holds that were refused before they were written', () => {
  const room = new WaitingRoom()
  const [first, second] = [holdOf(1), holdOf(2)]
  room.add(first.waiter)
  room.refuseHolds('the disk hangs')
  room.add(second.waiter)
  expect(room.commit(2)).toEqual([{ requestId: 'req_1', attempt: 1 }])
  expect([first.rejected, first.resolved]).toEqual([true, false])
  expect([second.rejected, second.resolved]).toEqual([false, true])
})
