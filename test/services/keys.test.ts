import { describe, expect, onTestFinished, test } from 'vitest'
import { isMistyped, keyDigest } from '../../src/base/api-key.ts'
import { iso } from '../../src/base/iso.ts'
import type { DeclaredResource } from '../../src/config/types.ts'
import {
  disableKey,
  enableKey,
  issueKey,
  issueKeys,
  listKeys,
  rotateKey,
  showKey,
} from '../../src/services/keys.ts'
import { ALL_ROWS } from '../../src/services/paging.ts'
import { put } from '../store/samples.ts'
import { STORES } from '../store/stores.ts'
import { contextOn } from '../support/local-context.ts'
import { testClock } from '../support/test-clock.ts'
import { key, madeBy, ownedBy, tenant } from './changes/trees.ts'

const HASH = `sha256:${'a'.repeat(64)}`

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp(...keys: readonly DeclaredResource[]) {
    const clock = testClock(1_000)
    const store = await emptyDatabase(onTestFinished).open(clock)
    await put(store, ...keys.map(declared => ownedBy('default', declared)))
    const digests = async () => (await store.readState()).secrets.map(secret => secret.digest)
    return { context: contextOn(store, clock), clock, store, digests }
  }

  test('a secret is made whole, stored by its digest and shown once', async () => {
    const { context, store, digests } = await setUp(key('k'))
    const issued = await issueKey(context, { name: 'k' })
    expect(issued).toEqual({ key: 'k', secret: expect.stringMatching(/^gw_[0-9A-Za-z]{46}$/) })
    expect(isMistyped(issued.secret)).toBe(false)
    expect(await digests()).toEqual([keyDigest(issued.secret)])
    const shown = JSON.stringify([await listKeys(context, { limit: ALL_ROWS }), await store.live()])
    expect(shown).not.toContain(issued.secret)
    expect(shown).not.toContain(keyDigest(issued.secret))
  })

  test('several first secrets are made, or none', async () => {
    const { context, digests } = await setUp(key('k'), key('l'), key('m'))
    const { secret } = await issueKey(context, { name: 'l' })
    await expect(issueKeys(context, { names: ['k', 'l', 'm'] })).rejects.toMatchObject({ code: 'has_secret' })
    await expect(issueKeys(context, { names: ['k', 'k'] })).rejects.toMatchObject({ code: 'has_secret' })
    expect(await digests()).toEqual([keyDigest(secret)])
    expect(await issueKeys(context, { names: ['k', 'm'] })).toMatchObject([{ key: 'k' }, { key: 'm' }])
    expect(await digests()).toHaveLength(3)
  })

  test('a second secret is a rotation', async () => {
    const { context, clock, digests } = await setUp(key('k'))
    const first = await issueKey(context, { name: 'k' })
    await expect(issueKey(context, { name: 'k' })).rejects.toMatchObject({
      code: 'has_secret',
      hint: expect.stringContaining('gw keys rotate k'),
    })
    const second = await rotateKey(context, { name: 'k', graceMs: 100 })
    expect(second).toEqual({ key: 'k', secret: expect.any(String), grace_until: iso(1_100) })
    expect(await digests()).toEqual([keyDigest(first.secret), keyDigest(second.secret)])
    clock.advance(100)
    expect(await digests()).toEqual([keyDigest(second.secret)])
  })

  test('a rotation speaks of a grace only where an older secret has one', async () => {
    const { context } = await setUp(key('k'))
    expect(await rotateKey(context, { name: 'k', graceMs: 100 })).not.toHaveProperty('grace_until')
    expect(await rotateKey(context, { name: 'k', graceMs: 0 })).not.toHaveProperty('grace_until')
  })

  test.each([
    ['hash', { hash: HASH }],
    ['secret', { secret: { env: 'X' } }],
  ])('a key that brings its %s along is not given another', async (field, more) => {
    const { context, store } = await setUp(key('k', more, 4))
    for (const attempt of [issueKey(context, { name: 'k' }), rotateKey(context, { name: 'k', graceMs: 0 })]) {
      await expect(attempt).rejects.toMatchObject({
        code: 'has_secret',
        hint: expect.stringContaining(`\`${field}\` in default.yaml:4`),
      })
    }
    expect((await store.live()).secrets).toEqual([])
  })

  test('a name that is nearly right is answered with the right one', async () => {
    const { context } = await setUp(key('mobile-app'), key('mobile-app-test'), key('billing'))
    const hint = async (name: string) =>
      showKey(context, { name }).then(
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
    const { context } = await setUp(key('k'))
    for (const attempt of [
      () => issueKey(context, { name: 'x' }),
      () => rotateKey(context, { name: 'x', graceMs: 0 }),
      () => disableKey(context, { name: 'x' }),
      () => enableKey(context, { name: 'x' }),
      () => showKey(context, { name: 'x' }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'not_found', message: 'There is no key x.' })
    }
  })

  test('a hold works at once and is taken back', async () => {
    const { context, store } = await setUp(key('k'))
    expect(await disableKey(context, { name: 'k' })).toMatchObject({ changed: true })
    expect((await store.readState()).suspendedKeys).toEqual(['k'])
    expect(await showKey(context, { name: 'k' })).toMatchObject({
      state: 'suspended',
      suspended_at: iso(1_000),
    })
    expect(await enableKey(context, { name: 'k' })).toMatchObject({ changed: true })
    expect(await enableKey(context, { name: 'k' })).toMatchObject({ changed: false })
    expect((await store.readState()).suspendedKeys).toEqual([])
  })

  test('what the configuration disables is enabled there, at the line that the rejection names', async () => {
    const { context } = await setUp(key('k', { enabled: false }, 12))
    await expect(enableKey(context, { name: 'k' })).rejects.toMatchObject({
      code: 'disabled_in_file',
      message: 'The key k is disabled in its configuration, default.yaml:12.',
      hint: expect.stringContaining('default.yaml:12'),
    })
  })

  test('shows each key’s state by the reason that has to be repaired first', async () => {
    const { context, clock } = await setUp(
      key('active'),
      key('bare'),
      key('disabled', { enabled: false }),
      key('expired', { expires_at: '1970-01-01T00:00:01.050Z', hash: HASH }),
      key('expires', { expires_at: '1970-01-01T00:00:01.051Z', hash: `${HASH.slice(0, -1)}b` }),
      key('held', { hash: `${HASH.slice(0, -1)}c` }),
      key('reference', { secret: { env: 'X' } }),
    )
    await issueKey(context, { name: 'active' })
    for (const name of ['held', 'disabled']) await disableKey(context, { name })
    clock.advance(50)
    const states = (await listKeys(context, { limit: ALL_ROWS })).data.map(({ name, state, secret }) => [
      name,
      state,
      secret.source,
    ])
    expect(states).toEqual([
      ['active', 'active', 'issued'],
      ['bare', 'no_secret', undefined],
      ['disabled', 'disabled', undefined],
      ['expired', 'expired', 'hash'],
      ['expires', 'active', 'hash'],
      ['held', 'suspended', 'hash'],
      ['reference', 'active', 'reference'],
    ])
  })

  test('shows the policy, the owner and the age of the newest secret', async () => {
    const { context, clock } = await setUp(
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
    await issueKey(context, { name: 'k' })
    clock.advance(10)
    await rotateKey(context, { name: 'k', graceMs: 1_000 })
    clock.advance(5)
    expect(await showKey(context, { name: 'k' })).toEqual({
      name: 'k',
      kind: 'tenant',
      display_name: 'K',
      tenant: 't',
      models: ['gpt-*'],
      limits: { rpm: 5 },
      quota: 9,
      budget: { amount: '12.5', per: 'month', timezone: 'UTC' },
      expires_at: '2027-01-31T00:00:00.000Z',
      enabled: true,
      state: 'active',
      secret: { source: 'issued', created_at: iso(1_010), active: 2 },
      spend: { tokens: 0, amount: '0', in_budget: '0', currency: 'USD' },
      owner: 'config',
      set: 'default',
      file: 'default.yaml',
      line: 7,
      created_at: iso(1_000),
      created_revision: 1,
      updated_revision: 1,
    })
  })

  test('a key that the command line made has no line to show', async () => {
    const { context, store } = await setUp()
    await put(store, madeBy('cli', key('k')))
    const shown = await showKey(context, { name: 'k' })
    expect(shown).toMatchObject({ owner: 'cli', state: 'no_secret' })
    expect(shown).not.toHaveProperty('file')
    expect(shown).not.toHaveProperty('set')
  })
})
