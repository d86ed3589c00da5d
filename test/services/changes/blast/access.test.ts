import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyDigest } from '../../../../src/base/api-key.ts'
import { isVisible } from '../../../../src/limits/authorise.ts'
import type { Resource } from '../../../../src/schema/kinds.ts'
import { accessChanges } from '../../../../src/services/changes/blast/access.ts'
import { compile } from '../../../../src/snapshot/compile.ts'
import { key, publication, tenant } from '../trees.ts'

const MODELS = ['gpt-4o', 'gpt-4o-mini', 'o3', 'a/b', 'g*d']
const KEYS = ['k1', 'k2', 'k3']
const pattern = fc.constantFrom(...MODELS, '*', 'gpt-*', '?3', 'a/*', '*b', 'none', 'g*d')
const patterns = fc.array(pattern, { maxLength: 3 })

/** Publications, tenants and keys of a few names, each there or not. */
const resources: fc.Arbitrary<Resource[]> = fc
  .record({
    models: fc
      .subarray(MODELS)
      .chain(names =>
        fc.tuple(
          ...names.map(name =>
            fc
              .constantFrom('listed', 'listed', 'draft', 'banned')
              .map(status => publication(name, { status })),
          ),
        ),
      ),
    tenants: fc.tuple(
      ...['t1', 't2'].map(name =>
        fc
          .record({
            models: patterns,
            banned_models: patterns,
            status: fc.constantFrom('active', 'active', 'disabled'),
          })
          .map(spec => tenant(name, spec)),
      ),
    ),
    keys: fc.subarray(KEYS).chain(names =>
      fc.tuple(
        ...names.map(name =>
          fc
            .record({
              models: patterns,
              enabled: fc.constantFrom(true, true, false),
              tenant: fc.constantFrom('t1', 't2', undefined),
            })
            .map(({ tenant: of, ...spec }) => key(name, of ? { ...spec, kind: 'tenant', tenant: of } : spec)),
        ),
      ),
    ),
  })
  .map(({ models, tenants, keys }) => [...models, ...tenants, ...keys])

/** What each key of a compiled state may call, by the gateway's own rules; disabled keys are left out. */
function served(state: readonly Resource[]): Map<string, Set<string>> {
  const names = state.filter(({ kind }) => kind === 'key').map(({ name }) => name)
  const compiled = compile(
    {
      revision: 1,
      keyVersion: 1,
      resources: state.map(resource => ({ ...resource, createdAtMs: 0 })),
      secrets: names.map(name => ({ key: name, digest: keyDigest(name) })),
      suspendedKeys: [],
    },
    () => '',
  )
  if (!compiled.ok) throw new Error(compiled.problems.join())
  const { keys, publications } = compiled.snapshot
  return new Map(
    [...keys.values()]
      .filter(({ enabled }) => enabled)
      .map(entry => [
        entry.name,
        new Set(
          [...publications.values()]
            .filter(one => entry.tenant?.status !== 'disabled' && isVisible(entry, one))
            .map(one => one.name),
        ),
      ]),
  )
}

const minus = (a: ReadonlySet<string> | undefined, b: ReadonlySet<string>) =>
  [...(a ?? [])].filter(name => !b.has(name)).sort()

const NOW_MS = Date.UTC(2026, 10, 25)

test('what a key loses and gains is what a gateway would reject and let through', () => {
  fc.assert(
    fc.property(resources, resources, (before, after) => {
      const [had, has] = [served(before), served(after)]
      const { changes, broken } = accessChanges(before, after, new Set(), new Set(), NOW_MS)
      const found = new Map(changes.flatMap(change => change.keys.map(name => [name, change] as const)))
      let breaks = 0
      for (const [name, old] of had) {
        const now = has.get(name)
        const loses = minus(old, now ?? new Set())
        if (loses.length > 0) breaks++
        const gains = minus(now, old)
        if (!now || loses.length + gains.length === 0) expect(found.has(name)).toBe(false)
        else {
          expect(found.get(name)).toMatchObject({
            loses,
            gains,
            losesAll: loses.length > 0 && now.size === 0,
          })
        }
      }
      expect([...found.keys()].every(name => had.has(name))).toBe(true)
      expect(broken).toBe(breaks)
    }),
    { numRuns: 300 },
  )
})

describe('keys that lose and gain the same', () => {
  test('are one line, the losses of many first', () => {
    const before = [
      publication('a'),
      publication('b'),
      ...['k1', 'k2', 'k3'].map(name => key(name, { models: ['a'] })),
      key('k4', { models: ['b'] }),
    ]
    const after = [publication('b'), publication('c'), ...before.filter(({ kind }) => kind === 'key')]
    expect(accessChanges(before, after, new Set(), new Set(), NOW_MS).changes).toEqual([
      { keys: ['k1', 'k2', 'k3'], loses: ['a'], gains: [], losesAll: true },
    ])
  })

  test('a key that is held by hand can lose nothing', () => {
    const before = [publication('a'), key('k')]
    expect(accessChanges(before, [key('k')], new Set(['k']), new Set(), NOW_MS)).toEqual({
      changes: [],
      broken: 0,
    })
    expect(accessChanges(before, [key('k')], new Set(), new Set(), NOW_MS).broken).toBe(1)
  })
})

test('keys whose holders are locked out are broken', () => {
  const before = [
    publication('a'),
    key('expires', {}),
    key('hashed', { hash: `sha256:${'1'.repeat(64)}` }),
    key('same', { hash: `sha256:${'2'.repeat(64)}` }),
    key('later', {}),
  ]
  const after = [
    publication('a'),
    key('expires', { expires_at: '2026-11-24T00:00:00Z' }),
    key('hashed', { hash: `sha256:${'3'.repeat(64)}` }),
    key('same', { hash: `sha256:${'2'.repeat(64)}` }),
    key('later', { expires_at: '2026-11-26T00:00:00Z' }),
  ]
  expect(accessChanges(before, after, new Set(), new Set(), NOW_MS).broken).toBe(2)
})

test('ten thousand keys and five hundred models are compared in a moment', () => {
  const models = Array.from({ length: 500 }, (_, at) => publication(`vendor${at % 7}/model-${at}`))
  const keys = Array.from({ length: 10_000 }, (_, at) =>
    key(`k${at}`, { models: [`vendor${at % 7}/*`, `vendor1/model-${at % 500}`, `*-${at % 90}`] }),
  )
  const started = performance.now()
  const { broken } = accessChanges(
    [...models, ...keys],
    [...models.slice(1), ...keys],
    new Set(),
    new Set(),
    NOW_MS,
  )
  expect(broken).toBeGreaterThan(1_000)
  expect(performance.now() - started).toBeLessThan(2_000)
})
