import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { compareResources } from '../../src/store/resources.ts'
import type { Commit, Rename, StoredResource } from '../../src/store/types.ts'
import { testClock } from '../support/test-clock.ts'
import { plain } from './plain.ts'
import { commitOn, key, put } from './samples.ts'
import { STORES } from './stores.ts'

/** What a commit does to one of a few names. */
type Step =
  | { readonly do: 'put'; readonly name: string; readonly quota: number; readonly line: number }
  | { readonly do: 'delete'; readonly name: string }
  | { readonly do: 'rename'; readonly name: string; readonly to: string; readonly quota: number }

const anyName = fc.constantFrom('a', 'b', 'c', 'Ω', '𝄞', '￿')
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('put' as const),
    name: anyName,
    quota: fc.integer({ min: 1, max: 3 }),
    line: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constant('delete' as const), name: anyName }),
  fc.record({
    do: fc.constant('rename' as const),
    name: anyName,
    to: anyName,
    quota: fc.integer({ min: 1, max: 3 }),
  }),
)

/** Of some steps those that can be done together to what stands. */
function commitOf(steps: readonly Step[], standing: ReadonlySet<string>): Partial<Commit> {
  const used = new Set<string>()
  const puts = []
  const deletes: { kind: 'key'; name: string }[] = []
  const renames: Rename[] = []
  for (const step of steps) {
    const names = step.do === 'rename' ? [step.name, step.to] : [step.name]
    if (names.some(name => used.has(name)) || new Set(names).size < names.length) continue
    if (step.do !== 'put' && !standing.has(step.name)) continue
    if (step.do === 'rename' && standing.has(step.to)) continue
    for (const name of names) used.add(name)
    if (step.do === 'delete') deletes.push({ kind: 'key', name: step.name })
    else {
      const own = { owner: 'config', set: 'default' } as const
      const place = { file: 'gw.yaml', line: step.do === 'put' ? step.line : 1 }
      puts.push(key(step.do === 'put' ? step.name : step.to, { quota: step.quota }, { ...own, place }))
      if (step.do === 'rename') renames.push({ kind: 'key', from: step.name, to: step.to })
    }
  }
  return { puts, deletes, renames }
}

function withoutLine(resource: StoredResource) {
  return { ...resource, place: undefined }
}

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  test('after any history every revision can be shown and served as it stood', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyStep, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 }),
        async history => {
          const ends: (() => Promise<void> | void)[] = []
          try {
            const clock = testClock()
            const store = await emptyDatabase(end => ends.unshift(end)).open(clock)
            const states: (readonly StoredResource[])[] = [[]]
            const read = async () => plain(await store.readState()).resources.toSorted(compareResources)
            const served = [await read()]
            for (const steps of history) {
              clock.advance(1)
              const { resources } = await store.live()
              const standing = new Set(resources.map(({ name }) => name))
              await store.commit(commitOn(states.length - 1, commitOf(steps, standing)))
              states.push((await store.live()).resources)
              served.push(await read())
            }
            for (const [revision, resources] of states.entries()) {
              const shown = await store.resourcesAt(revision)
              expect(shown.map(withoutLine)).toEqual(resources.map(withoutLine))
              expect(plain(await store.readStateAt(revision)).resources).toEqual(served[revision])
            }
          } finally {
            for (const end of ends) await end()
          }
        },
      ),
      { numRuns: 25 },
    )
  })

  test('what a revision has changed is shown with the line of its files, also where lines have moved since', async () => {
    const store = await emptyDatabase(onTestFinished).open(testClock())
    const at = (line: number) =>
      ({ owner: 'config', set: 'default', place: { file: 'gw.yaml', line } }) as const
    await put(store, key('a', {}, at(3)), key('b', {}, at(4)))
    await put(store, key('a', {}, at(13)), key('b', { quota: 1 }, at(14)))
    await put(store, key('a', {}, at(23)), key('b', { quota: 1 }, at(24)))
    const lines = async (revision: number) => (await store.resourcesAt(revision)).map(one => one.place?.line)
    // Of `a` nothing but the line has ever changed: in revision 2 it is no part of what was changed.
    expect([await lines(1), await lines(2), await lines(3)]).toEqual([
      [3, 4],
      [23, 14],
      [23, 24],
    ])
  })

  describe('retention', () => {
    /** Five revisions, a day after each other, the first of 2026-01-01. */
    async function setUp() {
      const clock = testClock(Date.UTC(2026, 0, 1))
      const database = emptyDatabase(onTestFinished)
      const store = await database.open(clock)
      for (let revision = 1; revision <= 5; revision++) {
        await put(store, key('a', { quota: revision }), key(`k${revision}`))
        clock.advance(86_400_000)
      }
      const prune = (day: number, leastBack: number, maxRows = 100) =>
        store.pruneStates({ keptSinceMs: Date.UTC(2026, 0, day, 12), leastBack }, maxRows)
      const kept = async () => {
        const shown = await Promise.all([1, 2, 3, 4, 5].map(id => store.resourcesAt(id).catch(() => [])))
        return shown.flatMap((resources, at) => (resources.length > 0 ? [at + 1] : []))
      }
      return { store, database, prune, kept }
    }

    test('keeps what stood when it began and came later, and always so many revisions back', async () => {
      const { prune, kept } = await setUp()
      await prune(1, 0)
      expect(await kept()).toEqual([1, 2, 3, 4, 5])
      // At noon of the third day revision 3 stood.
      await prune(3, 0)
      expect(await kept()).toEqual([3, 4, 5])
      await prune(30, 1)
      expect(await kept()).toEqual([4, 5])
      // What is gone does not come back, and the newest always stands.
      await prune(1, 4)
      expect(await kept()).toEqual([4, 5])
      await prune(30, 0)
      expect(await kept()).toEqual([5])
    })

    test('deletes in batches, forgets before it deletes, and leaves the history as it is', async () => {
      const { store, prune, kept } = await setUp()
      const history = await store.revisions()
      const [stood, served] = [await store.resourcesAt(4), plain(await store.readStateAt(4))]
      expect(await prune(4, 0, 3)).toBe(3)
      expect(await kept()).toEqual([4, 5])
      // Of the revisions 1 to 4, two changes each, five are left.
      expect([await prune(4, 0, 3), await prune(4, 0, 3), await prune(4, 0, 3)]).toEqual([3, 2, 0])
      expect(await store.revisions()).toEqual(history)
      expect(await store.resourcesAt(4)).toEqual(stood)
      expect(plain(await store.readStateAt(4))).toEqual(served)
      await expect(store.resourcesAt(3)).rejects.toMatchObject({
        code: 'not_found',
        message: 'The state of revision 3 is no longer kept.',
        hint: expect.stringContaining('from revision 4 on'),
      })
      await expect(store.readStateAt(3)).rejects.toMatchObject({ code: 'not_found' })
    })

    test('is no change to a gateway that serves the store', async () => {
      const { store, database, prune } = await setUp()
      const gateway = await database.open(testClock())
      await gateway.readState()
      expect(await prune(4, 0)).toBe(8)
      expect(gateway.changed()).toBe(false)
      expect((await store.head()).revision).toBe(5)
    })
  })
})
