import { describe, expect, onTestFinished, test } from 'vitest'
import { testClock } from '../support/test-clock.ts'
import { plain } from './plain.ts'
import { digest, key, MINE, put, remove } from './samples.ts'
import { STORES } from './stores.ts'

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp() {
    const clock = testClock(1_000)
    const store = await emptyDatabase(onTestFinished).open(clock)
    await put(store, key('k'), key('other'))
    return {
      clock,
      store,
      digests: async () => (await store.readState()).secrets.map(secret => secret.digest),
    }
  }

  test('a first secret is kept by its digest, and shown without it', async () => {
    const { store, digests } = await setUp()
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    expect(await digests()).toEqual([digest('1')])
    expect(JSON.stringify(await store.live())).not.toContain(digest('1'))
  })

  test('a key has one first secret', async () => {
    const { store, digests } = await setUp()
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    await store.issueSecrets([{ key: 'other', digest: digest('3') }])
    await expect(store.issueSecrets([{ key: 'k', digest: digest('2') }])).rejects.toMatchObject({
      code: 'has_secret',
    })
    expect(await digests()).toEqual([digest('1'), digest('3')])
  })

  test('rejects secrets, holds and releases for a key that does not exist', async () => {
    const { store } = await setUp()
    for (const attempt of [
      () => store.issueSecrets([{ key: 'x', digest: digest('1') }]),
      () => store.rotateSecret('x', digest('1'), 0),
      () => store.suspendKey('x'),
      () => store.resumeKey('x'),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'not_found', message: 'There is no key x.' })
    }
    expect(await store.head()).toEqual({ revision: 1, keyVersion: 0 })
  })

  test('a rotation lets old and new overlap for the grace, to the millisecond', async () => {
    const { store, clock, digests } = await setUp()
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    await store.rotateSecret('k', digest('2'), 100)
    clock.advance(99)
    expect(plain(await store.readState()).secrets).toEqual([
      { key: 'k', digest: digest('1'), expiresAtMs: 1_100 },
      { key: 'k', digest: digest('2') },
    ])
    clock.advance(1)
    expect(await digests()).toEqual([digest('2')])
  })

  test('a rotation without grace ends the old secret at once', async () => {
    const { store, digests } = await setUp()
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    await store.rotateSecret('k', digest('2'), 0)
    expect(await digests()).toEqual([digest('2')])
    expect((await store.live()).secrets).toMatchObject([{ revokedAtMs: 1_000 }, { createdAtMs: 1_000 }])
  })

  test('a later rotation shortens a grace that runs, and never prolongs it', async () => {
    const { store, clock } = await setUp()
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    await store.rotateSecret('k', digest('2'), 1_000)
    clock.advance(10)
    await store.rotateSecret('k', digest('3'), 20)
    clock.advance(10)
    expect(plain(await store.readState()).secrets).toEqual([
      { key: 'k', digest: digest('2'), expiresAtMs: 1_030 },
      { key: 'k', digest: digest('3') },
    ])
    // Secret 3 has no end yet: this is its first grace.
    await store.rotateSecret('k', digest('4'), 5_000)
    expect(plain(await store.readState()).secrets).toEqual([
      { key: 'k', digest: digest('3'), expiresAtMs: 6_020 },
      { key: 'k', digest: digest('4') },
    ])
  })

  test('of a key no more than two secrets work at a time, whatever the grace, and few that ended are remembered', async () => {
    const { store } = await setUp()
    await store.issueSecrets([{ key: 'k', digest: digest('0') }])
    for (let count = 1; count <= 40; count++) {
      await store.rotateSecret('k', count.toString(16).padStart(64, '0'), 86_400_000)
      expect(plain(await store.readState()).secrets).toHaveLength(2)
    }
    expect((await store.live()).secrets.length).toBeLessThanOrEqual(11)
  })

  test('a rotation touches no other key', async () => {
    const { store, digests } = await setUp()
    await store.issueSecrets([{ key: 'other', digest: digest('1') }])
    await store.rotateSecret('k', digest('2'), 0)
    expect(await digests()).toEqual([digest('1'), digest('2')])
  })

  test('no two keys ever have one secret, not even a revoked one', async () => {
    const { store } = await setUp()
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    await store.rotateSecret('k', digest('2'), 0)
    await expect(store.issueSecrets([{ key: 'other', digest: digest('1') }])).rejects.toThrow(/unique/i)
  })

  test('takes digests only: a secret itself is never stored', async () => {
    const { store } = await setUp()
    for (const wrong of ['gw_secret', digest('A'), digest('1').slice(1)]) {
      await expect(store.issueSecrets([{ key: 'k', digest: wrong }]), wrong).rejects.toThrow(/check/i)
    }
  })

  test('a hold tells whether it changed anything, and moves the head only then', async () => {
    const { store } = await setUp()
    expect([await store.suspendKey('k'), await store.suspendKey('k')]).toEqual([true, false])
    expect((await store.head()).keyVersion).toBe(1)
    expect([await store.resumeKey('k'), await store.resumeKey('k')]).toEqual([true, false])
    expect((await store.head()).keyVersion).toBe(2)
    expect((await store.live()).holds).toEqual([])
  })

  test('a key that goes away takes its secrets and its hold with it, for good', async () => {
    const { store } = await setUp()
    await store.issueSecrets([{ key: 'k', digest: digest('1') }])
    await store.issueSecrets([{ key: 'other', digest: digest('2') }])
    await store.suspendKey('k')
    await remove(store, { kind: 'key', name: 'k' })
    expect((await store.head()).keyVersion).toBe(4)
    await put(store, key('k'))
    expect(await store.readState()).toMatchObject({ secrets: [{ key: 'other' }], suspendedKeys: [] })
  })

  test('a hold ends when the configuration disables the key itself, and by no other apply', async () => {
    const { store } = await setUp()
    await store.suspendKey('k')
    await put(store, key('k', { display_name: 'renamed' }))
    expect((await store.live()).holds).toHaveLength(1)
    await put(store, key('k', { enabled: false }))
    expect((await store.live()).holds).toEqual([])
  })

  test('a hold on a key that is disabled already outlives an apply that moves its line', async () => {
    const { store } = await setUp()
    await put(store, key('k', { enabled: false }))
    await store.suspendKey('k')
    await put(store, key('k', { enabled: false }, { ...MINE, place: { file: 'gw.yaml', line: 9 } }))
    expect((await store.live()).holds).toHaveLength(1)
  })
})
