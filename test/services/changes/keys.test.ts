import { describe, expect, onTestFinished, test } from 'vitest'
import { isMistyped, keyDigest } from '../../../src/base/api-key.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { DeclaredResource } from '../../../src/config/types.ts'
import {
  issueKey,
  listKeys,
  resumeKey,
  rotateKey,
  showKey,
  suspendKey,
} from '../../../src/services/changes/keys.ts'
import { put } from '../../store/samples.ts'
import { STORES } from '../../store/stores.ts'
import { testClock } from '../../support/test-clock.ts'
import { key, madeBy, ownedBy, tenant } from './trees.ts'

const HASH = `sha256:${'a'.repeat(64)}`

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp(...keys: readonly DeclaredResource[]) {
    const clock = testClock(1_000)
    const store = await emptyDatabase(onTestFinished).open(clock)
    await put(store, ...keys.map(declared => ownedBy('default', declared)))
    const digests = async () => (await store.readState()).secrets.map(secret => secret.digest)
    return { clock, store, digests }
  }

  test('a secret is minted whole, stored by its digest and told once', async () => {
    const { store, digests } = await setUp(key('k'))
    const issued = await issueKey(store, systemRandom, 'k')
    expect(issued).toEqual({ key: 'k', secret: expect.stringMatching(/^gw_[0-9A-Za-z]{46}$/) })
    expect(isMistyped(issued.secret)).toBe(false)
    expect(await digests()).toEqual([keyDigest(issued.secret)])
    const told = JSON.stringify([await listKeys(store), await store.live()])
    expect(told).not.toContain(issued.secret)
    expect(told).not.toContain(keyDigest(issued.secret))
  })

  test('a second secret is a rotation', async () => {
    const { store, clock, digests } = await setUp(key('k'))
    const first = await issueKey(store, systemRandom, 'k')
    await expect(issueKey(store, systemRandom, 'k')).rejects.toMatchObject({
      code: 'has_secret',
      hint: expect.stringContaining('gw keys rotate k'),
    })
    const second = await rotateKey(store, systemRandom, 'k', 100)
    expect(second).toEqual({ key: 'k', secret: expect.any(String), graceUntilMs: 1_100 })
    expect(await digests()).toEqual([keyDigest(first.secret), keyDigest(second.secret)])
    clock.advance(100)
    expect(await digests()).toEqual([keyDigest(second.secret)])
  })

  test('a rotation speaks of a grace only where an older secret has one', async () => {
    const { store } = await setUp(key('k'))
    expect(await rotateKey(store, systemRandom, 'k', 100)).not.toHaveProperty('graceUntilMs')
    expect(await rotateKey(store, systemRandom, 'k', 0)).not.toHaveProperty('graceUntilMs')
  })

  test.each([
    ['hash', { hash: HASH }],
    ['secret', { secret: { env: 'X' } }],
  ])('a key that brings its %s along is not given another', async (field, more) => {
    const { store } = await setUp(key('k', more, 4))
    for (const attempt of [issueKey(store, systemRandom, 'k'), rotateKey(store, systemRandom, 'k', 0)]) {
      await expect(attempt).rejects.toMatchObject({
        code: 'has_secret',
        hint: expect.stringContaining(`\`${field}\` in default.yaml:4`),
      })
    }
    expect((await store.live()).secrets).toEqual([])
  })

  test('a name that is nearly right is answered with the right one', async () => {
    const { store } = await setUp(key('mobile-app'), key('mobile-app-test'), key('billing'))
    const hint = async (name: string) =>
      showKey(store, name).then(
        () => expect.unreachable(),
        (error: { code: string; hint: string }) => `${error.code} ${error.hint}`,
      )
    expect(await hint('mobil-app')).toBe('not_found Did you mean mobile-app? `gw keys list` shows all.')
    expect(await hint('mobile')).toBe(
      'not_found Did you mean mobile-app or mobile-app-test? `gw keys list` shows all.',
    )
    expect(await hint('zzz')).not.toContain('Did you mean')
  })

  test('every command rejects a key that does not exist', async () => {
    const { store } = await setUp(key('k'))
    for (const attempt of [
      issueKey(store, systemRandom, 'x'),
      rotateKey(store, systemRandom, 'x', 0),
      suspendKey(store, 'x'),
      resumeKey(store, 'x'),
      showKey(store, 'x'),
    ]) {
      await expect(attempt).rejects.toMatchObject({ code: 'not_found', message: 'There is no key x.' })
    }
  })

  test('a hold works at once and is taken back', async () => {
    const { store } = await setUp(key('k'))
    expect(await suspendKey(store, 'k')).toBe(true)
    expect((await store.readState()).suspendedKeys).toEqual(['k'])
    expect(await showKey(store, 'k')).toMatchObject({ state: 'held', suspendedAtMs: 1_000 })
    expect([await resumeKey(store, 'k'), await resumeKey(store, 'k')]).toEqual([true, false])
    expect((await store.readState()).suspendedKeys).toEqual([])
  })

  test('what the configuration disables is enabled there, at the line that the rejection names', async () => {
    const { store } = await setUp(key('k', { enabled: false }, 12))
    await expect(resumeKey(store, 'k')).rejects.toMatchObject({
      code: 'disabled_in_file',
      message: 'The key k is disabled in its configuration, default.yaml:12.',
      hint: expect.stringContaining('default.yaml:12'),
    })
  })

  test('tells each key’s state by the reason that has to be mended first', async () => {
    const { store, clock } = await setUp(
      key('active'),
      key('bare'),
      key('disabled', { enabled: false }),
      key('expired', { expires_at: '1970-01-01T00:00:01.050Z', hash: HASH }),
      key('expires', { expires_at: '1970-01-01T00:00:01.051Z', hash: `${HASH.slice(0, -1)}b` }),
      key('held', { hash: `${HASH.slice(0, -1)}c` }),
      key('reference', { secret: { env: 'X' } }),
    )
    await issueKey(store, systemRandom, 'active')
    for (const name of ['held', 'disabled']) await suspendKey(store, name)
    clock.advance(50)
    const states = (await listKeys(store)).map(({ name, state, secretSource }) => [name, state, secretSource])
    expect(states).toEqual([
      ['active', 'active', 'issued'],
      ['bare', 'no_secret', undefined],
      ['disabled', 'disabled', undefined],
      ['expired', 'expired', 'hash'],
      ['expires', 'active', 'hash'],
      ['held', 'held', 'hash'],
      ['reference', 'active', 'reference'],
    ])
  })

  test('shows the policy, the owner and the age of the newest secret', async () => {
    const { store, clock } = await setUp(
      tenant('t'),
      key(
        'k',
        {
          kind: 'tenant',
          tenant: 't',
          display_name: 'K',
          models: ['gpt-*'],
          limits: { rpm: 5 },
          quota: 9,
          budget: { amount: '12.5', per: 'month' },
          expires_at: '2027-01-31T00:00:00Z',
        },
        7,
      ),
    )
    await issueKey(store, systemRandom, 'k')
    clock.advance(10)
    await rotateKey(store, systemRandom, 'k', 1_000)
    clock.advance(5)
    expect(await showKey(store, 'k')).toEqual({
      name: 'k',
      kind: 'tenant',
      displayName: 'K',
      tenant: 't',
      models: ['gpt-*'],
      limits: { rpm: 5 },
      quota: 9,
      budget: { amountNano: 12_500_000_000n, per: 'month', timezone: 'UTC' },
      expiresAtMs: Date.UTC(2027, 0, 31),
      state: 'active',
      owner: 'config',
      set: 'default',
      place: { file: 'default.yaml', line: 7 },
      createdAtMs: 1_000,
      secretSource: 'issued',
      secretCreatedAtMs: 1_010,
      secretAgeMs: 5,
      activeSecrets: 2,
    })
  })

  test('a key that the command line made has no line to show', async () => {
    const { store } = await setUp()
    await put(store, madeBy('cli', key('k')))
    const shown = await showKey(store, 'k')
    expect(shown).toMatchObject({ owner: 'cli', state: 'no_secret' })
    expect(shown).not.toHaveProperty('place')
    expect(shown).not.toHaveProperty('set')
  })
})
