import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DeclaredResource, Tree } from '../../../src/config/types.ts'
import type { ServedState } from '../../../src/schema/state.ts'
import { apply } from '../../../src/services/changes/apply.ts'
import { exportSet } from '../../../src/services/changes/export.ts'
import { plan } from '../../../src/services/changes/plan.ts'
import { type Compiled, compile } from '../../../src/snapshot/compile.ts'
import type { Decoded } from '../../../src/snapshot/decoding.ts'
import { compareResources } from '../../../src/store/resources.ts'
import type { StoredResource } from '../../../src/store/types.ts'
import { compileAgain, shown } from '../../snapshot/again.ts'
import { plain } from '../../store/plain.ts'
import { STORES } from '../../store/stores.ts'
import { testClock } from '../../support/test-clock.ts'
import { binding, endpoint, key, publication, tenant, treeOf } from './trees.ts'

/** A valid tree of one of two sets, whose names never meet: any subset of a few resources with any few fields. */
const anyTree: fc.Arbitrary<Tree> = fc
  .record({
    set: fc.constantFrom('a', 'b'),
    endpoints: some(
      fc.record(
        {
          enabled: fc.boolean(),
          upstream_key: fc.record({ env: fc.constantFrom('K1', 'K2') }),
          labels: fc.dictionary(fc.constantFrom('x', 'a.b', 'constructor'), fc.string({ maxLength: 2 })),
        },
        { requiredKeys: [] },
      ),
    ),
    publications: some(
      fc.record(
        { price: fc.record({ input: fc.nat(9) }), owned_by: fc.string({ maxLength: 2 }) },
        { requiredKeys: [] },
      ),
    ),
    tenants: some(fc.record({ models: fc.array(fc.constantFrom('m', 'n*')) }, { requiredKeys: [] })),
    keys: some(fc.record({ enabled: fc.boolean(), quota: fc.integer({ min: 1 }) }, { requiredKeys: [] })),
    weights: fc.array(fc.nat(2), { minLength: 9, maxLength: 9 }),
    line: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ set, endpoints, publications, tenants, keys, weights, line }) => {
    const named = <T>(fields: Map<number, T>, make: (name: string, more: T) => DeclaredResource) =>
      [...fields].map(([number, more]) => make(`${set}${number}`, more))
    const bindings = [...publications.keys()].flatMap(model =>
      [...endpoints.keys()].flatMap(number => {
        const weight = weights[model * 3 + number] ?? 0
        return weight === 0 ? [] : [binding(`${set}${model}`, `${set}${number}`, { weight }, line)]
      }),
    )
    return treeOf(
      set,
      ...named(endpoints, (name, more) => endpoint(name, more, line)),
      ...named(publications, (name, more) => publication(name, more, line)),
      ...named(tenants, (name, more) => tenant(name, more, line)),
      ...named(keys, (name, more) =>
        key(
          name,
          tenants.size > 0 ? { ...more, kind: 'tenant', tenant: `${set}${[...tenants.keys()][0]}` } : more,
          line,
        ),
      ),
      ...bindings,
    )
  })

function some<T>(fields: fc.Arbitrary<T>): fc.Arbitrary<Map<number, T>> {
  return fc
    .uniqueArray(fc.tuple(fc.nat(2), fields), { selector: ([number]) => number, maxLength: 3 })
    .map(pairs => new Map(pairs))
}

/** What identifies and says a resource, without the revisions that the store adds. */
function essence({ kind, name, spec, set }: StoredResource | (DeclaredResource & { set: string })) {
  return { kind, name, spec, set }
}

const NO_SECRETS = () => 'a secret of twenty characters'

function outcome(compiled: Compiled): unknown {
  return compiled.ok ? shown(compiled.snapshot, ['m', 'n', 'n1', 'a0']) : compiled
}

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  test('any history of applies leaves exactly what its last trees say, and nothing to do', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyTree, { minLength: 1, maxLength: 6 }), async history => {
        const ends: (() => Promise<void> | void)[] = []
        try {
          const store = await emptyDatabase(end => ends.unshift(end)).open(testClock())
          const last = new Map<string, Tree>()
          let served: ServedState | undefined
          let decoded: Decoded | undefined
          for (const desired of history) {
            const made = plan(await store.live(), desired)
            await apply(store, made, desired, { origin: 'apply', check: async () => [] })
            last.set(desired.set, desired)

            const live = await store.live()
            expect(plan(live, desired).changes).toEqual([])
            expect(live.head.revision).toBe(made.base + (made.changes.length > 0 ? 1 : 0))
            const wanted = [...last.values()].flatMap(({ set, resources }) =>
              resources.map(r => ({ ...r, set })),
            )
            expect(live.resources.map(essence)).toEqual(wanted.sort(compareResources).map(essence))
            expect(exportSet(live, desired.set)).toEqual(
              desired.resources.map(({ kind, name, spec }) => ({ kind, name, spec })),
            )
            // The revision's own document says the same as the table.
            served = await store.readState(served)
            expect(plain(await store.readStateAt(live.head.revision))).toEqual(plain(served))
            // A gateway that has served all of them has what one has that begins with the last.
            const again = compileAgain(served, decoded, NO_SECRETS)
            decoded = again.decoded
            expect(outcome(again.compiled)).toEqual(outcome(compile(await store.readState(), NO_SECRETS)))
          }
        } finally {
          for (const end of ends) await end()
        }
      }),
      { numRuns: 40 },
    )
  })
})
