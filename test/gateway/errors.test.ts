import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import {
  CHAT,
  COUNT_TOKENS,
  EMBEDDINGS,
  expectAnthropicError,
  expectOpenaiError,
  get,
  loggedFor,
  MESSAGES,
  post,
  RERANK,
} from './calls.ts'

const upstream = await scriptedUpstream(afterAll)
const CONFIG = `
version: 1
settings: { limits: { body: 2KiB } }
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served-oai, upstream_key: { env: OAI_KEY } }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: served-ant, upstream_key: { env: ANT_KEY } }
  off-oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: x, enabled: false }
  off-ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: x, enabled: false }
publications:
  chat: { bindings: [{ endpoint: oai }] }
  claude: { bindings: [{ endpoint: ant }] }
  both: { bindings: [{ endpoint: oai }, { endpoint: ant }] }
  draft: { status: draft, bindings: [{ endpoint: oai }, { endpoint: ant }] }
  unlisted: { status: unlisted, bindings: [{ endpoint: oai }, { endpoint: ant }] }
  banned: { status: banned, bindings: [{ endpoint: oai }, { endpoint: ant }] }
  forbidden: { bindings: [{ endpoint: oai }, { endpoint: ant }] }
  nowhere: {}
  off: { bindings: [{ endpoint: off-oai }, { endpoint: off-ant }] }
  weightless: { bindings: [{ endpoint: oai, weight: 0 }, { endpoint: ant, weight: 0 }] }
tenants:
  acme: { banned_models: [forb*] }
  narrow: { models: [chat] }
  asleep: { status: disabled }
  gone: { status: banned }
keys:
  admin: { kind: platform }
  narrow: { kind: platform, models: [chat] }
  acme: { kind: tenant, tenant: acme }
  narrow-tenant: { kind: tenant, tenant: narrow }
  asleep: { kind: tenant, tenant: asleep }
  gone: { kind: tenant, tenant: gone }
`
const gateway = await testGateway(afterAll, CONFIG, { secrets: BASIC_SECRETS })
afterEach(() => expect(upstream.requests).toEqual([]))

const bearing = (key: string) => ({ authorization: `Bearer ${gateway.secretOf(key)}` })

interface Case {
  readonly title: string
  readonly body: string | Uint8Array | object
  readonly headers?: Record<string, string>
  readonly status: number
  readonly openai: readonly [type: string, code: string, param?: string]
  readonly anthropic: string
  readonly message?: RegExp
}

const invalid = 'invalid_request_error'
const CASES: readonly Case[] = [
  { title: 'no JSON', body: 'hello', status: 400, openai: [invalid, 'invalid_json'], anthropic: invalid },
  { title: 'no body', body: '', status: 400, openai: [invalid, 'invalid_json'], anthropic: invalid },
  { title: 'an array', body: '[]', status: 400, openai: [invalid, 'invalid_json'], anthropic: invalid },
  {
    title: 'no model',
    body: '{}',
    status: 400,
    openai: [invalid, 'invalid_model', 'model'],
    anthropic: invalid,
  },
  {
    title: 'an empty model',
    body: '{"model":""}',
    status: 400,
    openai: [invalid, 'invalid_model', 'model'],
    anthropic: invalid,
  },
  {
    title: 'a stream that is no boolean',
    body: '{"model":"both","stream":"yes"}',
    status: 400,
    openai: [invalid, 'invalid_parameter', 'stream'],
    anthropic: invalid,
  },
  {
    title: 'no such key',
    body: '{"model":"both"}',
    headers: { authorization: 'Bearer sk-another-key-000' },
    status: 401,
    openai: [invalid, 'invalid_api_key'],
    anthropic: 'authentication_error',
    message: /^Incorrect API key provided\.$/,
  },
  {
    title: 'a model that the key may not use',
    body: '{"model":"both"}',
    headers: bearing('narrow'),
    status: 403,
    openai: ['permission_error', 'model_not_allowed'],
    anthropic: 'permission_error',
  },
  {
    title: 'a model that the tenant may not use',
    body: '{"model":"both"}',
    headers: bearing('narrow-tenant'),
    status: 403,
    openai: ['permission_error', 'model_not_allowed'],
    anthropic: 'permission_error',
  },
  {
    title: 'a model that is banned',
    body: '{"model":"banned"}',
    status: 403,
    openai: ['permission_error', 'model_banned'],
    anthropic: 'permission_error',
  },
  {
    title: 'a model that is banned for the tenant',
    body: '{"model":"forbidden"}',
    headers: bearing('acme'),
    status: 403,
    openai: ['permission_error', 'model_banned'],
    anthropic: 'permission_error',
  },
  {
    title: 'a disabled tenant',
    body: '{"model":"both"}',
    headers: bearing('asleep'),
    status: 403,
    openai: ['permission_error', 'tenant_disabled'],
    anthropic: 'permission_error',
  },
  {
    title: 'a banned tenant',
    body: '{"model":"both"}',
    headers: bearing('gone'),
    status: 403,
    openai: ['permission_error', 'tenant_banned'],
    anthropic: 'permission_error',
  },
  ...['missing', 'draft', 'unlisted'].map(model => ({
    title: `a model that is ${model}`,
    body: { model },
    status: 404,
    openai: [invalid, 'model_not_found', 'model'] as const,
    anthropic: 'not_found_error',
  })),
  {
    title: 'a model without a binding',
    body: '{"model":"nowhere"}',
    status: 404,
    openai: [invalid, 'wrong_protocol', 'model'],
    anthropic: 'not_found_error',
  },
  {
    title: 'a body over the limit',
    body: `{"model":"both","x":"${'x'.repeat(2048)}"}`,
    status: 413,
    openai: [invalid, 'request_too_large'],
    anthropic: 'request_too_large',
  },
  {
    title: 'a compressed body',
    body: new Uint8Array([31, 139, 8, 0]),
    headers: { 'content-encoding': 'gzip' },
    status: 415,
    openai: [invalid, 'unsupported_encoding'],
    anthropic: invalid,
  },
  {
    title: 'a model whose endpoints are disabled',
    body: '{"model":"off"}',
    status: 503,
    openai: ['server_error', 'no_healthy_endpoint'],
    anthropic: 'overloaded_error',
  },
  {
    title: 'a model whose bindings weigh nothing',
    body: '{"model":"weightless"}',
    status: 503,
    openai: ['server_error', 'no_healthy_endpoint'],
    anthropic: 'overloaded_error',
  },
]

