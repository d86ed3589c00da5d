import { expect, test } from 'vitest'
import { assertFewDeletes } from '../../src/changes/delete-guard.ts'

test.each([
  [0, 0, 'passes'],
  [2, 2, 'passes'],
  [3, 14, 'is refused'],
  [3, 15, 'passes'],
  [10, 50, 'passes'],
  [10, 49, 'is refused'],
  [11, 10_000, 'is refused'],
])('a plan that deletes %i of %i resources %s', (deletes, owned, verdict) => {
  const counts = { create: 5, update: 0, delete: deletes, unchanged: owned - deletes }
  const guard = () => assertFewDeletes({ counts, set: 'default' })
  if (verdict === 'passes') guard()
  else
    expect(guard).toThrow(`The files would delete ${deletes} of the ${owned} resources of the set default.`)
})
