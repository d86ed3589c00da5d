import { describe, expect, onTestFinished, test } from 'vitest'
import { testClock } from '../support/test-clock.ts'
import { canonical, digest, endpoint, key, MINE, put } from './samples.ts'
import { STORES } from './stores.ts'

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp() {
    const store = await emptyDatabase(onTestFinished).open(testClock(1_000))
    await put(
      store,
      { kind: 'tenant', name: 'acme', spec: canonical('tenant', {}), ...MINE },
      endpoint('a'),
      key('a'),
      key('b', { kind: 'tenant', tenant: 'acme' }),
      key('c', { kind: 'tenant', tenant: 'acme' }),
    )
    await store.issueSecrets([{ key: 'b', digest: digest('1') }])
    await store.suspendKey('c')
    return store
  }

  test('finds one by its name, and nothing where there is none', async () => {
    const store = await setUp()
    const { resources, head } = await store.find({ kind: 'endpoint', name: 'a' })
    expect(resources).toEqual((await store.live()).resources.filter(({ kind }) => kind === 'endpoint'))
    expect(head.revision).toBe(1)
    expect((await store.find({ kind: 'endpoint', name: 'b' })).resources).toEqual([])
  })

  test('reads a kind in pages, with the secrets and holds of its keys alone', async () => {
    const store = await setUp()
    const names = async (page: { after?: string; limit?: number }) =>
      (await store.find({ kind: 'key', ...page })).resources.map(({ name }) => name)
    expect(await names({ limit: 2 })).toEqual(['a', 'b'])
    expect(await names({ after: 'b', limit: 2 })).toEqual(['c'])
    const found = await store.find({ kind: 'key', name: 'b' })
    expect([found.secrets.length, found.holds.length]).toEqual([1, 0])
    const all = await store.find({ kind: 'key' })
    const live = await store.live()
    expect([all.secrets, all.holds]).toEqual([live.secrets, live.holds])
  })

  test('filters by a field of the spec', async () => {
    const store = await setUp()
    const { resources } = await store.find({ kind: 'key', where: { tenant: 'acme' } })
    expect(resources.map(({ name }) => name)).toEqual(['b', 'c'])
  })
})
