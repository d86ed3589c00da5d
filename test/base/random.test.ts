import { expect, test } from 'vitest'
import { pooledRandom, type Random, systemRandom } from '../../src/base/random.ts'

test('a pool gives each byte of its source once, in order, and asks seldom', () => {
  let asked = 0
  let next = 0
  const source: Random = {
    fraction: () => 0.5,
    bytes(length) {
      asked++
      return Uint8Array.from({ length }, () => next++ % 251)
    },
  }
  const pool = pooledRandom(source)
  const drawn = Array.from({ length: 300 }, () => [...pool.bytes(12)]).flat()
  expect(drawn).toEqual(Array.from({ length: 3_600 }, (_, index) => index % 251))
  expect(asked).toBe(1)
  expect(pool.bytes(5_000)).toHaveLength(5_000)
})

test('ids of a pool do not repeat', () => {
  const pool = pooledRandom(systemRandom)
  const ids = new Set(Array.from({ length: 10_000 }, () => Buffer.from(pool.bytes(12)).toString('hex')))
  expect(ids.size).toBe(10_000)
})
