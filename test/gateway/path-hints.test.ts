import { afterAll, expect, it, onTestFinished } from 'vitest'
import { testGateway } from '../support/gateway.ts'
import { type RawAnswer, rawClient } from './raw-client.ts'

const gateway = await testGateway(
  afterAll,
  `
version: 1
endpoints: { main: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: s } }
publications: { chat: { bindings: [{ endpoint: main }] } }
keys: { app: { kind: platform } }
`,
)

async function ask(method: string, path: string, key = gateway.secretOf('app')) {
  const client = await rawClient(onTestFinished, gateway.url)
  const bearing = key === '' ? '' : `authorization: Bearer ${key}\r\n`
  await client.write(`${method} ${path} HTTP/1.1\r\nhost: gw\r\n${bearing}connection: close\r\n\r\n`)
  return client.answer()
}

const messageOf = (answer: RawAnswer) => (answer.json() as { error: { message: string } }).error.message

it.each([
  ['//v1/models', 400, 'Call `/v1/models`: end the base URL of the client without a slash.'],
  ['/v1//models', 404, 'Call `/v1/models`: end the base URL of the client without a slash.'],
  ['/v1/models/', 404, 'Call `/v1/models`: leave out the slash at the end.'],
  ['/v1/chat/completions/', 404, 'Call `/v1/chat/completions`: leave out the slash at the end.'],
  [
    '/v1/v1/messages',
    404,
    'Call `/v1/messages`: the client adds `/v1` by itself: end its base URL before that.',
  ],
  ['/chat/completions', 404, 'Call `/v1/chat/completions`: end the base URL of the client in `/v1`.'],
  [
    '/openai/deployments/canary/chat/completions',
    404,
    'Call `/v1/chat/completions`: the client is one for Azure: take OpenAI’s own, which names the model in the body.',
  ],
  ['/v1/deployments/canary/embeddings', 404, 'Call `/v1/embeddings`: the client is one for Azure'],
  ['/openai/v1/responses', 404, 'Call `/v1/responses`: leave out the name of the vendor.'],
  ['/anthropic/v1/messages', 404, 'Call `/v1/messages`: leave out the name of the vendor.'],
  [
    '/openai/chat/completions',
    404,
    'Call `/v1/chat/completions`: leave out the name of the vendor; end the base URL of the client in `/v1`.',
  ],
  ['/v2/rerank', 404, 'Call `/v1/rerank`: the gateway has version 1 of Cohere’s API: take `cohere.Client`.'],
  ['/responses/resp_1', 404, 'Call `/v1/responses/{id}`: end the base URL of the client in `/v1`.'],
  ['/models/gpt-canary', 404, 'Call `/v1/models/{id}`: end the base URL of the client in `/v1`.'],
])('%s: %i, with the path to call and what to change', async (path, status, hint) => {
  const answer = await ask('GET', path)
  expect(answer.status).toBe(status)
  const message = messageOf(answer)
  expect(message).toMatch(/\. Call `/)
  expect(message).toContain(hint)
  expect(message).not.toContain('canary')
})

it('says nothing more of a path that resembles none', async () => {
  expect(messageOf(await ask('GET', '/v1/nothing'))).toBe('The gateway does not serve this path.')
})

it.each(['/v1/models', '/v1/models/chat', '/health'])(
  'HEAD %s is answered as GET is, without a body',
  async path => {
    const [head, get] = [await ask('HEAD', path), await ask('GET', path)]
    expect([head.status, get.status]).toEqual([200, 200])
    expect(head.body.length).toBe(0)
    expect(get.body.length).toBeGreaterThan(0)
  },
)

it('HEAD is no method of a path that is only posted to', async () => {
  expect(await ask('HEAD', '/v1/chat/completions')).toMatchObject({ status: 405 })
})

it('a request without any key learns how to send one; a wrong one learns nothing more', async () => {
  const missing = await ask('GET', '/v1/models', '')
  expect([missing.status, messageOf(missing)]).toEqual([
    401,
    'No API key: send `Authorization: Bearer` and the key, or the key as `x-api-key`.',
  ])
  const wrong = await ask('GET', '/v1/models', 'sk-wrong')
  expect(messageOf(wrong)).toBe('Incorrect API key provided.')
})

it.each(['/v1/files', '/v1/files/file_1/content', '/v1/batches', '/v1/realtime', '/v1/messages/batches'])(
  '%s is not served, and the error says what is',
  async path => {
    const message = JSON.stringify((await ask('POST', path)).json())
    expect(message).toContain('Realtime sessions, files and batches are not served')
    expect(message).toContain('`/v1/chat/completions`, `/v1/completions`, `/v1/responses`')
  },
)
