import { expect, it } from 'vitest'
import { MAX_RETRY_AFTER_MS, retryAfterSeconds } from '../../src/base/catalogue/retry-after.ts'

it('asks no client to wait for 60 seconds or more, and never for less than one', () => {
  const waits = [-5, 0, 1, 999, 1_000, 1_001, 58_999, 59_000, 59_001, 60_000, 86_400_000]
  expect(waits.map(retryAfterSeconds)).toEqual([1, 1, 1, 1, 1, 2, 59, 59, 59, 59, 59])
  expect(MAX_RETRY_AFTER_MS).toBeLessThan(60_000)
})
