import { expect, test } from 'vitest'
import { UnsyncedHolds } from '../../../src/store/postgres/ledger/unsynced-holds.ts'

test('a hold is synced by a report after its own, for all who wait', async () => {
  const holds = new UnsyncedHolds()
  holds.add(1, 1)
  holds.add(2, 2)
  const resolved: number[] = []
  for (const number of [1, 2, 2]) void holds.synced(number)?.then(() => resolved.push(number))
  holds.onSynced(1)
  await Promise.resolve()
  expect(resolved).toEqual([1])
  expect(holds.synced(1)).toBeUndefined()
  holds.onSynced(3)
  await Promise.resolve()
  expect(resolved).toEqual([1, 2, 2])
  holds.add(3, 3)
  expect(holds.synced(3)).toBeUndefined()
})

test('nothing is kept of holds that no call waits for', () => {
  const holds = new UnsyncedHolds()
  for (let number = 1; number <= 10_000; number++) {
    holds.add(number, number)
    if (number % 100 === 0) holds.onSynced(number - 10)
  }
  expect(holds.size).toBe(10)
})
