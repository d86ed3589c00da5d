import { describe, expect, onTestFinished, test } from 'vitest'
import type { DeclaredResource } from '../../src/config/types.ts'
import type { Check } from '../../src/services/changes/types.ts'
import type { Context } from '../../src/services/context.ts'
import {
  createKey,
  deleteKey,
  issueKey,
  keySpec,
  revokeKey,
  showKey,
  unknownModels,
} from '../../src/services/keys.ts'
import type { Store } from '../../src/store/types.ts'
import { put } from '../store/samples.ts'
import { STORES } from '../store/stores.ts'
import { contextOn } from '../support/local-context.ts'
import { testClock } from '../support/test-clock.ts'
import { key, madeBy, ownedBy, publication, tenant } from './changes/trees.ts'

const PLATFORM = { kind: 'platform' }
const agree = async () => undefined
const passes: Check = async () => []

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp(...resources: readonly DeclaredResource[]) {
    const database = emptyDatabase(onTestFinished)
    const clock = testClock(1_000)
    const store = await database.open(clock)
    await put(store, ...resources.map(declared => ownedBy('default', declared)))
    const context = (of: Store, check = passes): Context => ({ ...contextOn(of, clock), check })
    return { store, context: context(store), contextOf: context }
  }

  /** A store before whose next commit another process commits. */
  function overtaken(store: Store, other: () => Promise<unknown>): Store {
    let isFirst = true
    return new Proxy(store, {
      get(target, property) {
        const member: unknown = Reflect.get(target, property)
        if (property !== 'commit')
          return typeof member === 'function' ? (member.bind(target) as unknown) : member
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
    const { context, store } = await setUp(tenant('t'))
    const spec = keySpec('k', { kind: 'tenant', tenant: 't', limits: { rpm: 5 } })
    expect(await createKey(context, { name: 'k', spec })).toMatchObject({ created_revision: 2 })
    const shown = await showKey(context, { name: 'k' })
    expect(shown).toMatchObject({ owner: 'cli', tenant: 't', limits: { rpm: 5 }, state: 'no_secret' })
    expect(shown).not.toHaveProperty('file')
    const [revision] = await store.revisions({ limit: 1 })
    expect(revision).toMatchObject({ origin: 'cli', author: 'ann', counts: { create: 1 } })
    expect(revision).not.toHaveProperty('set')
  })

  test('nothing is made that a gateway could not serve', async () => {
    const { contextOf, store } = await setUp()
    const check = async () => ['the key k clashes']
    await expect(
      createKey(contextOf(store, check), { name: 'k', spec: keySpec('k', PLATFORM) }),
    ).rejects.toMatchObject({
      code: 'not_servable',
      message: 'the key k clashes',
    })
    expect((await store.head()).revision).toBe(1)
  })

  test('every fault of a policy is reported at once', async () => {
    const policy = { kind: 'tenant', limits: { rpm: 0 }, budget: { amount: 'x', per: 'day' } }
    expect(() => keySpec('k k', policy)).toThrow(/The name k k: .*\nlimits\.rpm: .*\nbudget\.amount: /)
  })

  test('globs and publications are known models, anything else is an error', async () => {
    const { context } = await setUp(publication('gpt'))
    const policy = { kind: 'platform', models: ['gpt', 'o*', 'gtp'] }
    const created = await createKey(context, { name: 'k', spec: keySpec('k', policy) })
    expect(await unknownModels(context, created)).toEqual(['gtp'])
  })

  test('a revision that comes in between is no conflict', async () => {
    const { contextOf, store } = await setUp()
    const slow = overtaken(store, () => put(store, ownedBy('default', tenant('t'))))
    const spec = keySpec('k', PLATFORM)
    expect(await createKey(contextOf(slow), { name: 'k', spec })).toMatchObject({ created_revision: 3 })
    expect((await store.live()).resources.map(({ name }) => name)).toEqual(['t', 'k'])
  })

  test('of two that make a key of one name the second learns whose it is', async () => {
    const { contextOf, store } = await setUp()
    const slow = overtaken(store, () => put(store, madeBy('rest', key('k'))))
    await expect(
      createKey(contextOf(slow), { name: 'k', spec: keySpec('k', PLATFORM) }),
    ).rejects.toMatchObject({
      code: 'already_exists',
      message: 'There already is a key k; it belongs to REST.',
    })
  })

  test('a revoked key keeps its policy, its owner and its line, and every secret has ended', async () => {
    const { context, store } = await setUp(tenant('t'), key('k', { limits: { rpm: 5 } }, 7))
    await issueKey(context, { name: 'k' })
    const before = await store.live()
    expect(await revokeKey(context, { name: 'k' })).toEqual({ key: 'k', secrets: 1, suspended: false })
    expect((await store.readState()).secrets).toEqual([])
    const after = await store.live()
    expect(after.resources).toEqual(before.resources)
    expect(after.head).toEqual({ revision: before.head.revision, keyVersion: before.head.keyVersion + 1 })
  })

  test('a secret that is minted while the key is revoked has ended, too', async () => {
    const { context, store } = await setUp(key('k'))
    await issueKey(context, { name: 'k' })
    await Promise.all([store.rotateSecret('k', 'd'.repeat(64), 60_000), revokeKey(context, { name: 'k' })])
    expect((await store.readState()).secrets).toEqual([])
  })

  test('a key that does not exist cannot be revoked', async () => {
    const { context } = await setUp()
    await expect(revokeKey(context, { name: 'k' })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('what REST made may be deleted, what a file declares is removed there', async () => {
    const { context, store } = await setUp(key('declared', {}, 7))
    await put(store, madeBy('rest', key('k')))
    expect(await deleteKey(context, { name: 'k' }, agree)).toEqual({ revision: 3 })
    await expect(deleteKey(context, { name: 'declared' }, agree)).rejects.toMatchObject({
      code: 'owned_by_other',
      hint: expect.stringContaining('default.yaml:7'),
    })
  })

  test('a review that throws leaves the key alone', async () => {
    const { context, store } = await setUp()
    await put(store, madeBy('cli', key('k')))
    const reject = async () => {
      throw new Error('no')
    }
    await expect(deleteKey(context, { name: 'k' }, reject)).rejects.toThrow('no')
    expect((await store.head()).revision).toBe(2)
  })
})
