import fc from 'fast-check'
import { expect, it } from 'vitest'
import { matches } from '../../../src/store/nodes/join-tokens.ts'

const letters = (alphabet: readonly string[]) =>
  fc.array(fc.constantFrom(...alphabet), { maxLength: 8 }).map(parts => parts.join(''))

it('a `*` in a pattern matches any characters, and all others match themselves', () => {
  fc.assert(
    fc.property(letters(['a', 'b', '.', '*', '**']), letters(['a', 'b', '.']), (pattern, name) => {
      const expression = pattern
        .split('*')
        .map(part => part.replaceAll('.', String.raw`\.`))
        .join('.*')
      expect(matches(pattern, name)).toBe(new RegExp(`^${expression}$`).test(name))
    }),
    { numRuns: 2_000 },
  )
})