describe.each(CASES)('$title', ({ body, headers, status, openai, anthropic, message }) => {
  const [type, code, param] = openai
  it.each([CHAT, EMBEDDINGS, RERANK])('is rejected in OpenAI’s shape on %s', async path => {
    const answer = await post(gateway, path, body, headers)
    await expectOpenaiError(answer, {
      status,
      type,
      code,
      ...(param !== undefined && { param }),
      ...(message && { message }),
    })
    expect(await loggedFor(gateway, answer)).toMatchObject({ status, error_code: code, path })
  })

  it.each([MESSAGES, COUNT_TOKENS])('is rejected in Anthropic’s shape on %s', async path => {
    const answer = await post(gateway, path, body, headers)
    await expectAnthropicError(answer, {
      status,
      type: anthropic,
      ...(message && { message }),
    })
    expect(await loggedFor(gateway, answer)).toMatchObject({ status, error_code: code, path })
  })
})

describe('maintenance', () => {
  it('is a 503 with the operator’s words and a bounded wait, on every path, for a known key', async () => {
    const shut = await testGateway(
      onTestFinished,
      CONFIG.replace('settings: {', 'settings: { maintenance: { enabled: true, message: Back at noon. },'),
      { secrets: BASIC_SECRETS },
    )
    for (const answer of [
      await post(shut, CHAT, { model: 'chat' }),
      await post(shut, EMBEDDINGS, { model: 'chat' }),
      await get(shut, '/v1/models'),
    ]) {
      expect(answer.headers.get('retry-after')).toBe('30')
      await expectOpenaiError(answer, {
        status: 503,
        type: 'server_error',
        code: 'maintenance',
        message: /^Back at noon\.$/,
      })
    }
    const answer = await post(shut, MESSAGES, { model: 'claude' })
    expect(answer.headers.get('retry-after')).toBe('30')
    await expectAnthropicError(answer, { status: 503, type: 'overloaded_error', message: /^Back at noon\.$/ })
  })
})

describe('before the first snapshot', () => {
  it('answers 503, not 401: whose key this is cannot be known yet', async () => {
    const empty = await testGateway(onTestFinished, basicConfig(upstream.url), { started: false })
    const answer = await post(empty, CHAT, { model: 'chat' })
    expect(answer.headers.get('retry-after')).toBe('1')
    await expectOpenaiError(answer, { status: 503, type: 'server_error', code: 'unavailable' })
    await expectAnthropicError(await post(empty, MESSAGES, { model: 'claude' }), {
      status: 503,
      type: 'overloaded_error',
    })
  })
})
