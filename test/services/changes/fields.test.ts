import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CanonicalSpec, type Json, sortKeys } from '../../../src/schema/kinds.ts'
import { fieldChanges } from '../../../src/services/changes/fields.ts'

const changes = (before: CanonicalSpec, after: CanonicalSpec) => fieldChanges('tenant', before, after)

test('equal specs have no changes', () => {
  expect(changes({ a: 1, b: { c: [1] } }, { a: 1, b: { c: [1] } })).toEqual([])
})

test('names each field by its path, sorted', () => {
  expect(
    changes(
      { timeouts: { connect: '5s', idle: '2m' }, weight: 1 },
      { timeouts: { connect: '9s', idle: '2m' }, weight: 0 },
    ),
  ).toEqual([
    { path: 'timeouts.connect', type: 'value', before: '5s', after: '9s' },
    { path: 'weight', type: 'value', before: 1, after: 0 },
  ])
})

test('a field that comes has no before, one that goes no after', () => {
  expect(changes({ old: null }, { new: false })).toEqual([
    { path: 'new', type: 'value', after: false },
    { path: 'old', type: 'value', before: null },
  ])
})

test('a map that comes or goes is shown by its members, an empty one as it is', () => {
  expect(changes({}, { price: { input: '1', output: '2' } })).toEqual([
    { path: 'price.input', type: 'value', after: '1' },
    { path: 'price.output', type: 'value', after: '2' },
  ])
  expect(changes({ price: { input: '1' } }, {})).toEqual([
    { path: 'price.input', type: 'value', before: '1' },
  ])
  expect(changes({}, { price: {} })).toEqual([{ path: 'price', type: 'value', after: {} }])
})

test('a map that becomes a list or a text is shown as a whole', () => {
  expect(changes({ a: { b: 1 } }, { a: [1] })).toEqual([
    { path: 'a', type: 'value', before: { b: 1 }, after: [1] },
  ])
})

test('a member whose name holds a dot is quoted', () => {
  expect(changes({ labels: { 'a.b': 'x' } }, { labels: { 'a.b': 'y' } })).toMatchObject([
    { path: 'labels["a.b"]' },
  ])
})

test('a member may have the name of something that every object has', () => {
  expect(changes({ labels: {} }, { labels: { constructor: 'x' } })).toEqual([
    { path: 'labels.constructor', type: 'value', after: 'x' },
  ])
})

test('a list shows what came and what went, each as often', () => {
  expect(changes({ models: ['a', 'b', 'b'] }, { models: ['b', 'c'] })).toEqual([
    { path: 'models', type: 'list', added: ['c'], removed: ['a', 'b'] },
  ])
})

test('a list in another order is shown whole, before and after', () => {
  expect(changes({ models: ['a', 'b'] }, { models: ['b', 'a'] })).toEqual([
    { path: 'models', type: 'value', before: ['a', 'b'], after: ['b', 'a'] },
  ])
})

test.each([
  ['endpoint', 'upstream_key', { env: 'CANARY_A' }, { env: 'CANARY_B' }],
  ['endpoint', 'upstream_key', undefined, { file: '/canary' }],
  ['key', 'secret', { env: 'CANARY_A' }, undefined],
  ['key', 'hash', 'sha256:canary', 'sha256:other'],
] as const)('of a secret (%s.%s) nothing is shown but that it changed', (kind, field, before, after) => {
  const found = fieldChanges(kind, before ? { [field]: before } : {}, after ? { [field]: after } : {})
  expect(found).toEqual([{ path: field, type: 'secret' }])
})

test('a field of that name elsewhere is no secret', () => {
  expect(changes({ secret: 'a' }, { secret: 'b' })).toMatchObject([{ type: 'value' }])
})

test('tells of a change exactly where two specs differ, for any two', () => {
  const field = fc.constantFrom('a', 'b', 'a.b', '', 'constructor', 'toString', 'hasOwnProperty')
  const value = fc.letrec(tie => ({
    any: fc.oneof({ maxDepth: 3 }, fc.constantFrom(null, 0, 1, '', 'x'), tie('list'), tie('map')),
    list: fc.array(tie('any'), { maxLength: 3 }),
    map: fc.dictionary(field, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  }))
  const spec = value.map.map(fields => sortKeys(fields as Json) as CanonicalSpec)
  fc.assert(
    fc.property(spec, spec, (before, after) => {
      const differs = JSON.stringify(before) !== JSON.stringify(after)
      expect(changes(before, after).length > 0).toBe(differs)
      expect(changes(before, structuredClone(before))).toEqual([])
    }),
    { numRuns: 500 },
  )
})
