import { describe, expect, onTestFinished, test } from 'vitest'
import { testClock } from '../support/test-clock.ts'
import { canonical, commitOn, digest, MINE, put } from './samples.ts'
import { STORES } from './stores.ts'

const ADMIN = { name: 'ada', role: 'admin', passwordHash: 'h1' } as const
const OF_ACME = { name: 'tom', role: 'tenant', tenant: 'acme', passwordHash: 'h2' } as const
/** Whose session is opened, with which password. */
const ADAS = { user: 'ada', passwordHash: 'h1' } as const
const TOMS = { user: 'tom', passwordHash: 'h2' } as const

describe.each(Object.entries(STORES))('on %s', (_, emptyDatabase) => {
  async function setUp() {
    const database = emptyDatabase(onTestFinished)
    const clock = testClock(1_000)
    const store = await database.open(clock)
    await put(store, { kind: 'tenant', name: 'acme', spec: canonical('tenant', {}), ...MINE })
    return { database, clock, store, users: store.users }
  }

  test('a user is created once, and only with a tenant that stands', async () => {
    const { users } = await setUp()
    expect(await users.createUser(ADMIN)).toEqual({
      name: 'ada',
      role: 'admin',
      enabled: true,
      createdAtMs: 1_000,
      version: 1,
      sessions: 0,
    })
    await expect(users.createUser(ADMIN)).rejects.toMatchObject({ code: 'already_exists' })
    await expect(users.createUser({ ...OF_ACME, tenant: 'none' })).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await users.createUser(OF_ACME)).toMatchObject({ tenant: 'acme' })
    expect((await users.users()).map(user => user.name)).toEqual(['ada', 'tom'])
    expect((await users.users({ after: 'ada', limit: 1 })).map(user => user.name)).toEqual(['tom'])
    expect(await users.credential('tom')).toMatchObject({ passwordHash: 'h2' })
    expect(await users.credential('absent')).toBeUndefined()
  })

  test('a change names the version that it starts from, and the last administrator stays', async () => {
    const { users } = await setUp()
    await users.createUser(ADMIN)
    await expect(users.changeUser('ada', { enabled: false })).rejects.toMatchObject({ code: 'last_admin' })
    await expect(
      users.changeUser('ada', { place: { role: 'tenant', tenant: 'acme' } }),
    ).rejects.toMatchObject({ code: 'last_admin' })
    await users.createUser({ ...ADMIN, name: 'bob' })
    expect(await users.changeUser('ada', { enabled: false }, 1)).toMatchObject({
      enabled: false,
      version: 2,
    })
    await expect(users.changeUser('ada', { enabled: true }, 1)).rejects.toMatchObject({
      code: 'revision_changed',
    })
    expect(await users.changeUser('ada', { enabled: false }, 2)).toMatchObject({ version: 2 })
    await expect(users.changeUser('bob', { enabled: false })).rejects.toMatchObject({ code: 'last_admin' })
    await expect(users.changeUser('absent', {})).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a session is found by the digest of its token while its user may log in', async () => {
    const { users, clock } = await setUp()
    await users.createUser(ADMIN)
    await users.createUser(OF_ACME)
    clock.advance(500)
    const session = { digest: digest('a'), ...TOMS, carrier: 'bearer', address: '::1' } as const
    await users.openSession(session)
    clock.advance(500)
    await users.touchSession(digest('a'))
    expect(await users.session(digest('a'))).toEqual({
      user: {
        name: 'tom',
        role: 'tenant',
        tenant: 'acme',
        enabled: true,
        createdAtMs: 1_000,
        lastLoginAtMs: 1_500,
        version: 1,
        sessions: 1,
      },
      carrier: 'bearer',
      createdAtMs: 1_500,
      usedAtMs: 2_000,
    })
    expect(await users.session(digest('b'))).toBeUndefined()
    await users.endSession(digest('a'))
    expect(await users.session(digest('a'))).toBeUndefined()

    await users.openSession(session)
    await users.changeUser('tom', { enabled: false })
    expect(await users.session(digest('a'))).toBeUndefined()
    expect(await users.openSession(session)).toBeUndefined()
    await users.changeUser('tom', { enabled: true })
    expect(await users.session(digest('a'))).toBeUndefined()
  })

  test('a new password and a new place end every session; so does a request for it', async () => {
    const { users } = await setUp()
    await users.createUser(ADMIN)
    await users.createUser(OF_ACME)
    const open = (name: string, passwordHash: string) => {
      const session = { digest: digest(name), user: 'tom', passwordHash } as const
      return users.openSession({ ...session, carrier: 'cookie', address: '::1' })
    }
    await open('1', 'h2')
    await users.setPassword('tom', 'h3')
    expect(await users.session(digest('1'))).toBeUndefined()
    expect(await users.credential('tom')).toMatchObject({ passwordHash: 'h3', user: { version: 2 } })
    // Who has verified the old one comes too late.
    expect(await open('2', 'h2')).toBeUndefined()
    expect(await users.user('tom')).toMatchObject({ sessions: 0 })
    await open('2', 'h3')
    await users.changeUser('tom', { place: { role: 'admin' } })
    expect(await users.session(digest('2'))).toBeUndefined()
    await open('3', 'h3')
    await open('4', 'h3')
    expect(await users.endSessions('tom')).toBe(2)
    expect(await users.user('tom')).toMatchObject({ role: 'admin', sessions: 0 })
  })

  test('tokens go with a renamed tenant, and are not those of the next one of its name', async () => {
    const { store, users } = await setUp()
    await users.createUser(ADMIN)
    await users.createUser(OF_ACME)
    const token = { scope: 'write', expiresAtMs: 9_000 } as const
    await users.createToken({
      ...token,
      id: 't1',
      digest: digest('1'),
      user: 'ada',
      name: 'one',
      tenant: 'acme',
    })
    await users.createToken({ ...token, id: 't2', digest: digest('2'), user: 'tom', name: 'two' })
    const spec = canonical('tenant', {})
    const azure = { kind: 'tenant', name: 'azure', spec, ...MINE, account: 'acme' } as const
    await store.commit(
      commitOn(1, { renames: [{ kind: 'tenant', from: 'acme', to: 'azure' }], puts: [azure] }),
    )
    await put(store, { kind: 'tenant', name: 'acme', spec, ...MINE })
    for (const used of [digest('1'), digest('2')]) {
      expect(await users.usedToken(used)).toMatchObject({
        token: { tenant: 'azure' },
        user: { role: 'tenant', tenant: 'azure' },
      })
    }
    expect(await users.tokens({ tenant: 'acme' })).toEqual([])
  })

  test('of very many sessions the oldest ends; old ones are forgotten', async () => {
    const { users, clock } = await setUp()
    await users.createUser(ADMIN)
    const at = (number: number) => number.toString(16).padStart(64, '0')
    for (let number = 0; number <= 100; number++) {
      clock.advance(1)
      await users.openSession({ digest: at(number), ...ADAS, carrier: 'bearer', address: '::1' })
    }
    expect(await users.session(at(0))).toBeUndefined()
    expect(await users.session(at(1))).toBeDefined()
    await users.pruneSessions({ createdAtMs: 1_010, usedAtMs: 0 })
    expect(await users.session(at(9))).toBeUndefined()
    expect(await users.session(at(10))).toBeDefined()
    await users.pruneSessions({ createdAtMs: 0, usedAtMs: 1_050 })
    expect(await users.user('ada')).toMatchObject({ sessions: 51 })
  })

  test('the audit is read newest first, filtered and in pages, and cannot be rewritten', async () => {
    const { users, clock, database } = await setUp()
    const line = { user: 'ada', role: 'admin', origin: 'rest', action: 'create_key' } as const
    await users.record({ ...line, address: '::1', target: 'key/a', revision: 4, requestId: 'req_1' })
    clock.advance(1)
    await users.record({ ...line, origin: 'cli', action: 'disable_user' })
    expect(await users.audit()).toEqual([
      { ...line, id: 2, atMs: 1_001, origin: 'cli', action: 'disable_user' },
      { ...line, id: 1, atMs: 1_000, address: '::1', target: 'key/a', revision: 4, requestId: 'req_1' },
    ])
    expect(await users.audit({ before: 2 })).toHaveLength(1)
    expect(await users.audit({ limit: 1 })).toMatchObject([{ id: 2 }])
    expect(await users.audit({ target: 'key/a' })).toMatchObject([{ id: 1 }])
    expect(await users.audit({ action: 'disable_user', user: 'ada' })).toMatchObject([{ id: 2 }])
    expect(await users.audit({ user: 'bob' })).toEqual([])
    for (const attempt of [
      `update audit set user_name = 'eve'`,
      'delete from audit',
      database.replace(
        `into audit (id, at_ms, user_name, role, origin, action) values (1, 0, 'e', 'r', 'cli', 'x')`,
        'id',
      ),
    ]) {
      await expect(database.execute(attempt), attempt).rejects.toThrow('append-only')
    }
  })

  test('people and sessions move no revision and no key version', async () => {
    const { users, store } = await setUp()
    const before = await store.head()
    await users.createUser(ADMIN)
    await users.openSession({ digest: digest('a'), ...ADAS, carrier: 'bearer', address: '::1' })
    expect(await store.head()).toEqual(before)
  })
})
