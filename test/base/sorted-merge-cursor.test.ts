import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SortedMergeCursor } from '../../src/base/sorted-merge-cursor.ts'

const byNumber = (item: { at: number }, sought: number) => item.at - sought
const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 20 }))
const listOf = (all: readonly number[]) => all.map(at => ({ at }))

describe('a list beside another one', () => {
  it('finds exactly what both have, where both are in the same order', () => {
    fc.assert(
      fc.property(numbers, numbers, (had, sought) => {
        const items = listOf(had.toSorted((a, b) => a - b))
        const alongside = new SortedMergeCursor(items, byNumber)
        const asked = sought.toSorted((a, b) => a - b)
        expect(asked.filter(at => alongside.find(at))).toEqual(asked.filter(at => had.includes(at)))
      }),
    )
  })

  it('never finds anything else, whatever the order', () => {
    fc.assert(
      fc.property(numbers, numbers, (had, sought) => {
        const alongside = new SortedMergeCursor(listOf(had), byNumber)
        for (const at of sought) expect([undefined, at]).toContain(alongside.find(at)?.at)
      }),
    )
  })
})
