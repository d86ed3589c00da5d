import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { BASIC_SECRETS, testGateway } from '../support/gateway.ts'
import { expectAnthropicError, expectOpenaiError, get } from './calls.ts'
import { rawClient } from './raw-client.ts'

const gateway = await testGateway(
  afterAll,
  `
version: 1
publications:
  alpha: { display_name: "The first", owned_by: us }
  beta/one: {}
  beta/two:latest: {}
  "100%": {}
  "100%25": {}
  ünï/😀: {}
  draft: { status: draft }
  unlisted: { status: unlisted }
  banned: { status: banned }
tenants:
  open: {}
  some: { models: [alpha, "beta/*"], banned_models: ["*:latest"] }
keys:
  admin: { kind: platform }
  beta: { kind: platform, models: ["beta/*"] }
  nothing: { kind: platform, models: [absent] }
  open: { kind: tenant, tenant: open }
  some: { kind: tenant, tenant: some }
  some-less: { kind: tenant, tenant: some, models: ["*a", "b???/two*"] }
`,
  { secrets: BASIC_SECRETS },
)

interface Page {
  readonly data: readonly { readonly id: string }[]
  readonly has_more: boolean
  readonly first_id: string | null
  readonly last_id: string | null
}

const ALL = ['alpha', 'beta/one', 'beta/two:latest', '100%', '100%25', 'ünï/😀']

async function list(query = '', key = 'admin'): Promise<Page & { readonly ids: string[] }> {
  const answer = await get(gateway, `/v1/models${query}`, {
    authorization: `Bearer ${gateway.secretOf(key)}`,
  })
  expect(answer.status).toBe(200)
  const page = (await answer.json()) as Page
  return { ...page, ids: page.data.map(({ id }) => id) }
}

describe('the list of models', () => {
  it('has every listed one once, in one shape that both SDKs read', async () => {
    const answer = await get(gateway, '/v1/models')
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('x-gw-revision')).toBe('1')
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    const page = (await answer.json()) as Page
    expect(page.data.map(({ id }) => id).sort()).toEqual([...ALL].sort())
    expect(page).toEqual({
      object: 'list',
      data: expect.any(Array),
      has_more: false,
      first_id: page.data[0]?.id,
      last_id: page.data.at(-1)?.id,
    })
    expect(page.data.find(({ id }) => id === 'alpha')).toEqual({
      id: 'alpha',
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'us',
      type: 'model',
      display_name: 'The first',
      created_at: '2023-11-14T22:13:20.000Z',
    })
    expect(page.data.find(({ id }) => id === 'beta/one')).toMatchObject({
      display_name: 'beta/one',
      owned_by: 'gw',
    })
  })

  it('bears request-id for a client that says anthropic-version', async () => {
    const answer = await get(gateway, '/v1/models', { 'anthropic-version': '2023-06-01' })
    expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'))
  })

  it.each([
    ['admin', ALL],
    ['open', ALL],
    ['beta', ['beta/one', 'beta/two:latest']],
    ['some', ['alpha', 'beta/one']],
    ['some-less', ['alpha']],
    ['nothing', []],
  ])('shows %s exactly what it may call', async (key, expected) => {
    const { ids } = await list('', key)
    expect(ids.sort()).toEqual([...expected].sort())
  })

  it('is empty rather than missing where there is nothing to see', async () => {
    expect(await list('?limit=5', 'nothing')).toMatchObject({
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    })
  })
})

describe('paging', () => {
  it('walks forward over every model once, whatever the size of a page', async () => {
    const { ids } = await list()
    for (let limit = 1; limit <= ids.length + 1; limit++) {
      const seen: string[] = []
      let page = await list(`?limit=${limit}`)
      for (;;) {
        expect(page.first_id).toBe(page.ids[0])
        expect(page.last_id).toBe(page.ids.at(-1))
        seen.push(...page.ids)
        if (!page.has_more) break
        page = await list(`?limit=${limit}&after_id=${encodeURIComponent(page.last_id ?? '')}`)
      }
      expect(seen).toEqual(ids)
    }
  })

  it('walks backward, a page at a time, each in the order of the list', async () => {
    const { ids } = await list()
    const seen: string[] = []
    let before = ids.at(-1) ?? ''
    for (;;) {
      const page = await list(`?before_id=${encodeURIComponent(before)}&limit=2`)
      seen.unshift(...page.ids)
      if (!page.has_more) break
      before = page.first_id ?? ''
    }
    expect(seen).toEqual(ids.slice(0, -1))
  })

  it('has nothing behind the last and nothing before the first', async () => {
    const { ids } = await list()
    expect(await list(`?after_id=${encodeURIComponent(ids.at(-1) ?? '')}`)).toMatchObject({
      data: [],
      has_more: false,
    })
    expect(await list(`?before_id=${encodeURIComponent(ids[0] ?? '')}`)).toMatchObject({
      data: [],
      has_more: false,
    })
  })

  it('takes limit=1000, as Claude Code asks, and passes over what it does not know', async () => {
    expect((await list('?limit=1000&beta=true&limit_to=3')).ids).toHaveLength(ALL.length)
  })

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=1001'],
    ['limit', 'limit=-1'],
    ['limit', 'limit=1.5'],
    ['limit', 'limit=0x10'],
    ['limit', 'limit='],
    ['limit', 'limit=99999999999999999999'],
    ['after_id', 'after_id=absent'],
    ['after_id', 'after_id=draft'],
    ['before_id', 'before_id='],
  ])('rejects a %s such as %s', async (param, query) => {
    await expectOpenaiError(await get(gateway, `/v1/models?${query}`), {
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_parameter',
      param,
    })
    await expectAnthropicError(await get(gateway, `/v1/models?${query}`, { 'anthropic-version': '1' }), {
      status: 400,
      type: 'invalid_request_error',
    })
  })
})

describe('one model', () => {
  const show = async (path: string) => {
    const client = await rawClient(onTestFinished, gateway.url)
    await client.write(
      `GET /v1/models/${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.secretOf('admin')}\r\n\r\n`,
    )
    return client.answer()
  }

  it.each([
    ['alpha', 'alpha'],
    ['alpha?x=1', 'alpha'],
    ['beta/one', 'beta/one'],
    ['beta%2Fone', 'beta/one'],
    ['beta%2ftwo%3Alatest', 'beta/two:latest'],
    ['beta/two:latest', 'beta/two:latest'],
    ['100%', '100%'],
    ['100%25', '100%25'],
    ['100%2525', '100%25'],
    [encodeURIComponent('ünï/😀'), 'ünï/😀'],
  ])('is found as %s', async (path, id) => {
    const answer = await show(path)
    expect(answer.status).toBe(200)
    expect(answer.json()).toMatchObject({ id, object: 'model', type: 'model' })
  })

  it.each(['draft', 'unlisted', 'banned', 'absent', 'alpha/', 'ALPHA', 'beta%252Fone', '%ff', '..%2Fmodels'])(
    'is not found as %s',
    async path => {
      const answer = await show(path)
      expect(answer.status).toBe(404)
      expect(answer.json()).toMatchObject({ error: { code: 'model_not_found', param: 'model' } })
    },
  )

  it('is not found by a key that may not call it', async () => {
    const answer = await get(gateway, '/v1/models/alpha', {
      authorization: `Bearer ${gateway.secretOf('beta')}`,
    })
    expect(answer.status).toBe(404)
  })
})
