import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import { API_PREFIX, OPERATION_IDS, operation } from '../../src/schema/api/operations.ts'
import { controlScene, type LoggedIn } from './scene.ts'

const control = await controlScene(afterAll)
let ada: LoggedIn
let tom: LoggedIn

beforeAll(async () => {
  await control.addUser('root', 'admin')
  await control.addUser('ada', 'admin')
  ada = await control.logIn('ada')
  for (const name of ['acme', 'other']) await control.call('create_tenant', { as: ada, body: { name } })
  await control.addUser('tom', 'tenant', 'acme')
  await control.addUser('eve', 'tenant', 'other')
  tom = await control.logIn('tom')
})

let count = 0
async function make(as: LoggedIn, body: object = {}) {
  const answered = await control.call('create_token', { as, body: { name: `t${++count}`, ...body } })
  expect(answered.status, JSON.stringify(answered.body)).toBe(201)
  const { token } = answered.body
  const bearer: LoggedIn = { token, headers: { authorization: `Bearer ${token}` } }
  return { id: String(answered.body['id']), bearer, body: answered.body }
}

describe('a personal access token', () => {
  test('is shown once, kept as a hash, and opens what its scope says: read asks, write changes', async () => {
    const reading = await make(ada, { name: 'report' })
    expect(reading.bearer.token).toMatch(/^gwp_[\w-]{43}$/)
    expect(reading.body).toMatchObject({ user: 'ada', role: 'admin', scope: 'read' })
    const listed = await control.call('list_tokens', { as: ada })
    expect(JSON.stringify([listed.body, control.log])).not.toContain(reading.bearer.token)
    expect(await control.call('list_users', { as: reading.bearer })).toMatchObject({ status: 200 })
    const body = { name: 'made' }
    expect(await control.call('create_publication', { as: reading.bearer, body })).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('scope is `read`') },
    })
    const writing = await make(ada, { scope: 'write' })
    expect(await control.call('create_publication', { as: writing.bearer, body })).toMatchObject({
      status: 201,
    })
  })

  test('makes no tokens, changes no password and ends no sessions', async () => {
    const { bearer } = await make(ada, { scope: 'write' })
    const closed = OPERATION_IDS.filter(id => operation(id).needsSession)
    expect(closed.sort()).toEqual(['change_password', 'create_token', 'log_out', 'log_out_everywhere'])
    for (const id of closed) expect((await control.call(id, { as: bearer })).status, id).toBe(403)
  })

  test('is good until it expires, and says when it was last used', async () => {
    const { id, bearer } = await make(ada, { expires_in: '1h' })
    control.clock.advance(59 * 60_000)
    expect(await control.call('list_users', { as: bearer })).toMatchObject({ status: 200 })
    const stored = (await control.store.users.tokens({ limit: 500 })).find(token => token.id === id)
    expect(stored?.usedAtMs).toBe(control.clock.nowMs())
    control.clock.advance(60_000)
    expect(await control.call('list_users', { as: bearer })).toMatchObject({ status: 401 })
    ada = await control.logIn('ada')
    tom = await control.logIn('tom')
  })

  test('is revoked at once: by its user or an administrator, and by no other user', async () => {
    const { id, bearer } = await make(tom)
    const eve = await control.logIn('eve')
    const theirs = await control.call('revoke_token', { as: eve, params: { name: id } })
    expect(theirs).toMatchObject({ status: 404 })
    expect((await control.call('list_tokens', { as: eve })).body.data).toEqual([])
    expect(await control.call('list_keys', { as: bearer })).toMatchObject({ status: 200 })
    expect(await control.call('revoke_token', { as: tom, params: { name: id } })).toMatchObject({
      status: 204,
    })
    expect(await control.call('list_keys', { as: bearer })).toMatchObject({ status: 401 })
    const again = await make(tom)
    expect(await control.call('revoke_token', { as: ada, params: { name: again.id } })).toMatchObject({
      status: 204,
    })
    expect(await control.call('list_keys', { as: again.bearer })).toMatchObject({ status: 401 })
  })

  test('of a tenant’s user sees and does only what is its tenant’s, as does one that an administrator binds', async () => {
    const own = await make(tom, { scope: 'write' })
    const bound = await make(ada, { scope: 'write', tenant: 'acme' })
    for (const { bearer, body } of [own, bound]) {
      expect(body).toMatchObject({ role: 'tenant', tenant: 'acme' })
      expect(await control.call('get_tenant', { as: bearer, params: { name: 'acme' } })).toMatchObject({
        status: 200,
      })
      expect(await control.call('get_tenant', { as: bearer, params: { name: 'other' } })).toMatchObject({
        status: 404,
      })
      expect(await control.call('list_users', { as: bearer })).toMatchObject({ status: 403 })
    }
    const free = await make(ada, { scope: 'write' })
    const elsewhereBound = await make(ada, { tenant: 'other' })
    const seen = await control.call('list_tokens', { as: bound.bearer })
    expect(seen.body.data.map(token => token['id'])).toEqual([bound.id])
    for (const { id } of [free, elsewhereBound, own])
      expect(await control.call('revoke_token', { as: bound.bearer, params: { name: id } })).toMatchObject({
        status: 404,
      })
    expect(await control.call('list_users', { as: free.bearer })).toMatchObject({ status: 200 })
    const elsewhere = await control.call('create_token', { as: tom, body: { name: 'x', tenant: 'other' } })
    expect(elsewhere).toMatchObject({ status: 422, body: { errors: [{ pointer: '/tenant' }] } })
  })

  test('ends with what its user may: disabled, of another role, or a tenant that is gone', async () => {
    await control.addUser('cat', 'admin')
    const cat = await control.logIn('cat')
    const { bearer } = await make(cat, { scope: 'write' })
    const { users } = control.store
    const status = async () => (await control.call('list_users', { as: bearer })).status
    expect(await status()).toBe(200)
    await users.changeUser('cat', { place: { role: 'tenant', tenant: 'acme' } })
    expect(await status()).toBe(401)
    await users.changeUser('cat', { place: { role: 'admin' }, enabled: false })
    expect(await status()).toBe(401)
    await control.call('create_tenant', { as: ada, body: { name: 'brief' } })
    const bound = await make(ada, { tenant: 'brief' })
    await control.call('delete_tenant', { as: ada, params: { name: 'brief' } })
    await control.call('create_tenant', { as: ada, body: { name: 'brief' } })
    expect((await control.call('list_keys', { as: bound.bearer })).status).toBe(401)
  })

  test('that is revoked while a change by it is on its way changes nothing', async () => {
    const { id, bearer } = await make(ada, { scope: 'write' })
    const changing = control.store.withAuthority({ session: keyDigest(bearer.token), role: 'admin' })
    await control.store.users.revokeToken(id)
    await expect(changing.users.setPassword('tom', 'x')).rejects.toMatchObject({ code: 'not_logged_in' })
  })

  test('opens nothing in a cookie, and nothing on the gateway’s paths', async () => {
    const { bearer } = await make(ada)
    const cookie = await control.send('GET', `${API_PREFIX}/users`, {
      headers: { cookie: `gw_session=${bearer.token}` },
    })
    expect(cookie.status).toBe(401)
  })

  test('has a name of its own for each user', async () => {
    await make(ada, { name: 'twice' })
    const again = await control.call('create_token', { as: ada, body: { name: 'twice' } })
    expect(again).toMatchObject({ status: 409, body: { code: 'already_exists' } })
    await make(tom, { name: 'twice' })
  })
})
