import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { httpProbe } from '../../../src/upstream/probe/http-probe.ts'
import { json } from '../../support/answers.ts'
import { scriptedUpstream } from '../../support/scripted-upstream.ts'
import {
  ANTHROPIC_CHAT,
  anthropicError,
  chat,
  models,
  OPENAI_CHAT,
  openaiError,
  SECRET,
  serving,
  target,
} from './targets.ts'

const TIMEOUT = { timeoutMs: 10_000 }

describe('a chat', () => {
  test('is one word in the protocol openai, answered by one token, without a stream', async () => {
    const upstream = await serving({ 'POST /v1/chat/completions': json(OPENAI_CHAT) })
    expect(await chat(target(`${upstream.url}/v1`))).toEqual({
      ok: true,
      latencyMs: expect.any(Number),
      service: 'chat',
      rateLimited: false,
    })
    const [request] = upstream.requests
    expect(upstream.requests).toHaveLength(1)
    expect(request?.json()).toEqual({
      model: 'gpt-x',
      messages: [{ role: 'user', content: 'ping' }],
      max_tokens: 1,
    })
    expect(request?.header('authorization')).toBe(`Bearer ${SECRET}`)
    expect(request?.header('accept-encoding')).toBe('identity')
  })

  test('is the same in the protocol anthropic, with its version unless the endpoint names another', async () => {
    const upstream = await serving({ 'POST /v1/messages': json(ANTHROPIC_CHAT) })
    const endpoint = target(`${upstream.url}/v1`, { protocol: 'anthropic', headers: ['x-api-key', SECRET] })
    expect(await chat(endpoint)).toMatchObject({ ok: true, service: 'chat' })
    expect(await chat({ ...endpoint, headers: ['Anthropic-Version', '2099-01-01'] })).toMatchObject({
      ok: true,
    })
    const [first, second] = upstream.requests
    expect(first?.json()).toMatchObject({ model: 'gpt-x', max_tokens: 1 })
    expect(first?.header('anthropic-version')).toBe('2023-06-01')
    expect(first?.header('x-api-key')).toBe(SECRET)
    expect(second?.header('anthropic-version')).toBe('2099-01-01')
  })

  test('leaves no connection behind', async () => {
    const upstream = await serving({ 'POST /v1/chat/completions': json(OPENAI_CHAT) })
    await chat(target(`${upstream.url}/v1`))
    await expect.poll(() => upstream.connections).toBe(0)
  })

  test('is asked again with max_completion_tokens where the model wants that', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answerNext(
      openaiError(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", {
        param: 'max_tokens',
        code: 'unsupported_parameter',
      }),
      json(OPENAI_CHAT),
    )
    expect(await chat(target(`${upstream.url}/v1`))).toMatchObject({ ok: true, service: 'chat' })
    expect(upstream.lastRequest.json()).toEqual({
      model: 'gpt-x',
      messages: [{ role: 'user', content: 'ping' }],
      max_completion_tokens: 16,
    })
  })

  test('that runs out of tokens while the model thinks is a sign of life', async () => {
    const answer = openaiError(400, 'Could not finish the message because max_tokens was reached.')
    const upstream = await serving({ 'POST /v1/chat/completions': answer })
    expect(await chat(target(`${upstream.url}/v1`))).toMatchObject({ ok: true })
  })

  test.each([
    ['openai', openaiError(429, 'Rate limit reached', { code: 'rate_limit_exceeded' })],
    ['anthropic', anthropicError(429, 'rate_limit_error', 'Too many requests')],
  ] as const)('that %s answers with 429 is alive, and has enough to do', async (protocol, answer) => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(answer)
    expect(await chat(target(`${upstream.url}/v1`, { protocol }))).toMatchObject({
      ok: true,
      service: 'chat',
      rateLimited: true,
    })
  })
})

