import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { controlScene, type LoggedIn } from './scene.ts'

const control = await controlScene(afterAll)
const SECRET = 'sk-canary-0123456789abcdef'
const A = 'https://a.example.com/v1'
const B = 'https://b.example.com/v1'

let as: LoggedIn
let made = 0
let name = ''

beforeAll(async () => {
  await control.addUser('ada', 'admin')
  as = await control.logIn('ada')
})

beforeEach(async () => {
  name = `e${++made}`
  const body = {
    name,
    protocol: 'openai',
    base_url: A,
    served_model: 'm',
    skip_probe: true,
    upstream_key: SECRET,
  }
  expect(await control.call('create_endpoint', { as, body })).toMatchObject({ status: 201 })
})

const get = () => control.call('get_endpoint', { as, params: { name } })
async function patch(body: unknown) {
  const headers = { 'if-match': (await get()).headers.get('etag') ?? '' }
  return control.call('update_endpoint', { as, params: { name }, headers, body })
}
const kept = async () => (await control.store.kept()).filter(({ boundTo }) => boundTo.includes(`/${name} `))
const known = { stored: true, since: '2026-01-15T12:00:00.000Z' }

test('paths of another protocol are rejected at their place, by creation and by change', async () => {
  const base = { name: `${name}-p`, protocol: 'openai', base_url: A, served_model: 'm', skip_probe: true }
  const created = await control.call('create_endpoint', { as, body: { ...base, paths: ['/v1/messages'] } })
  expect(created).toMatchObject({ status: 422, body: { errors: [{ pointer: '/paths/0' }] } })
  expect(await patch({ paths: ['/v1/embeddings'] })).toMatchObject({ status: 200 })
  expect((await get()).body).toMatchObject({ paths: ['/v1/embeddings'] })
  expect(await patch({ protocol: 'anthropic' })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/paths/0' }] },
  })
})

describe('a credential that is given over REST', () => {
  test('is shown as being there, and since when, and never itself', async () => {
    expect((await get()).body).toMatchObject({ upstream_key: known, owner: 'rest' })
    const list = await control.call('list_endpoints', { as, query: { limit: '500' } })
    const all = await control.call('list_audit', { as, query: { limit: '500' } })
    expect(list.body.data.find(each => each.name === name)).toMatchObject({ upstream_key: known })
    for (const shown of [list.body, all.body, control.log, await control.store.live()])
      expect(JSON.stringify(shown)).not.toContain(SECRET)
  })

  test('is nowhere in the store', async () => {
    const contents = await control.contents()
    expect(contents).toContain(name)
    expect(contents).not.toContain(SECRET.slice(3))
  })

  test('is rejected in a header, where it would be shown: by creation and by change, without a word of it', async () => {
    const body = { name: `${name}-h`, protocol: 'openai', base_url: A, served_model: 'm', skip_probe: true }
    const headers = { 'x-team': 'blue', 'api-key': 'canary-plain-key-of-the-vendor' }
    for (const rejected of [
      await control.call('create_endpoint', { as, body: { ...body, headers } }),
      await patch({ headers }),
    ]) {
      expect(rejected).toMatchObject({
        status: 422,
        body: { errors: [expect.objectContaining({ pointer: '/headers/api-key' })] },
      })
      expect(JSON.stringify(rejected.body)).not.toContain('canary')
    }
    expect(await patch({ headers: { 'x-team': 'blue' } })).toMatchObject({ status: 200 })
  })

  test('is another one with each giving, as a revision of its own', async () => {
    const [before] = await kept()
    control.clock.advance(1_000)
    const changed = await patch({ upstream_key: 'sk-another' })
    expect(changed).toMatchObject({
      status: 200,
      body: { upstream_key: { since: '2026-01-15T12:00:01.000Z' } },
    })
    const [after, ...others] = await kept()
    expect(others).toEqual([])
    expect(after?.id).not.toBe(before?.id)
    control.clock.advance(-1_000)
  })

  test('stays through a change of anything else, and of the path', async () => {
    const before = await kept()
    expect(await patch({ display_name: 'x', base_url: `${A}/openai` })).toMatchObject({
      status: 200,
      body: { upstream_key: known },
    })
    expect(await kept()).toEqual(before)
  })

  test.each([
    ['another host', B],
    ['another port', 'https://a.example.com:8443/v1'],
    ['plain http', 'http://a.example.com/v1'],
  ])('is asked for again with %s', async (_, base_url) => {
    const rejected = await patch({ base_url })
    expect(rejected).toMatchObject({
      status: 422,
      body: { code: 'invalid_request', errors: [{ pointer: '/upstream_key' }] },
    })
    expect((await get()).body).toMatchObject({ base_url: A })
    expect(await patch({ base_url, upstream_key: 'sk-for-there' })).toMatchObject({ status: 200 })
  })

  test('is asked for again with nodes in place of an address, and with other nodes', async () => {
    const on = (...names: string[]) => ({ base_url: null, nodes: { names, engine: 'vllm' } })
    const asksAgain = { status: 422, body: { errors: [{ pointer: '/upstream_key' }] } }
    expect(await patch(on('gpu-1'))).toMatchObject(asksAgain)
    expect(await patch({ ...on('gpu-1'), upstream_key: 'sk-for-there' })).toMatchObject({ status: 200 })
    expect(await patch({ nodes: { names: ['gpu-1', 'mine'], engine: 'vllm' } })).toMatchObject(asksAgain)
    expect(await patch({ served_model: 'other' })).toMatchObject({ status: 200 })
  })

  test('is taken away by null, with its bytes, and then nothing is asked for', async () => {
    expect((await patch({ upstream_key: null })).body).not.toHaveProperty('upstream_key')
    expect(await kept()).toEqual([])
    expect((await patch({ base_url: B })).status).toBe(200)
  })

  test('goes with its endpoint', async () => {
    const gone = await control.call('delete_endpoint', { as, params: { name } })
    expect(gone.status).toBe(200)
    expect(await kept()).toEqual([])
    const revision = gone.body.revision - 1
    const back = await control.call('roll_back', { as, body: { revision } })
    expect(back).toMatchObject({
      status: 422,
      body: { code: 'not_servable', detail: expect.stringContaining(name) },
    })
  })

  test('is used for the probe that comes before', async () => {
    await patch({ skip_probe: false, upstream_key: 'sk-asked-with' })
    expect(control.probed.at(-1)?.endpoint.spec['upstream_key']).toHaveProperty('stored')
    expect(JSON.stringify(control.probed)).not.toContain('sk-asked-with')
  })

  test.each([
    ['a reference', { env: 'HOME' }],
    ['a file', { file: '/etc/shadow' }],
    ['what the store says', { stored: '0123456789abcdef01234567' }],
    ['nothing', ''],
    ['a line break', 'sk-a\r\nx-evil: 1'],
    ['a number', 7],
  ])('is none where it is %s', async (_, upstream_key) => {
    const rejected = await patch({ upstream_key })
    expect(rejected).toMatchObject({ status: 422, body: { errors: [{ pointer: '/upstream_key' }] } })
    expect(JSON.stringify(rejected.body)).not.toMatch(/x-evil|shadow/)
  })

  test('cannot be referred to by a document', async () => {
    const [{ id } = { id: '' }] = await kept()
    const yaml = `version: 1\nendpoints:\n  x: { protocol: openai, base_url: "${B}", served_model: m, upstream_key: { stored: "${id}" } }\n`
    const rejected = await control.call('validate_config', { as, body: { yaml } })
    expect(rejected).toMatchObject({ status: 422, body: { code: 'configuration_invalid' } })
  })
})
