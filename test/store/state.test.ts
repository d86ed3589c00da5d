import { describe, expect, onTestFinished, test } from 'vitest'
import { testClock } from '../support/test-clock.ts'
import { plain } from './plain.ts'
import { commitOn, digest, endpoint, endpointSpec, key, put, remove } from './samples.ts'
import { STORES } from './stores.ts'

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp() {
    const database = emptyDatabase(onTestFinished)
    const clock = testClock(1_000)
    const [store, other] = [await database.open(clock), await database.open(clock)]
    return { database, clock, store, other }
  }

  test('a gateway reads resources, secrets that open and keys that are held', async () => {
    const { store } = await setUp()
    await put(store, endpoint('a'), key('k'))
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    await store.suspendKey('k')
    expect(plain(await store.readState())).toEqual({
      revision: 1,
      keyVersion: 2,
      resources: [
        { kind: 'endpoint', name: 'a', spec: endpointSpec(), createdAtMs: 1_000 },
        { kind: 'key', name: 'k', spec: key('k').spec, createdAtMs: 1_000 },
      ],
      secrets: [{ key: 'k', digest: digest('1') }],
      suspendedKeys: ['k'],
    })
  })

  test('an earlier revision can be read again, with the secrets of now', async () => {
    const { store, clock } = await setUp()
    await put(store, endpoint('a'), key('k'))
    const first = plain(await store.readState())
    clock.advance(10)
    await put(store, endpoint('a', { enabled: false }), endpoint('b'))
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    expect(plain(await store.readStateAt(1))).toEqual({
      ...first,
      keyVersion: 1,
      secrets: [{ key: 'k', digest: digest('1') }],
    })
    expect(await store.readStateAt(0)).toMatchObject({ revision: 0, resources: [] })
    await expect(store.readStateAt(3)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('what still stands as it stood is given as the same object', async () => {
    const { store, clock } = await setUp()
    await put(store, endpoint('a'), key('b'), key('c'), key('d'), key('e'))
    for (const name of ['b', 'c', 'd'])
      await store.issueSecrets([{ key: name, digest: digest(name === 'd' ? '0' : name) }])
    const first = await store.readState()
    clock.advance(10)
    await remove(store, { kind: 'key', name: 'd' }, { kind: 'key', name: 'e' })
    await put(store, key('aa'), key('c', { quota: 1 }), key('e'))
    await store.issueSecrets([{ key: 'aa', digest: digest('e') }])
    await store.rotateSecret('b', digest('f'), 1_000)
    const second = await store.readState(first)
    expect(plain(second)).toEqual(plain(await store.readState()))
    const known = second.resources.filter(resource => first.resources.includes(resource))
    expect(known.map(({ name }) => name)).toEqual(['a', 'b'])
    // The first of `b` has an end now.
    const knownSecrets = second.secrets.filter(secret => first.secrets.includes(secret))
    expect(knownSecrets.map(secret => secret.digest)).toEqual([digest('c')])
  })

  test('a row that was changed past the store is not taken for what it was', async () => {
    const { store, database } = await setUp()
    await put(store, key('k'))
    const first = await store.readState()
    await database.execute(`update resources set spec = '{"odd":1}' where name = 'k'`)
    expect((await store.readState(first)).resources).toMatchObject([{ name: 'k', spec: { odd: 1 } }])
    await database.execute(`update resources set account = 'other' where name = 'k'`)
    const third = await store.readState(await store.readState())
    await database.execute(`update resources set account = null where name = 'k'`)
    expect((await store.readState(third)).resources[0]).not.toHaveProperty('account')
  })

  test('an earlier revision does not bring the secret of a deleted key back to life', async () => {
    const { store } = await setUp()
    await put(store, key('k'))
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    await remove(store, { kind: 'key', name: 'k' })
    expect(await store.readStateAt(1)).toMatchObject({ resources: [{ name: 'k' }], secrets: [] })
  })

  test('an earlier revision keeps closed what was closed since, whatever it is called now', async () => {
    const { store } = await setUp()
    const hash = (digit: string) => ({ hash: `sha256:${digest(digit)}` })
    const names = ['disabled', 'dropped', 'open', 'renamed', 'shut'] as const
    const keys = names.map((name, index) =>
      key(name, name === 'shut' ? { enabled: false } : hash(String(index))),
    )
    await put(store, ...keys)
    await store.suspendKey('disabled')
    await store.suspendKey('renamed')
    await store.rotateSecret('renamed', digest('a'), 0)
    await store.rotateSecret('open', digest('b'), 0)
    await store.commit(
      commitOn(1, {
        puts: [key('disabled', { ...hash('0'), enabled: false }), key('new', hash('3'))],
        deletes: [{ kind: 'key', name: 'dropped' }],
        renames: [{ kind: 'key', from: 'renamed', to: 'new' }],
      }),
    )
    expect((await store.readState()).suspendedKeys).toEqual(['new'])
    const { suspendedKeys, secrets } = await store.readStateAt(1)
    expect(suspendedKeys).toEqual(['disabled', 'dropped', 'renamed'])
    expect(secrets.map(secret => secret.key)).toEqual(['renamed', 'open'])
  })

  test('an earlier revision goes by accounts: a secret follows its key, and not the key that has its name now', async () => {
    const { store } = await setUp()
    const rename = (revision: number, from: string, to: string) =>
      store.commit(commitOn(revision, { puts: [key(to)], renames: [{ kind: 'key', from, to }] }))
    await put(store, key('a'), key('c', { hash: `sha256:${digest('c')}` }))
    await store.issueSecrets([{ key: 'a', digest: digest('1') }])
    await rename(1, 'a', 'b')
    await remove(store, { kind: 'key', name: 'c' })
    await rename(3, 'b', 'c')
    await store.suspendKey('c')
    for (const [revision, name] of [
      [1, 'a'],
      [2, 'b'],
    ] as const) {
      const { suspendedKeys, secrets } = await store.readStateAt(revision)
      expect(suspendedKeys).toEqual([name, 'c'])
      expect(secrets.map(secret => secret.key)).toEqual([name])
    }
  })

  test('has changed until it is read for the first time', async () => {
    const { store } = await setUp()
    expect(store.changed()).toBe(true)
    await store.readState()
    expect(store.changed()).toBe(false)
  })

  test('sees a foreign commit until it is read, and never an own one', async () => {
    const { store, other } = await setUp()
    await store.readState()
    await other.readState()
    await put(store, endpoint('a'))
    await expect.poll(() => other.changed()).toBe(true)
    expect([store.changed(), other.changed()]).toEqual([false, true])
    await other.readState()
    expect(other.changed()).toBe(false)
  })

  test('sees a secret that was issued, a hold and a release elsewhere', async () => {
    const { store, other } = await setUp()
    await put(other, key('k'))
    for (const move of [
      () => other.issueSecrets([{ key: 'k', digest: digest('1') }]),
      () => other.suspendKey('k'),
      () => other.resumeKey('k'),
      () => other.rotateSecret('k', digest('2'), 0),
    ]) {
      await store.readState()
      await move()
      await expect.poll(() => store.changed()).toBe(true)
    }
  })

  test('is not moved by a foreign write that a gateway does not serve', async () => {
    const { store, other, database } = await setUp()
    await put(other, key('k'))
    await other.suspendKey('k')
    await store.readState()
    await other.suspendKey('k')
    await database.execute('create table somebody_elses (id integer)')
    expect(store.changed()).toBe(false)
  })

  test('is not moved by such a write after an own commit, either', async () => {
    const { store, database } = await setUp()
    await store.readState()
    await put(store, endpoint('a'))
    await database.execute('create table somebody_elses (id integer)')
    expect(store.changed()).toBe(false)
  })

  test('an own commit on top of an unseen foreign one does not hide it', async () => {
    const { store, other } = await setUp()
    await store.readState()
    await put(other, endpoint('a'))
    await put(store, endpoint('b'))
    await expect.poll(() => store.changed()).toBe(true)
  })

  test('does not take its own unfinished commit for the head', async () => {
    const { store } = await setUp()
    await store.readState()
    const during: boolean[] = []
    await store.commit(commitOn(0, { puts: [endpoint('a')] }), async () => {
      during.push(store.changed())
    })
    expect([...during, store.changed()]).toEqual([false, false])
  })
})
