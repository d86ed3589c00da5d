import { afterAll, expect, test } from 'vitest'
import { controlScene } from './scene.ts'

const { addUser, call, logIn } = await controlScene(afterAll)
await addUser('ada', 'admin')
const as = await logIn('ada')
const endpoint = {
  name: 'openai/eu',
  protocol: 'openai',
  base_url: 'http://127.0.0.1:9/v1',
  served_model: 'm',
  upstream_key: 'sk-very-secret',
  skip_probe: true,
}
await call('create_endpoint', { as, body: endpoint })
const yaml = 'version: 1\nset: extra\npublications:\n  soon: { status: draft }\n'
await call('apply_config', { as, body: { yaml, base: 2 } })

test('what no file declares becomes a file, with a variable in place of a stored credential', async () => {
  const { body } = await call('export_config', { as })
  expect(body).toMatchObject({ resources: ['endpoint/openai/eu'], variables: ['OPENAI_EU_KEY'] })
  expect(body['yaml']).toContain('env: OPENAI_EU_KEY')
  expect(body['yaml']).not.toContain('very-secret')
  // The file is valid as it is.
  const checked = await call('validate_config', { as, body: { yaml: body['yaml'] } })
  expect(checked.status, JSON.stringify(checked.body)).toBe(200)
})

test('sets are listed with what they own', async () => {
  expect((await call('list_sets', { as })).body).toEqual({
    data: [
      { name: 'default', resources: { tenant: 2 }, files: ['gw.yaml'], updated_revision: 1 },
      { name: 'extra', resources: { publication: 1 }, files: [expect.any(String)], updated_revision: 3 },
    ],
    unmanaged: { endpoint: 1 },
  })
  const { body } = await call('export_config', { as, query: { set: 'extra' } })
  expect(body).toMatchObject({ resources: ['publication/soon'], variables: [] })
})

test('a revision is shown with its changes', async () => {
  const { body } = await call('get_revision', { as, params: { id: '3' } })
  expect(body).toMatchObject({
    id: 3,
    set: 'extra',
    changes: [{ action: 'create', kind: 'publication', name: 'soon' }],
  })
  expect((await call('get_revision', { as, params: { id: '7' } })).status).toBe(404)
})

test('a revision is compared with any other one', async () => {
  const changes = async (id: string, since: string) =>
    (await call('get_revision', { as, params: { id }, query: { since } })).body
  const forward = await changes('3', '1')
  expect(forward).toMatchObject({ id: 3, since: 1 })
  const named = ({ changes: all }: typeof forward) =>
    (all as readonly Record<string, string>[]).map(({ action, kind, name }) => `${action} ${kind} ${name}`)
  expect(named(forward)).toContain('create publication soon')
  expect(named(forward).length).toBeGreaterThan(1)
  // Backwards each is the opposite.
  expect(named(await changes('1', '3'))).toEqual(
    expect.arrayContaining(named(forward).map(line => line.replace('create', 'delete'))),
  )
  const unknown = await call('get_revision', { as, params: { id: '3' }, query: { since: '7' } })
  expect(unknown.status).toBe(404)
})

test('a rollback shows its plan, and is rejected if the store has moved on since', async () => {
  const planned = await call('roll_back', { as, body: { revision: 2, dry_run: true } })
  expect(planned.body).toMatchObject({
    applied: false,
    revision: 3,
    plan: { base: 3, restores: 2, counts: { delete: 1 } },
  })
  await call('create_publication', { as, body: { name: 'other' } })
  const late = await call('roll_back', { as, body: { revision: 2, base: 3 } })
  expect([late.status, late.body.code]).toEqual([412, 'changed_meanwhile'])
  const done = await call('roll_back', { as, body: { revision: 3, base: 4 } })
  expect(done.body).toMatchObject({ applied: true, revision: 5 })
})

test('each stored credential becomes a variable of its own, with a valid name', async () => {
  for (const name of ['openai-eu', '1x']) await call('create_endpoint', { as, body: { ...endpoint, name } })
  const { body } = await call('export_config', { as })
  expect(body['variables']).toEqual(['_1X_KEY', 'OPENAI_EU_KEY', 'OPENAI_EU_KEY_2'])
  for (const name of ['openai-eu', '1x'])
    await call('delete_endpoint', { as, params: { name }, headers: { 'if-match': '*' } })
})

test('many deletes need their number: of files, and of a rollback', async () => {
  const head = async () =>
    Number((await call('list_revisions', { as, query: { limit: '1' } })).body.data[0]?.['id'])
  const many = Array.from({ length: 12 }, (_, at) => `  t${at}: {}`).join('\n')
  const apply = async (text: string, more: object = {}) =>
    call('apply_config', {
      as,
      body: { yaml: `version: 1\nset: many\n${text}`, base: await head(), ...more },
    })
  const before = await head()
  expect((await apply(`tenants:\n${many}`)).status).toBe(200)
  const roll = (more: object = {}) => call('roll_back', { as, body: { revision: before, ...more } })
  for (const rejected of [await apply(''), await apply('', { allow_deletes: 11 }), await roll()])
    expect([rejected.status, rejected.body.code]).toEqual([409, 'too_many_deletes'])
  expect((await roll({ dry_run: true })).status).toBe(200)
  expect((await roll({ allow_deletes: 12 })).status).toBe(200)
})

test.each(['${GW_ADDRESS}', '${GW_ADDRESS:-http://127.0.0.1:9/v1}'])(
  'a document over REST with %s is rejected: variables are only in files',
  async address => {
    const sent = `version: 1\nset: extra\nendpoints:\n  e: { protocol: openai, served_model: m, base_url: "${address}" }\n`
    for (const operation of ['validate_config', 'plan_config'] as const) {
      const { status, body } = await call(operation, { as, body: { yaml: sent } })
      expect(status).toBe(422)
      expect(JSON.stringify(body)).toContain('documents over REST have no variables')
    }
  },
)
