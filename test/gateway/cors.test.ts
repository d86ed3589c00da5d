import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'

const APP = 'https://app.example.com'
const OTHER = 'https://evil.example.com'
const upstream = await scriptedUpstream(afterAll)
const yaml = (cors: string) => `
version: 1
settings: { ${cors} }
endpoints: { main: { protocol: openai, base_url: "${upstream.url}/v1", served_model: s } }
publications: { chat: { bindings: [{ endpoint: main }] } }
keys: { app: { kind: platform, limits: { rpm: 100 } } }
`
const ON = yaml(`cors: { origins: ["${APP}"] }`)
const gateway = await testGateway(afterAll, ON)

beforeEach(async () => {
  await gateway.reload(ON)
  upstream.forget()
  upstream.answer(json('{"model":"s"}', { headers: { vary: 'Accept', 'access-control-allow-origin': '*' } }))
})

function call(origin: string | undefined, more: { stream?: boolean; key?: string } = {}) {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${more.key ?? gateway.secretOf('app')}`,
      ...(origin !== undefined && { origin }),
    },
    body: JSON.stringify({ model: 'chat', messages: [], stream: more.stream ?? false }),
  })
}

function preflight(origin: string, path = '/v1/chat/completions') {
  return fetch(gateway.url + path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-os',
    },
  })
}

const allowed = (answer: Response) => answer.headers.get('access-control-allow-origin')

describe('a browser application of an origin in the settings', () => {
  it('is answered its preflight without a key: the method, the headers it asks for, and no credentials', async () => {
    const answer = await preflight(APP)
    expect(answer.status).toBe(204)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      'access-control-max-age': '600',
    })
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false)
    expect((await preflight(APP, '/v1/models')).headers.get('access-control-allow-methods')).toBe('GET, HEAD')
    expect(upstream.requests).toHaveLength(0)
  })

  it('reads the answer, its request id and its rates; the upstream sees no origin and says nothing of it', async () => {
    const answer = await call(APP)
    expect(answer.status).toBe(200)
    expect(allowed(answer)).toBe(APP)
    expect(answer.headers.get('vary')).toBe('Accept, Origin')
    const exposed = answer.headers.get('access-control-expose-headers')?.split(', ') ?? []
    const ours = ['x-request-id', 'x-gw-endpoint', 'x-ratelimit-remaining-requests']
    expect(exposed).toEqual(
      expect.arrayContaining([...ours, 'retry-after', 'anthropic-ratelimit-tokens-reset']),
    )
    for (const name of ours) expect(answer.headers.get(name), name).not.toBeNull()
    expect(upstream.lastRequest.header('origin')).toBeUndefined()
  })

  it('reads streams, lists and errors as well, a 401 among them', async () => {
    upstream.answer(sse(['data: {"model":"s","choices":[]}\n\n', 'data: [DONE]\n\n']))
    const streamed = await call(APP, { stream: true })
    expect([allowed(streamed), (await streamed.text()).includes('[DONE]')]).toEqual([APP, true])
    const rejected = await call(APP, { key: 'sk-not-ours' })
    expect([allowed(rejected), rejected.status]).toEqual([APP, 401])
    const headers = { authorization: `Bearer ${gateway.secretOf('app')}`, origin: APP }
    const listed = await fetch(`${gateway.url}/v1/models`, { headers })
    expect([allowed(listed), listed.status]).toEqual([APP, 200])
  })
})

describe('a page of any other origin', () => {
  it.each([
    OTHER,
    'https://app.example.com:8443',
    'http://app.example.com',
    'https://app.example.com.evil',
    'null',
  ])('gets no permission: %s', async origin => {
    const answer = await preflight(origin)
    expect([answer.status, allowed(answer)]).toEqual([204, null])
    expect(allowed(await call(origin))).toBeNull()
  })
})

describe('without the setting', () => {
  it('there is no CORS at all, not even the upstream’s, and a change of it is served without a restart', async () => {
    await gateway.reload(yaml(''))
    expect((await preflight(APP)).status).toBe(405)
    const answer = await call(APP)
    expect([...answer.headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
    expect(answer.headers.get('vary')).toBe('Accept')
    await gateway.reload(ON)
    expect(allowed(await call(APP))).toBe(APP)
  })
})
