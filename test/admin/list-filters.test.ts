import { afterAll, expect, test } from 'vitest'
import { controlScene } from './scene.ts'

const { addUser, call, logIn, clock } = await controlScene(afterAll)
await addUser('ada', 'admin')
const as = await logIn('ada')
const key = (name: string, more: object = {}) =>
  call('create_key', { as, body: { name, kind: 'tenant', tenant: 'acme', ...more } })
await key('app-blue', { display_name: 'The Shop' })
await key('app-red', { expires_at: new Date(clock.nowMs() + 3_600_000).toISOString() })
await key('batch')
await call('issue_key', { as, params: { name: 'batch' } })
await call('create_publication', { as, body: { name: 'GPT-5' } })
const yaml = 'version: 1\nset: extra\npublications:\n  gpt-4: { status: draft }\n'
const head = await call('list_revisions', { as, query: { limit: '1' } })
await call('apply_config', { as, body: { yaml, base: head.body.data[0]?.['id'] } })

test.each([
  ['list_keys', { q: 'APP' }, ['app-blue', 'app-red']],
  ['list_keys', { q: 'shop' }, ['app-blue']],
  ['list_keys', { q: '%' }, []],
  ['list_keys', { state: 'active' }, ['batch']],
  ['list_keys', { state: 'no_secret', q: 'red' }, ['app-red']],
  ['list_keys', { expiring: '2h' }, ['app-red']],
  ['list_keys', { expiring: '30m' }, []],
  ['list_keys', { q: 'app', limit: '1' }, ['app-blue']],
  ['list_publications', { q: 'gpt' }, ['GPT-5', 'gpt-4']],
  ['list_publications', { owner: 'rest' }, ['GPT-5']],
  ['list_publications', { set: 'extra' }, ['gpt-4']],
  ['list_tenants', { q: 'ACM' }, ['acme']],
  ['list_endpoints', { q: 'x' }, []],
] as const)('%s with %o', async (id, query, names) => {
  const { status, body } = await call(id, { as, query })
  expect([status, body.data?.map(({ name }) => name)], JSON.stringify(body)).toEqual([200, names])
})

test.each(['get_usage', 'list_calls', 'list_rejections'] as const)(
  '%s rejects a range that ends before it begins',
  async id => {
    const query = { since: '2026-11-02T00:00:00Z', until: '2026-11-01T00:00:00Z' }
    const { status, body } = await call(id, { as, query })
    expect([status, body]).toMatchObject([
      422,
      { errors: [{ parameter: 'since', detail: expect.stringContaining('until') }] },
    ])
    expect((await call(id, { as, query: { ...query, until: query.since } })).status).toBe(200)
  },
)

test('a filtered list goes on behind its first page', async () => {
  const first = await call('list_keys', { as, query: { q: 'app', limit: '1' } })
  const second = await call('list_keys', { as, query: { q: 'app', cursor: first.body.next_cursor ?? '' } })
  expect(second.body.data.map(({ name }) => name)).toEqual(['app-red'])
})
