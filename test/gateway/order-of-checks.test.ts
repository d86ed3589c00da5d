import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, EMBEDDINGS, MESSAGES, post } from './calls.ts'

/** spec/requests.md §2: a request that fails two checks gets the answer of the earlier one. */
const upstream = await scriptedUpstream(afterAll)
const CONFIG = `
version: 1
settings: { limits: { body: 1KiB } }
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}", served_model: x }
  off: { protocol: openai, base_url: "${upstream.url}", served_model: x, enabled: false }
publications:
  chat: { bindings: [{ endpoint: oai }] }
  draft: { status: draft, bindings: [{ endpoint: oai }] }
  banned: { status: banned, bindings: [{ endpoint: oai }] }
  off: { bindings: [{ endpoint: off }] }
tenants:
  asleep: { status: disabled }
  picky: { models: [nothing], banned_models: [chat, draft] }
keys:
  admin: { kind: platform }
  nothing: { kind: platform, models: [nothing] }
  asleep: { kind: tenant, tenant: asleep }
  picky: { kind: tenant, tenant: picky }
  off: { kind: tenant, tenant: asleep, enabled: false }
`
const open = await testGateway(afterAll, CONFIG)
const shut = await testGateway(
  afterAll,
  CONFIG.replace('settings: {', 'settings: { maintenance: { enabled: true },'),
)
afterEach(() => expect(upstream.requests).toEqual([]))

const LONG = `{"model":"${'x'.repeat(1_024)}"}`
const key = (gateway: typeof open, name: string) => ({ authorization: `Bearer ${gateway.secretOf(name)}` })

describe('of two reasons to reject, the earlier answers', () => {
  it('no snapshot before the key', async () => {
    const empty = await testGateway(onTestFinished, CONFIG, { started: false })
    expect((await post(empty, CHAT, '{}', { authorization: 'Bearer absent' })).status).toBe(503)
  })

  it.each<[string, () => Promise<Response>, number, string]>([
    [
      'a path that is unknown before the key',
      () => post(open, '/v1/x', '', { authorization: '' }),
      404,
      'unknown_path',
    ],
    ['the key before maintenance', () => post(shut, CHAT, '', { authorization: '' }), 401, 'invalid_api_key'],
    [
      'a disabled key before its disabled tenant',
      () => post(open, CHAT, '', key(open, 'off')),
      401,
      'invalid_api_key',
    ],
    ['maintenance before the tenant', () => post(shut, CHAT, '{}', key(shut, 'asleep')), 503, 'maintenance'],
    ['maintenance before the body', () => post(shut, CHAT, LONG), 503, 'maintenance'],
    [
      'the tenant before the size of the body',
      () => post(open, CHAT, LONG, key(open, 'asleep')),
      403,
      'tenant_disabled',
    ],
    ['the tenant before JSON', () => post(open, CHAT, 'x', key(open, 'asleep')), 403, 'tenant_disabled'],
    [
      'the encoding before the size',
      () => post(open, CHAT, LONG, { 'content-encoding': 'br' }),
      415,
      'unsupported_encoding',
    ],
    ['the size before JSON', () => post(open, CHAT, `x${LONG}`), 413, 'request_too_large'],
    ['JSON before the model', () => post(open, CHAT, '{"model":"banned",}'), 400, 'invalid_json'],
    [
      'two models before a banned one',
      () => post(open, CHAT, '{"model":"banned","model":"chat"}'),
      400,
      'invalid_model',
    ],
    [
      'a ban before a missing listing',
      () => post(open, CHAT, '{"model":"draft"}', key(open, 'picky')),
      403,
      'model_banned',
    ],
    [
      'a ban before the key’s models',
      () => post(open, CHAT, '{"model":"chat"}', key(open, 'picky')),
      403,
      'model_banned',
    ],
    [
      'a missing listing before the key’s models',
      () => post(open, CHAT, '{"model":"draft"}', key(open, 'nothing')),
      404,
      'model_not_found',
    ],
    [
      'a missing listing before the protocol',
      () => post(open, MESSAGES, '{"model":"draft"}'),
      404,
      'model_not_found',
    ],
    ['a ban before the protocol', () => post(open, MESSAGES, '{"model":"banned"}'), 403, 'model_banned'],
    [
      'the key’s models before the protocol',
      () => post(open, MESSAGES, '{"model":"chat"}', key(open, 'nothing')),
      403,
      'model_not_allowed',
    ],
    [
      'the key’s models before usable endpoints',
      () => post(open, CHAT, '{"model":"off"}', key(open, 'nothing')),
      403,
      'model_not_allowed',
    ],
    [
      'the protocol before usable endpoints',
      () => post(open, MESSAGES, '{"model":"off"}'),
      404,
      'wrong_protocol',
    ],
    ['usable endpoints last', () => post(open, EMBEDDINGS, '{"model":"off"}'), 503, 'no_healthy_endpoint'],
  ])('%s', async (_title, ask, status, code) => {
    const answer = await ask()
    expect(answer.status).toBe(status)
    // Anthropic's shape has no code; the log does.
    const id = answer.headers.get('x-request-id')
    const line = [...open.logged, ...shut.logged].find(entry => entry['request_id'] === id)
    expect(line).toMatchObject({ error_code: code })
  })
})