describe('where there is no chat', () => {
  const noChat = openaiError(404, 'This is not a chat model and thus not supported in this endpoint.', {
    param: 'model',
  })

  test.each([
    ['embeddings', { data: [{ embedding: [0.1] }] }, { model: 'gpt-x', input: 'ping' }],
    ['rerank', { results: [{ index: 0 }] }, { model: 'gpt-x', query: 'ping', documents: ['ping'] }],
    [
      'responses',
      { object: 'response', status: 'incomplete', output: [] },
      { model: 'gpt-x', input: 'ping', max_output_tokens: 16, store: false },
    ],
    ['completions', { choices: [{ text: '' }] }, { model: 'gpt-x', prompt: 'ping', max_tokens: 1 }],
  ])('%s are a sign of life', async (service, answer, asked) => {
    for (const rejection of [noChat, json({ detail: 'Not Found' }, { status: 404 })]) {
      const upstream = await serving({
        'POST /v1/chat/completions': rejection,
        [`POST /v1/${service}`]: json(answer),
      })
      expect(await chat(target(`${upstream.url}/v1`))).toMatchObject({ ok: true, service })
      expect(upstream.lastRequest.json()).toEqual(asked)
    }
  })

  test('a limit of another service is none', async () => {
    const upstream = await serving({
      'POST /v1/chat/completions': noChat,
      'POST /v1/embeddings': openaiError(429, 'slow down'),
    })
    expect(await chat(target(`${upstream.url}/v1`))).toMatchObject({ ok: false })
  })
})

describe('an endpoint with paths', () => {
  test('is asked for a service that it has', async () => {
    const upstream = await serving({ 'POST /v1/embeddings': json({ data: [] }) })
    const endpoint = target(`${upstream.url}/v1`, { paths: ['/v1/embeddings', '/v1/rerank'] })
    expect(await chat(endpoint)).toMatchObject({ ok: true, service: 'embeddings' })
    expect(upstream.requests).toHaveLength(1)
  })

  test('without a service to ask for is asked for nothing: a rejection of that is a sign of life', async () => {
    const upstream = await serving({ 'POST /v1/messages/count_tokens': anthropicError(400, 'x', 'empty') })
    const endpoint = target(`${upstream.url}/v1`, {
      protocol: 'anthropic',
      paths: ['/v1/messages/count_tokens'],
    })
    expect(await chat(endpoint)).toMatchObject({ ok: true, service: 'path' })
    expect(upstream.lastRequest.json()).toEqual({})
    upstream.answer(anthropicError(401, 'authentication_error', 'no'))
    expect(await chat(endpoint)).toMatchObject({ ok: false, diagnosis: { fault: 'credential' } })
    upstream.answer(json({ detail: 'Not Found' }, { status: 404 }))
    expect(await chat(endpoint)).toMatchObject({ ok: false })
  })
})

describe('the paths', () => {
  const paths = (url: string) =>
    httpProbe({ clock: systemClock }).paths(target(`${url}/v1`), '/v1/chat/completions', TIMEOUT)

  test.each([
    ['rejects the empty request', openaiError(400, 'you must provide a model'), true],
    ['does not know the empty model', openaiError(404, "model '' not found"), true],
    ['fails at the empty request', json({}, { status: 500 }), true],
    ['does not know the path', json({ detail: 'Not Found' }, { status: 404 }), false],
    ['does not allow the method', json({ detail: 'Method Not Allowed' }, { status: 405 }), false],
    ['was started without the service', json({ error: { message: 'no' } }, { status: 501 }), false],
    ['denies it to this credential', openaiError(403, 'Missing Authentication Token'), false],
    ['redirects', json({}, { status: 308 }), false],
  ])('are those that are known, by empty requests: an upstream that %s', async (_, answer, isServed) => {
    const upstream = await serving({ 'POST /v1/embeddings': answer })
    const served = ['/v1/chat/completions', ...(isServed ? ['/v1/embeddings'] : [])]
    expect(await paths(upstream.url)).toEqual(served)
    expect(upstream.requests.every(request => JSON.stringify(request.json()) === '{}')).toBe(true)
    // The path of the chat was proven by the chat.
    expect(upstream.requests.map(request => request.target)).not.toContain('/v1/chat/completions')
  })

  test.each([
    ['is limited', openaiError(429, 'slow down')],
    ['comes from a load balancer', json({}, { status: 503 })],
  ])('are unknown after an answer that %s', async (_, answer) => {
    const upstream = await serving({ 'POST /v1/embeddings': answer })
    expect(await paths(upstream.url)).toBeUndefined()
  })

  test('are unknown without an answer', async () => {
    expect(await paths('http://127.0.0.1:9')).toBeUndefined()
  })
})

