import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { BASIC_SECRETS, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import {
  CHAT,
  COUNT_TOKENS,
  EMBEDDINGS,
  expectAnthropicError,
  expectOpenaiError,
  get,
  MESSAGES,
  post,
  RERANK,
} from './calls.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(
  afterAll,
  `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served-oai, upstream_key: { env: OAI_KEY } }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: served-ant, upstream_key: { env: ANT_KEY } }
  few: { protocol: openai, base_url: "${upstream.url}/v1", served_model: few, paths: [/v1/embeddings, /v1/rerank] }
publications:
  vectors: { bindings: [{ endpoint: few }] }
  chat: { bindings: [{ endpoint: oai }] }
  claude: { bindings: [{ endpoint: ant }] }
tenants:
  gone: { status: banned }
keys:
  admin: { kind: platform }
  gone: { kind: tenant, tenant: gone }
`,
  { secrets: BASIC_SECRETS },
)
afterEach(() => expect(upstream.requests).toEqual([]))

const bearing = (key: string) => ({ authorization: `Bearer ${gateway.secretOf(key)}` })
const invalid = 'invalid_request_error'

describe('the wrong protocol', () => {
  it('is a 404 that names the path that serves the model', async () => {
    for (const path of [CHAT, EMBEDDINGS, RERANK]) {
      await expectOpenaiError(await post(gateway, path, { model: 'claude' }), {
        status: 404,
        type: invalid,
        code: 'wrong_protocol',
        param: 'model',
        message: /`claude` is served at \/v1\/messages/,
      })
    }
    for (const path of [MESSAGES, COUNT_TOKENS]) {
      await expectAnthropicError(await post(gateway, path, { model: 'chat' }), {
        status: 404,
        type: 'not_found_error',
        message: /`chat` is served at \/v1\/chat\/completions/,
      })
    }
  })

  it('names the paths of a model whose endpoints serve few', async () => {
    await expectOpenaiError(await post(gateway, CHAT, { model: 'vectors' }), {
      status: 404,
      type: invalid,
      code: 'wrong_protocol',
      param: 'model',
      message: /`vectors` is served at \/v1\/embeddings and \/v1\/rerank, not at this path/,
    })
    await expectAnthropicError(await post(gateway, MESSAGES, { model: 'vectors' }), {
      status: 404,
      type: 'not_found_error',
      message: /`vectors` is served at \/v1\/embeddings and \/v1\/rerank, not at this path/,
    })
  })
})

describe('unknown paths and methods', () => {
  it.each(['/', '/v1', '/v1/', '/v1/edits', '/v1/chat/completions/', '/V1/models', '/v1/embeddings/x'])(
    'answers 404 in OpenAI’s shape for %s',
    async path => {
      await expectOpenaiError(await post(gateway, path, {}), {
        status: 404,
        type: invalid,
        code: 'unknown_path',
      })
    },
  )

  it.each(['/v1/messages/', '/v1/messages/batches', '/v1/messages/count_tokens/x'])(
    'answers 404 in Anthropic’s shape for %s',
    async path => {
      await expectAnthropicError(await post(gateway, path, {}), { status: 404, type: 'not_found_error' })
    },
  )

  it('answers 405 and says which method the path has', async () => {
    for (const path of [CHAT, EMBEDDINGS, RERANK]) {
      const answer = await get(gateway, path)
      expect(answer.headers.get('allow')).toBe('POST')
      await expectOpenaiError(answer, { status: 405, type: invalid, code: 'method_not_allowed' })
    }
    for (const path of [MESSAGES, COUNT_TOKENS]) {
      const answer = await get(gateway, path)
      expect(answer.headers.get('allow')).toBe('POST')
      await expectAnthropicError(answer, { status: 405, type: invalid })
    }
    for (const path of ['/v1/models', '/v1/models/chat']) {
      const answer = await post(gateway, path, {})
      expect(answer.headers.get('allow')).toBe('GET, HEAD')
      await expectOpenaiError(answer, { status: 405, type: invalid, code: 'method_not_allowed' })
    }
  })
})

describe('the models path', () => {
  const version = { 'anthropic-version': '2023-06-01' }

  it('errs in OpenAI’s shape without anthropic-version, in Anthropic’s with it', async () => {
    const absent = { authorization: '' }
    await expectOpenaiError(await get(gateway, '/v1/models', absent), {
      status: 401,
      type: invalid,
      code: 'invalid_api_key',
    })
    await expectAnthropicError(await get(gateway, '/v1/models', { ...absent, ...version }), {
      status: 401,
      type: 'authentication_error',
    })
    await expectOpenaiError(await get(gateway, '/v1/models/missing'), {
      status: 404,
      type: invalid,
      code: 'model_not_found',
      param: 'model',
    })
    await expectAnthropicError(await get(gateway, '/v1/models/missing', version), {
      status: 404,
      type: 'not_found_error',
    })
    await expectAnthropicError(await post(gateway, '/v1/models', {}, version), { status: 405, type: invalid })
  })

  it('is not the only one: an unknown path errs in the shape of its client, another path in its own', async () => {
    for (const path of ['/v1/v1/messages', '/v1/files', '/messages', '/']) {
      await expectAnthropicError(await get(gateway, path, version), { status: 404, type: 'not_found_error' })
      expect(await (await get(gateway, path)).json()).toHaveProperty('error.code', 'unknown_path')
    }
    const answer = await post(gateway, '/v1/chat/completions', { model: 'missing' }, version)
    await expectOpenaiError(answer, { status: 404, type: invalid, code: 'model_not_found', param: 'model' })
  })

  it('admits no call under maintenance or for a banned tenant', async () => {
    await expectOpenaiError(await get(gateway, '/v1/models', bearing('gone')), {
      status: 403,
      type: 'permission_error',
      code: 'tenant_banned',
    })
  })
})
