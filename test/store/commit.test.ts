import { describe, expect, onTestFinished, test } from 'vitest'
import { gate } from '../support/gate.ts'
import { testClock } from '../support/test-clock.ts'
import { commitOn, digest, endpoint, endpointSpec, key, MINE, NO_COUNTS, put, remove } from './samples.ts'
import { STORES } from './stores.ts'

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp() {
    const database = emptyDatabase(onTestFinished)
    const clock = testClock(1_000)
    return { database, clock, store: await database.open(clock) }
  }

  test('an empty store is at revision 0 and holds nothing', async () => {
    const { store } = await setUp()
    expect(await store.head()).toEqual({ revision: 0, keyVersion: 0 })
    expect(await store.live()).toMatchObject({ atMs: 1_000, resources: [], secrets: [], holds: [] })
    expect(await store.revisions()).toEqual([])
  })

  test('gives resources back as they were put, with the revisions in which they came and changed', async () => {
    const { store, clock } = await setUp()
    await put(store, endpoint('a'), endpoint('b', {}, { owner: 'rest' }))
    clock.advance(500)
    await put(store, endpoint('a', { enabled: false }), key('k'))
    const [a, b, k] = (await store.live()).resources
    expect(a).toEqual({
      ...endpoint('a', { enabled: false }),
      createdRevision: 1,
      updatedRevision: 2,
      createdAtMs: 1_000,
    })
    expect(b).toEqual({
      kind: 'endpoint',
      name: 'b',
      spec: endpointSpec(),
      owner: 'rest',
      createdRevision: 1,
      updatedRevision: 1,
      createdAtMs: 1_000,
    })
    expect(k).toMatchObject({ createdRevision: 2, updatedRevision: 2, createdAtMs: 1_500 })
  })

  test('a line that moved is remembered without counting as an update', async () => {
    const { store } = await setUp()
    await put(store, endpoint('a'))
    await put(store, endpoint('a', {}, { ...MINE, place: { file: 'other.yaml', line: 9 } }))
    expect((await store.live()).resources).toMatchObject([
      { place: { file: 'other.yaml', line: 9 }, createdRevision: 1, updatedRevision: 1 },
    ])
  })

  test('sorts by kind, in the order of reference, and by name', async () => {
    const { store } = await setUp()
    await put(store, key('k'), endpoint('b'), endpoint('B'), endpoint('a'))
    const names = (await store.live()).resources.map(resource => resource.name)
    expect(names).toEqual(['B', 'a', 'b', 'k'])
  })

  test('holds more resources than a statement takes parameters', async () => {
    const { store } = await setUp()
    const many = Array.from({ length: 4_000 }, (_, i) => key(`k${i}`))
    await put(store, ...many)
    expect((await store.live()).resources).toHaveLength(4_000)
    await remove(store, ...many.slice(1))
    expect((await store.live()).resources).toHaveLength(1)
  })

  test('keeps who, when, from which commit and how much, newest first, by pages', async () => {
    const { store } = await setUp()
    const counts = { create: 1, update: 2, delete: 3, unchanged: 4 }
    await store.commit(commitOn(0, { author: 'Ada <ada@example.com>', gitCommit: 'abc', counts }))
    const { set: _, ...withoutSet } = commitOn(1, { origin: 'rest' })
    await store.commit(withoutSet)
    await put(store)
    expect(await store.revisions({ before: 3 })).toEqual([
      { id: 2, base: 1, origin: 'rest', createdAtMs: 1_000, counts: NO_COUNTS },
      {
        id: 1,
        base: 0,
        origin: 'apply',
        set: 'default',
        author: 'Ada <ada@example.com>',
        gitCommit: 'abc',
        createdAtMs: 1_000,
        counts,
      },
    ])
    expect((await store.revisions({ limit: 1 })).map(revision => revision.id)).toEqual([3])
  })

  test('of two commits on one revision, from two connections at once, one wins and one is stale', async () => {
    const { store, database, clock } = await setUp()
    const other = await database.open(clock)
    const results = await Promise.allSettled([
      store.commit(commitOn(0, { puts: [endpoint('a')] })),
      other.commit(commitOn(0, { puts: [endpoint('b')] })),
    ])
    expect(results.map(result => result.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(results.find(result => result.status === 'rejected')?.reason).toMatchObject({
      code: 'revision_changed',
      message: 'The plan was made against revision 0, but the store is at 1.',
    })
    expect((await store.live()).resources).toHaveLength(1)
  })

  test('a guard that takes its time holds up another connection, not the process', async () => {
    const { store, database, clock } = await setUp()
    const other = await database.open(clock)
    const begun = gate()
    const mayEnd = gate()
    const slow = store.commit(commitOn(0, { puts: [endpoint('a')] }), async () => {
      begun.open()
      await mayEnd.opened
    })
    await begun.opened
    const second = other.commit(commitOn(1, { puts: [endpoint('b')] }))
    // Reached while the other waits for the lock: were it waiting inside SQLite, nothing would run.
    setImmediate(() => mayEnd.open())
    expect((await Promise.all([slow, second])).map(({ id }) => id)).toEqual([1, 2])
  })

  test('the guard sees what stands and what would, and its veto leaves everything as it was', async () => {
    const { store } = await setUp()
    await put(store, endpoint('a'), key('k'))
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    const before = { ...(await store.live()), state: await store.readState() }
    const veto = new Error('no')
    const rejected = store.commit(
      commitOn(1, { puts: [endpoint('b')], deletes: [{ kind: 'key', name: 'k' }] }),
      async view => {
        expect(view.changed).toMatchObject([{ after: { name: 'b' } }, { before: { name: 'k' } }])
        expect(view.changed.map(one => [one.before?.name, one.after?.name])).toEqual([
          [undefined, 'b'],
          ['k', undefined],
        ])
        expect((await view.find({ kind: 'endpoint' })).map(({ name }) => name)).toEqual(['a', 'b'])
        expect((await view.all()).map(({ name }) => name)).toEqual(['a', 'b'])
        throw veto
      },
    )
    await expect(rejected).rejects.toBe(veto)
    expect({ ...(await store.live()), state: await store.readState() }).toEqual(before)
    expect((await put(store)).id).toBe(2)
  })

  test('a failure after the writes leaves everything as it was', async () => {
    const { store, database } = await setUp()
    await put(store, endpoint('a'), key('k'))
    // Fails in the last statement of a commit: the head comes after revision, resources and keys.
    const repair = await database.rejectUpdates('head', 'crash')
    const before = await store.live()
    const crashed = store.commit(
      commitOn(1, { puts: [endpoint('b')], deletes: [{ kind: 'key', name: 'k' }] }),
    )
    await expect(crashed).rejects.toThrow('crash')
    await repair()
    expect(await store.live()).toEqual(before)
    expect(await store.revisions()).toHaveLength(1)
    expect((await put(store, endpoint('b'))).id).toBe(2)
  })

  test('revisions are appended: none is changed, removed, replaced or skipped', async () => {
    const { store, database } = await setUp()
    await put(store, endpoint('a'))
    await put(store, endpoint('b'))
    const row = `(id, base, origin, created_at_ms, counts) values`
    for (const attempt of [
      `update revisions set author = 'me'`,
      'delete from revisions',
      database.replace(`into revisions ${row} (1, 0, 'cli', 0, '{}')`, 'id'),
      `insert into revisions ${row} (4, 3, 'cli', 0, '{}')`,
      `update revision_changes set before_spec = '{}'`,
      'delete from revision_changes',
      `insert into revision_changes (revision, kind, name) values (1, 'endpoint', 'c')`,
      `insert into revision_changes (revision, kind, name) values (3, 'endpoint', 'c')`,
      database.replace(
        `into revision_changes (revision, kind, name) values (2, 'endpoint', 'b')`,
        'revision, kind, name',
      ),
    ]) {
      await expect(database.execute(attempt), attempt).rejects.toThrow('revisions are append-only')
    }
    expect(await store.revisions()).toMatchObject([{ id: 2 }, { id: 1, origin: 'apply' }])
    expect(await store.resourcesAt(1)).toMatchObject([{ name: 'a' }])
  })
})
