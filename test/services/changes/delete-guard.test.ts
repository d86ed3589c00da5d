import { expect, test } from 'vitest'
import { assertFewDeletes } from '../../../src/services/changes/delete-guard.ts'

test.each([
  [0, 0, 'passes'],
  [2, 2, 'passes'],
  [3, 14, 'is rejected'],
  [3, 15, 'passes'],
  [10, 50, 'passes'],
  [10, 49, 'is rejected'],
  [11, 10_000, 'is rejected'],
])('a plan that deletes %i of %i resources %s', (deletes, owned, verdict) => {
  const counts = { create: 5, update: 0, delete: deletes, unchanged: owned - deletes }
  const guard = () => assertFewDeletes({ counts, set: 'default' }, undefined)
  if (verdict === 'passes') guard()
  else expect(guard).toThrow(`It would delete ${deletes} of the ${owned} resources of the set default.`)
})

test('what was said to be meant passes, and not one more', () => {
  const counts = { create: 0, update: 0, delete: 40, unchanged: 2 }
  assertFewDeletes({ counts, set: 'default' }, 40)
  expect(() => assertFewDeletes({ counts, set: 'default' }, 39)).toThrow('40 of the 42')
  expect(() => assertFewDeletes({ counts: { ...counts, delete: 1 }, set: 'default' }, 0)).toThrow(
    '1 of the 3',
  )
})
