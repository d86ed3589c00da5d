import { expect, onTestFinished, test } from 'vitest'
import { canonical } from '../store/samples.ts'
import { controlScene } from './scene.ts'

async function setUp() {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  const as = await scene.logIn('ada')
  const preview = (body: object) => scene.call('preview_change', { as, body })
  return { scene, as, preview }
}

test('a preview has the plan and the blast radius of a change, and changes nothing', async () => {
  const { scene, as, preview } = await setUp()
  await scene.call('create_key', { as, body: { name: 'k', kind: 'platform' } })
  const { revision } = await scene.store.head()
  const { status, body } = await preview({ kind: 'key', name: 'k', patch: { quota: 5 } })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    owner: 'rest',
    plan: {
      base: revision,
      counts: { create: 0, update: 1, delete: 0 },
      changes: [{ action: 'update', kind: 'key', name: 'k', fields: [{ path: 'quota', after: 5 }] }],
      blast_radius: { breaks_keys: 0 },
    },
  })
  expect(body).not.toHaveProperty('patch')
  expect((await scene.store.head()).revision).toBe(revision)
})

test('a new resource, and one that goes away', async () => {
  const { scene, as, preview } = await setUp()
  const made = await preview({ kind: 'tenant', name: 'new', patch: { billing: 'prepaid' } })
  expect(made.body).toMatchObject({ plan: { changes: [{ action: 'create', name: 'new' }] } })
  expect(made.body).not.toHaveProperty('owner')
  await scene.call('create_key', { as, body: { name: 'k', kind: 'tenant', tenant: 'acme' } })
  const gone = await preview({ kind: 'key', name: 'k' })
  expect(gone.body).toMatchObject({ plan: { changes: [{ action: 'delete', name: 'k' }] } })
  expect((await preview({ kind: 'tenant', name: 'acme' })).body.code).toBe('in_use')
  expect((await preview({ kind: 'key', name: 'none' })).body.code).toBe('not_found')
})

test('a new binding is named by its publication and its endpoint', async () => {
  const { scene, as, preview } = await setUp()
  await scene.call('create_publication', { as, body: { name: 'chat' } })
  const endpoint = { name: 'up', protocol: 'openai', base_url: 'http://127.0.0.1:9/v1', served_model: 'm' }
  await scene.call('create_endpoint', { as, body: endpoint })
  const { status, body } = await preview({ kind: 'binding', name: 'chat up', patch: { weight: 2 } })
  expect(status, JSON.stringify(body)).toBe(200)
  expect(body).toMatchObject({ plan: { changes: [{ action: 'create', kind: 'binding', name: 'chat up' }] } })
})

test('invalid fields are those of the resource', async () => {
  const { preview } = await setUp()
  const { status, body } = await preview({ kind: 'key', name: 'k', patch: { kind: 'platform', quota: -1 } })
  expect([status, body.code]).toEqual([422, 'invalid_request'])
  expect(body.errors[0]?.pointer).toBe('/quota')
})

test('for what files own there is a diff of the resource, if the file is elsewhere', async () => {
  const { scene, preview } = await setUp()
  const place = { file: 'conf/tenants.yaml', line: 7 }
  const { revision } = await scene.store.head()
  await scene.store.commit({
    base: revision,
    origin: 'apply',
    gitCommit: `${'c'.repeat(40)}-dirty`,
    counts: { create: 1, update: 0, delete: 0, unchanged: 0 },
    puts: [{ kind: 'tenant', name: 'ours', spec: canonical('tenant', {}), owner: 'config', set: 's', place }],
    deletes: [],
  })
  const { body } = await preview({ kind: 'tenant', name: 'ours', patch: { billing: 'prepaid' } })
  expect(body).toMatchObject({
    owner: 'config',
    set: 's',
    file: 'conf/tenants.yaml',
    line: 7,
    git_commit: 'c'.repeat(40),
    patches_file: false,
  })
  expect(body['patch']).toContain('--- a/conf/tenants.yaml')
  expect(body['patch']).toContain('+    billing: prepaid')
})
