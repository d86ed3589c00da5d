import { expect, test, vi } from 'vitest'
import type { KeySumsQuery } from '../../../src/schema/ledger.ts'
import { KeySampler } from '../../../src/services/live-stats/near-limits.ts'
import { NO_SUMS } from '../../../src/store/ledger/usage-sums.ts'
import type { Store } from '../../../src/store/types.ts'
import { key } from '../../store/samples.ts'

const DAY_MS = 86_400_000
const NOON_MS = Date.UTC(2026, 0, 15, 12)

/** A store of two keys with a budget and one without, whose calls a test counts. */
function setUp() {
  const requests = new Map<string, number>()
  const budget = { amount: 10, per: 'day' }
  const find = vi.fn(async () => ({
    resources: [key('a', { budget }), key('b', { budget }), key('free')],
  }))
  const keySums = vi.fn(async (queries: readonly KeySumsQuery[]) =>
    queries.map(({ key: name }) => ({
      key: name,
      totalTokens: 0,
      totalNano: 0n,
      windowNano: BigInt(requests.get(name) ?? 0),
    })),
  )
  const usage = async () => [...requests].map(([label, count]) => ({ ...NO_SUMS, label, requests: count }))
  const store = { find, accounting: { keySums, usage } } as unknown as Store
  const sampler = new KeySampler(store, 0)
  const sample = async (revision: number, nowMs = NOON_MS) => {
    keySums.mockClear()
    const { sums } = await sampler.sample(revision, { nowMs, monotonicMs: nowMs })
    const [asked = []] = keySums.mock.calls[0] ?? []
    return {
      asked: asked.map(({ key: name }) => name),
      spent: [...sums.values()].map(each => each.windowNano),
    }
  }
  return { requests, find, sample }
}

test('the sums of a key are read again after a call of it, on another day and after a change, and only then', async () => {
  const { requests, find, sample } = setUp()
  expect(await sample(1)).toEqual({ asked: ['a', 'b'], spent: [0n, 0n] })
  expect(await sample(1)).toEqual({ asked: [], spent: [0n, 0n] })
  requests.set('b', 3)
  expect(await sample(1)).toEqual({ asked: ['b'], spent: [0n, 3n] })
  expect((await sample(1, NOON_MS + DAY_MS)).asked).toEqual(['a', 'b'])
  expect(find).toHaveBeenCalledTimes(1)
  expect((await sample(2, NOON_MS + DAY_MS)).asked).toEqual(['a', 'b'])
  expect(find).toHaveBeenCalledTimes(2)
})
