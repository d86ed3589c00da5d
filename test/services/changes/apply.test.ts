import { describe, expect, onTestFinished, test } from 'vitest'
import type { Tree } from '../../../src/config/types.ts'
import { apply } from '../../../src/services/changes/apply.ts'
import { plan } from '../../../src/services/changes/plan.ts'
import type { ApplyContext } from '../../../src/services/changes/types.ts'
import type { Store } from '../../../src/store/types.ts'
import { put } from '../../store/samples.ts'
import { STORES } from '../../store/stores.ts'
import { testClock } from '../../support/test-clock.ts'
import { binding, endpoint, key, ownedBy, publication, tree, treeOf } from './trees.ts'

const CONTEXT: ApplyContext = { origin: 'apply', check: async () => [] }

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp() {
    const database = emptyDatabase(onTestFinished)
    return { open: () => database.open(testClock(1_000)), store: await database.open(testClock(1_000)) }
  }

  const planned = async (store: Store, desired: Tree) => plan(await store.live(), desired)
  async function applied(store: Store, desired: Tree, more: Partial<ApplyContext> = {}) {
    return apply(store, await planned(store, desired), desired, { ...CONTEXT, ...more })
  }

  test('brings the store to what the files say, with who and from which commit', async () => {
    const { store } = await setUp()
    const desired = tree(endpoint('a', {}, 4), key('k'))
    expect(await applied(store, desired, { author: 'Ada', gitCommit: 'abc' })).toEqual({
      revision: 1,
      counts: { create: 2, update: 0, delete: 0, unchanged: 0 },
    })
    expect((await store.live()).resources).toMatchObject([
      { ...ownedBy('default', endpoint('a')), place: { file: 'gw.yaml', line: 4 } },
      { name: 'k' },
    ])
    expect(await store.revisions()).toMatchObject([
      {
        id: 1,
        base: 0,
        origin: 'apply',
        set: 'default',
        author: 'Ada',
        gitCommit: 'abc',
        counts: { create: 2 },
      },
    ])
  })

  test('after an apply there is nothing to do, and to do it writes nothing', async () => {
    const { store } = await setUp()
    const desired = tree(endpoint('a'))
    await applied(store, desired)
    const again = await planned(store, desired)
    expect(again.changes).toEqual([])
    expect(await apply(store, again, desired, CONTEXT)).toEqual({
      revision: 1,
      counts: { create: 0, update: 0, delete: 0, unchanged: 1 },
    })
    expect(await store.revisions()).toHaveLength(1)
  })

  test('an apply that changes something learns the new lines of everything', async () => {
    const { store } = await setUp()
    await applied(store, tree(endpoint('a', {}, 4)))
    await applied(store, tree(key('k', {}, 2), endpoint('a', {}, 9)))
    expect((await store.live()).resources).toMatchObject([
      { name: 'a', place: { line: 9 }, updatedRevision: 1 },
      { name: 'k' },
    ])
  })

  test('of two applies of one plan’s revision, one wins and one is asked to plan again', async () => {
    const { store, open } = await setUp()
    const other = await open()
    const [mine, theirs] = [tree(endpoint('a')), treeOf('team-b', endpoint('b'))]
    const plans = [await planned(store, mine), await planned(other, theirs)] as const
    const results = await Promise.allSettled([
      apply(store, plans[0], mine, CONTEXT),
      apply(other, plans[1], theirs, CONTEXT),
    ])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(results.find(result => result.status === 'rejected')?.reason).toMatchObject({
      code: 'revision_changed',
    })
    expect(await store.revisions()).toHaveLength(1)
  })

  test('sets live side by side: neither prunes the other', async () => {
    const { store } = await setUp()
    await applied(store, treeOf('a', endpoint('a1'), endpoint('a2')))
    await applied(store, treeOf('b', endpoint('b1')))
    expect(await applied(store, treeOf('a', endpoint('a2')))).toMatchObject({ counts: { delete: 1 } })
    expect((await store.live()).resources.map(({ name, set }) => `${set}/${name}`)).toEqual(['a/a2', 'b/b1'])
  })

  test('owners and references are asked again inside the transaction', async () => {
    const { store } = await setUp()
    await put(store, ownedBy('team-b', key('k')))
    const desired = tree(key('k'))
    const careless = {
      base: 1,
      set: 'default',
      changes: [{ action: 'update' as const, kind: 'key' as const, name: 'k', fields: [] }],
      counts: { create: 0, update: 1, delete: 0, unchanged: 0 },
      warnings: [],
      renames: [],
      dependents: [],
      unmanaged: { otherSets: 0, cli: 0, rest: 0 },
    }
    await expect(apply(store, careless, desired, CONTEXT)).rejects.toMatchObject({ code: 'owned_by_other' })
    const dangling = tree(publication('m'), binding('m', 'nothing'))
    await expect(apply(store, careless, dangling, CONTEXT)).rejects.toMatchObject({
      code: 'still_referenced',
    })
    expect((await store.live()).resources).toMatchObject([{ set: 'team-b' }])
  })

  test('what a gateway could not serve is not written', async () => {
    const { store } = await setUp()
    await applied(store, treeOf('b', key('other')))
    let checked: readonly string[] = []
    const rejected = applied(store, tree(endpoint('a')), {
      check: async resources => {
        checked = resources.map(({ name }) => name)
        return ['first reason', 'second reason']
      },
    })
    await expect(rejected).rejects.toMatchObject({
      code: 'not_servable',
      message: 'first reason\nsecond reason',
    })
    expect(checked).toEqual(['a', 'other'])
    expect(await store.head()).toMatchObject({ revision: 1 })
  })

  test('a crash in the middle leaves the old state', async () => {
    const { store } = await setUp()
    await applied(store, tree(endpoint('a')))
    const before = await store.live()
    const crash = new Error('crash')
    await expect(applied(store, tree(key('k')), { check: () => Promise.reject(crash) })).rejects.toBe(crash)
    expect(await store.live()).toEqual(before)
  })
})
