import { describe, expect, onTestFinished, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import type { DeclaredResource } from '../../../src/config/types.ts'
import { issueKey, showKey } from '../../../src/services/changes/keys.ts'
import { createKey, deleteKey, revokeKey } from '../../../src/services/changes/keys-lifetime.ts'
import type { Store } from '../../../src/store/types.ts'
import { put } from '../../store/samples.ts'
import { STORES } from '../../store/stores.ts'
import { testClock } from '../../support/test-clock.ts'
import { key, madeBy, ownedBy, publication, tenant } from './trees.ts'

const PLATFORM = { kind: 'platform' }
const signed = { origin: 'cli', author: 'ann', check: async () => [] } as const
const agree = async () => undefined

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp(...resources: readonly DeclaredResource[]) {
    const database = emptyDatabase(onTestFinished)
    const clock = testClock(1_000)
    const store = await database.open(clock)
    await put(store, ...resources.map(declared => ownedBy('default', declared)))
    return { store, database, clock }
  }

  /** A store before whose next commit somebody else commits. */
  function overtaken(store: Store, other: () => Promise<unknown>): Store {
    let isFirst = true
    return new Proxy(store, {
      get(target, property) {
        if (property !== 'commit') return Reflect.get(target, property).bind(target) as unknown
        return async (...words: Parameters<Store['commit']>) => {
          if (isFirst) {
            isFirst = false
            await other()
          }
          return target.commit(...words)
        }
      },
    })
  }

  test('a key of the command line is a revision with an author, and no line to edit', async () => {
    const { store } = await setUp(tenant('t'))
    const created = await createKey(
      store,
      { name: 'k', policy: { kind: 'tenant', tenant: 't', limits: { rpm: 5 } } },
      signed,
    )
    expect(created).toEqual({ revision: 2, unknownModels: [] })
    const shown = await showKey(store, 'k')
    expect(shown).toMatchObject({ owner: 'cli', tenant: 't', limits: { rpm: 5 }, state: 'no_secret' })
    expect(shown).not.toHaveProperty('place')
    const [revision] = await store.revisions({ limit: 1 })
    expect(revision).toMatchObject({ origin: 'cli', author: 'ann', counts: { create: 1 } })
    expect(revision).not.toHaveProperty('set')
  })

  test('nothing is made that a gateway could not serve', async () => {
    const { store } = await setUp()
    const check = async () => ['the key k clashes']
    await expect(
      createKey(store, { name: 'k', policy: PLATFORM }, { ...signed, check }),
    ).rejects.toMatchObject({
      code: 'not_servable',
      message: 'the key k clashes',
    })
    expect((await store.head()).revision).toBe(1)
  })

  test('every fault of a policy is told at once', async () => {
    const { store } = await setUp()
    const policy = { kind: 'tenant', limits: { rpm: 0 }, budget: { amount: 'x', per: 'day' } }
    await expect(createKey(store, { name: 'k k', policy }, signed)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/The name k k: .*\nlimits\.rpm: .*\nbudget\.amount: /),
    })
  })

  test('globs and publications are known models, anything else is told', async () => {
    const { store } = await setUp(publication('gpt'))
    const policy = { kind: 'platform', models: ['gpt', 'o*', 'gtp'] }
    expect(await createKey(store, { name: 'k', policy }, signed)).toMatchObject({ unknownModels: ['gtp'] })
  })

  test('a revision that comes in between is no conflict', async () => {
    const { store } = await setUp()
    const slow = overtaken(store, () => put(store, ownedBy('default', tenant('t'))))
    expect(await createKey(slow, { name: 'k', policy: PLATFORM }, signed)).toMatchObject({ revision: 3 })
    expect((await store.live()).resources.map(({ name }) => name)).toEqual(['t', 'k'])
  })

  test('of two who make a key of one name the second is told whose it is', async () => {
    const { store } = await setUp()
    const slow = overtaken(store, () => put(store, madeBy('rest', key('k'))))
    await expect(createKey(slow, { name: 'k', policy: PLATFORM }, signed)).rejects.toMatchObject({
      code: 'already_exists',
      message: 'There already is a key k; it belongs to REST.',
    })
  })

  test('a revoked key keeps its policy, its owner and its line, and every secret has ended', async () => {
    const { store } = await setUp(tenant('t'), key('k', { limits: { rpm: 5 } }, 7))
    await issueKey(store, systemRandom, 'k')
    const before = await store.live()
    expect(await revokeKey(store, 'k')).toEqual({ secrets: 1, held: false })
    expect((await store.readState()).secrets).toEqual([])
    const after = await store.live()
    expect(after.resources).toEqual(before.resources)
    expect(after.head).toEqual({ revision: before.head.revision, keyVersion: before.head.keyVersion + 1 })
  })

  test('a secret that is minted while the key is revoked has ended, too', async () => {
    const { store } = await setUp(key('k'))
    await issueKey(store, systemRandom, 'k')
    await Promise.all([store.rotateSecret('k', 'd'.repeat(64), 60_000), revokeKey(store, 'k')])
    expect((await store.readState()).secrets).toEqual([])
  })

  test('a key that nobody has cannot be revoked', async () => {
    const { store } = await setUp()
    await expect(revokeKey(store, 'k')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('what REST made may be deleted, what a file declares is removed there', async () => {
    const { store } = await setUp(key('declared', {}, 7))
    await put(store, madeBy('rest', key('k')))
    expect(await deleteKey(store, 'k', signed, agree)).toMatchObject({ id: 3, counts: { delete: 1 } })
    await expect(deleteKey(store, 'declared', signed, agree)).rejects.toMatchObject({
      code: 'owned_by_other',
      hint: expect.stringContaining('default.yaml:7'),
    })
  })

  test('a review that throws leaves the key alone', async () => {
    const { store } = await setUp()
    await put(store, madeBy('cli', key('k')))
    const reject = async () => {
      throw new Error('no')
    }
    await expect(deleteKey(store, 'k', signed, reject)).rejects.toThrow('no')
    expect((await store.head()).revision).toBe(2)
  })
})