describe('in the background', () => {
  const probe = httpProbe({ clock: systemClock })
  const asked = (upstream: Awaited<ReturnType<typeof serving>>) =>
    upstream.requests.map(({ method, target: path }) => `${method} ${path}`)

  test('an endpoint that lists its model is healthy, and never sees a chat', async () => {
    const upstream = await serving({ 'GET /v1/models': models('other', 'gpt-x') })
    expect(await probe.check(target(`${upstream.url}/v1`), false, TIMEOUT)).toMatchObject({
      ok: true,
      service: 'models',
    })
    expect(asked(upstream)).toEqual(['GET /v1/models'])
  })

  test.each([
    ['lists other models', models('other')],
    ['has no list', json({ detail: 'Not Found' }, { status: 404 })],
    ['lets this credential not list', openaiError(403, 'Missing scopes: api.model.read')],
    ['lists nonsense', json('<html>')],
  ])('an endpoint that %s is asked for a chat', async (_title, list) => {
    const upstream = await serving({ 'GET /v1/models': list, 'POST /v1/chat/completions': json(OPENAI_CHAT) })
    expect(await probe.check(target(`${upstream.url}/v1`), false, TIMEOUT)).toMatchObject({
      ok: true,
      service: 'chat',
    })
    expect(asked(upstream)).toEqual(['GET /v1/models', 'POST /v1/chat/completions'])
  })

  test.each([
    [401, 'credential'],
    [500, 'upstream'],
    [503, 'upstream'],
  ])('a %i for the list is not healthy, and no chat follows', async (status, fault) => {
    const upstream = await serving({ 'GET /v1/models': openaiError(status, 'no') })
    expect(await probe.check(target(`${upstream.url}/v1`), false, TIMEOUT)).toMatchObject({
      ok: false,
      diagnosis: { fault, status },
    })
    expect(upstream.requests).toHaveLength(1)
  })

  test('a list proves nothing where the endpoint answered wrongly before', async () => {
    const upstream = await serving({
      'GET /v1/models': models('gpt-x'),
      'POST /v1/chat/completions': openaiError(500, 'out of memory'),
    })
    expect(await probe.check(target(`${upstream.url}/v1`), true, TIMEOUT)).toMatchObject({
      ok: false,
      diagnosis: { fault: 'upstream', cause: expect.stringContaining('“out of memory”') },
    })
    expect(asked(upstream)).toEqual(['POST /v1/chat/completions'])
  })

  test('no person has to search', async () => {
    const upstream = await serving({ 'POST /v1/chat/completions': openaiError(418, 'teapot') })
    expect(await probe.check(target(`${upstream.url}/v1`), true, TIMEOUT)).toMatchObject({ ok: false })
    expect(upstream.requests).toHaveLength(1)
  })
})

test('a list of models is what it says, and undefined where there is none', async () => {
  const probe = httpProbe({ clock: systemClock })
  const upstream = await serving({ 'GET /v1/models': models('a', 'b') })
  const { url } = upstream
  expect(await probe.list(target(`${url}/v1`), TIMEOUT)).toEqual(['a', 'b'])
  expect(await probe.list(target(`${url}/v2`), TIMEOUT)).toBeUndefined()
  await upstream.close()
  expect(await probe.list(target(`${url}/v1`), TIMEOUT)).toBeUndefined()
})
