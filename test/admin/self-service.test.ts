import { afterAll, expect, test } from 'vitest'
import { controlScene } from './scene.ts'

const { addUser, call, logIn } = await controlScene(afterAll)
await addUser('ada', 'admin')
const ada = await logIn('ada')
await call('create_tenant', {
  as: ada,
  body: {
    name: 'blue',
    models: ['chat', 'open/*'],
    self_service: { max_keys: 2, limits: { rpm: 60, concurrency: 4 } },
  },
})
await call('create_tenant', { as: ada, body: { name: 'red' } })
await call('create_key', { as: ada, body: { name: 'blue-app', kind: 'tenant', tenant: 'blue' } })
await call('create_tenant', { as: ada, body: { name: 'green', self_service: { max_keys: 9 } } })
await addUser('tom', 'tenant', 'blue')
await addUser('gina', 'tenant', 'green')
await addUser('rita', 'tenant', 'red')
const [tom, rita, gina] = [await logIn('tom'), await logIn('rita'), await logIn('gina')]
const own = { kind: 'tenant', tenant: 'blue' }

test('without self_service the users of a tenant create no keys', async () => {
  const body = { name: 'red/app', kind: 'tenant', tenant: 'red' }
  const { status, body: problem } = await call('create_key', { as: rita, body })
  expect([status, problem.code]).toEqual([403, 'forbidden'])
})

test.each([
  ['another name', { ...own, name: 'app' }, '/name'],
  ['the prefix alone', { ...own, name: 'blue/' }, '/name'],
  ['a name of the tenant blue/eu', { ...own, name: 'blue/eu/app' }, '/name'],
  ['another tenant', { name: 'blue/a', kind: 'tenant', tenant: 'red' }, '/tenant'],
  ['a platform key', { name: 'blue/a', kind: 'platform' }, '/kind'],
  ['a hash', { ...own, name: 'blue/a', hash: `sha256:${'0'.repeat(64)}` }, '/hash'],
  ['a foreign model', { ...own, name: 'blue/a', models: ['chat', 'secret'] }, '/models/1'],
  ['a wider pattern', { ...own, name: 'blue/a', models: ['o*'] }, '/models/0'],
  ['a higher rate', { ...own, name: 'blue/a', limits: { rpm: 61 } }, '/limits/rpm'],
  ['a larger burst', { ...own, name: 'blue/a', limits: { rpm: { limit: 9, burst: 90 } } }, '/limits/rpm'],
  ['a shadow', { ...own, name: 'blue/a', limits: { rpm: { limit: 9, mode: 'shadow' } } }, '/limits/rpm'],
  ['more at a time', { ...own, name: 'blue/a', limits: { concurrency: 5 } }, '/limits/concurrency'],
])('%s is out of bounds', async (_, body, pointer) => {
  const { status, body: problem } = await call('create_key', { as: tom, body })
  expect(status).toBe(422)
  expect(problem.errors.map(error => error['pointer'])).toEqual(
    pointer === '/kind' ? ['/kind', '/tenant'] : [pointer],
  )
})

test('a key within the bounds gets their limits, and as many exist as the bounds allow', async () => {
  const made = await call('create_key', { as: tom, body: { ...own, name: 'blue/a', limits: { rpm: 10 } } })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  expect(made.body).toMatchObject({ tenant: 'blue', models: ['*'], limits: { rpm: 10, concurrency: 4 } })
  const models = ['open/*', 'chat', 'open/small']
  // Two at once for the one place that is left: one of them is made.
  const both = await Promise.all(
    ['blue/b', 'blue/c'].map(name => call('create_key', { as: tom, body: { ...own, name, models } })),
  )
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409])
  expect(both.find(({ status }) => status === 409)?.body.code).toBe('too_many_keys')
})

test('a tenant deletes the keys that it could have created, and no others', async () => {
  const deleted = (name: string) => call('delete_key', { as: tom, params: { name } })
  expect((await deleted('blue-app')).body.code).toBe('forbidden')
  expect((await deleted('blue/a')).status).toBe(200)
  const again = await call('create_key', { as: tom, body: { ...own, name: 'blue/d' } })
  expect(again.status).toBe(201)
})

test.each([
  ['disabled', { call: 'disable_key' }],
  ['changed by the operator', { call: 'update_key', body: { budget: { amount: '1', per: 'day' } } }],
] as const)('a tenant does not undo by a new key that its key was %s', async (reason, by) => {
  const name = `green/${by.call}`
  const made = await call('create_key', { as: gina, body: { name, kind: 'tenant', tenant: 'green' } })
  expect(made.status).toBe(201)
  const headers = { 'if-match': made.headers.get('etag') ?? '' }
  const change = 'body' in by ? { body: by.body, headers } : {}
  const done = await call(by.call, { as: ada, params: { name }, ...change })
  expect(done.status, JSON.stringify(done.body)).toBe(200)
  const { status, body } = await call('delete_key', { as: gina, params: { name } })
  expect([status, body.code]).toEqual([403, 'forbidden'])
  expect(body.detail).toContain(reason)
  expect((await call('delete_key', { as: ada, params: { name } })).status).toBe(200)
})

test('a key that has followed its tenant to a new name is still deleted by the users of the tenant', async () => {
  const apply = async (tenant: string) => {
    const yaml = `version: 1\nset: brown\ntenants: { ${tenant}, self_service: { max_keys: 9 } } }\n`
    const head = await call('list_revisions', { as: ada, query: { limit: '1' } })
    return call('apply_config', { as: ada, body: { yaml, base: head.body.data[0]?.['id'] } })
  }
  expect((await apply('brown: { models: [chat]')).body).toMatchObject({ revision: expect.any(Number) })
  await addUser('bob', 'tenant', 'brown')
  const bob = await logIn('bob')
  const create = (name: string) =>
    call('create_key', { as: bob, body: { name, kind: 'tenant', tenant: 'brown' } })
  expect((await create('brown/a')).status).toBe(201)
  const changed = await create('brown/b')
  const headers = { 'if-match': changed.headers.get('etag') ?? '' }
  const budget = { amount: '1', per: 'day' }
  const update = { as: ada, params: { name: 'brown/b' }, headers, body: { budget } }
  expect((await call('update_key', update)).status).toBe(200)
  const renamed = await apply('umber: { previous_name: brown, models: [chat]')
  expect(renamed.status, JSON.stringify(renamed.body)).toBe(200)
  expect((await call('delete_key', { as: bob, params: { name: 'umber/b' } })).status).toBe(403)
  expect((await call('delete_key', { as: bob, params: { name: 'umber/a' } })).status).toBe(200)
})
