import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Hold } from '../../../src/schema/ledger.ts'
import { PendingQueue } from '../../../src/store/ledger/pending-queue.ts'

interface Told {
  readonly seq: number
  resolved: boolean
  rejected: boolean
}

/** One who waits, and what it was told. */
function holdOf(seq: number): Told & { readonly entry: Parameters<PendingQueue['add']>[0] } {
  const told: Told = { seq, resolved: false, rejected: false }
  const entry = {
    what: 'hold' as const,
    hold: { requestId: `req_${seq}`, attempt: 1 } as Hold,
    resolve: () => {
      told.resolved = true
    },
    reject: () => {
      told.rejected = true
    },
    isRejected: false,
  }
  return Object.assign(told, { entry })
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
      const room = new PendingQueue()
      const map = new Map<number, ReturnType<typeof holdOf>>()
      const all: ReturnType<typeof holdOf>[] = []
      let taken = 0
      for (const { does, count } of steps) {
        if (does === 'add')
          for (let i = 0; i < count; i++) {
            const next = holdOf(room.last + 1)
            room.add(next.entry)
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
          expect(room.take(seq)).toBe(map.get(seq)?.entry)
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

it('tells of holds that were rejected before they were written', () => {
  const room = new PendingQueue()
  const [first, second] = [holdOf(1), holdOf(2)]
  room.add(first.entry)
  room.rejectHolds('the disk hangs')
  room.add(second.entry)
  expect(room.commit(2)).toEqual([{ requestId: 'req_1', attempt: 1 }])
  expect([first.rejected, first.resolved]).toEqual([true, false])
  expect([second.rejected, second.resolved]).toEqual([false, true])
})
