import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { modelFilter } from '../../src/snapshot/model-filter.ts'

/** Globbing as it is defined, without an expression. */
function globs(pattern: string[], name: string[]): boolean {
  const [first, ...rest] = pattern
  if (first === undefined) return name.length === 0
  if (first === '*') return globs(rest, name) || (name.length > 0 && globs(pattern, name.slice(1)))
  return name.length > 0 && (first === '?' || first === name[0]) && globs(rest, name.slice(1))
}

describe('a filter of models', () => {
  it.each([
    [['*'], 'anything/at:all', true],
    [[], 'a', false],
    [['gpt-4o'], 'gpt-4o', true],
    [['gpt-4o'], 'gpt-4o-mini', false],
    [['gpt.4o'], 'gpt-4o', false],
    [['openai/*'], 'openai/gpt/4', true],
    [['openai/*'], 'xopenai/gpt', false],
    [['a?c'], 'a😀c', true],
    [['a?c'], 'ac', false],
    [['a[b]c*'], 'a[b]cd', true],
    [['a[b]c*'], 'abcd', false],
    [['GPT*'], 'gpt', false],
    [['x', 'b*'], 'bcd', true],
  ])('of %j: %s is %s', (patterns, name, expected) => {
    expect(modelFilter(patterns)(name)).toBe(expected)
  })

  it('takes no longer over a name that nearly fits', () => {
    const filter = modelFilter([`${'a*'.repeat(40)}b`])
    expect(filter(`${'a'.repeat(200)}c`)).toBe(false)
    expect(filter(`${'a'.repeat(200)}b`)).toBe(true)
  })

  it('means what a glob means', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', '/', '.', '😀'), { maxLength: 6 })
    const pattern = fc.array(fc.constantFrom('a', 'b', '/', '.', '*', '?', '😀'), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(pattern, letters, (glob, name) => {
        expect(modelFilter([glob.join('')])(name.join(''))).toBe(globs(glob, name))
      }),
      { numRuns: 3_000 },
    )
  })
})
