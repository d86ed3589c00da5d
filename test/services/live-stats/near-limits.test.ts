import { expect, test } from 'vitest'
import { KeySampler, type KeysSample, nearLimits } from '../../../src/services/live-stats/near-limits.ts'
import { NO_SUMS } from '../../../src/store/ledger/usage-sums.ts'
import type { Store } from '../../../src/store/types.ts'
import { key } from '../../store/samples.ts'

/** A key with 60 requests per minute that has made `requests` calls at each of the seconds. */
async function usedAt(samples: readonly (readonly [second: number, requests: number])[]): Promise<string[]> {
  let requests = 0
  const store = {
    find: async () => ({ resources: [key('app', { limits: { rpm: 60 } })] }),
    accounting: { keySums: async () => [], usage: async () => [{ ...NO_SUMS, label: 'app', requests }] },
  } as unknown as Store
  const sampler = new KeySampler(store, 0)
  const used: string[] = []
  let before: KeysSample | undefined
  for (const [second, made] of samples) {
    requests = made
    const after = await sampler.sample(1, { nowMs: second * 1_000, monotonicMs: second * 1_000 })
    const [stats] = nearLimits(before, after, 1)
    used.push(stats?.limits[0]?.used ?? 'no limit')
    before = after
  }
  return used
}

test('the requests of a minute are extrapolated from the seconds that have been watched', async () => {
  expect(
    await usedAt([
      [0, 0],
      [2, 1],
      [10, 3],
      [60, 20],
    ]),
  ).toEqual(['0', '30', '18', '20'])
})

test('a burst of some seconds does not exceed a limit that a minute holds', async () => {
  expect(
    await usedAt([
      [0, 0],
      [2, 50],
      [30, 50],
    ]),
  ).toEqual(['0', '60', '60'])
})

test('more calls than the limit within a minute are shown', async () => {
  expect(
    await usedAt([
      [0, 0],
      [30, 75],
    ]),
  ).toEqual(['0', '75'])
})

test('calls leave after a minute', async () => {
  const eachTenSeconds = Array.from({ length: 14 }, (_, step) => [step * 10, step === 0 ? 0 : 30] as const)
  const used = await usedAt(eachTenSeconds)
  expect(used[6]).toBe('30')
  expect(used.at(-1)).toBe('0')
})

test('samples with more than a minute between them are averaged', async () => {
  expect(
    await usedAt([
      [0, 0],
      [120, 80],
      [240, 80],
    ]),
  ).toEqual(['0', '40', '0'])
})
