import { describe, expect, test } from 'vitest'
import { tlsMaterial } from '../../../src/base/tls-material.ts'
import type { Diagnosis, ProbeTarget } from '../../../src/upstream/probe.ts'
import { json, reply } from '../../support/answers.ts'
import type { Answer, ScriptedUpstream } from '../../support/scripted-upstream.ts'
import {
  ANTHROPIC_CHAT,
  anthropicError,
  chat,
  diagnosed,
  models,
  OPENAI_CHAT,
  openaiError,
  SECRET,
  serving,
  target,
} from './targets.ts'

const CHAT = 'POST /v1/chat/completions'
const HTML = reply({
  headers: { 'content-type': 'text/html' },
  body: '<!doctype html><title>Welcome</title>',
})

async function probed(
  routes: Readonly<Record<string, Answer>>,
  path = '/v1',
  more: Partial<ProbeTarget> = {},
): Promise<Diagnosis & { readonly upstream: ScriptedUpstream }> {
  const upstream = await serving(routes)
  return { ...(await diagnosed(chat(target(upstream.url + path, more)))), upstream }
}

test('an answer behind a 100 Continue that was not asked for is read', async () => {
  const answer: Answer = async exchange => {
    await exchange.write('HTTP/1.1 100 Continue\r\n\r\n')
    await openaiError(401, 'bad key')(exchange)
  }
  expect(await probed({ [CHAT]: answer })).toMatchObject({ fault: 'credential' })
})

describe('the credential', () => {
  test.each([401, 403])('that is rejected with %i is named by its reference', async status => {
    const { upstream, fault, cause, hint } = await probed({ [CHAT]: openaiError(status, 'bad key') })
    expect(fault).toBe('credential')
    expect(cause).toBe(`127.0.0.1:${upstream.port} rejects the credential, env:UP_KEY (${status}).`)
    expect(hint).toContain('Set env:UP_KEY to')
  })

  test('that is missing is asked for', async () => {
    expect(
      await probed({ [CHAT]: openaiError(401, 'no key') }, '/v1', { headers: [], secrets: [] }),
    ).toMatchObject({
      fault: 'credential',
      cause: expect.stringContaining('none is configured'),
      hint: expect.stringContaining('upstream_key: { env: NAME }'),
    })
  })

  test('that the other protocol rejects is perhaps none for this protocol', async () => {
    const answer = anthropicError(401, 'authentication_error', 'x-api-key header is required')
    expect(await probed({ [CHAT]: answer })).toMatchObject({
      fault: 'credential',
      hint: expect.stringContaining('protocol anthropic: is `protocol: openai` right?'),
    })
  })

  test.each<[string, ProbeTarget['protocol'], Answer]>([
    ['402', 'openai', openaiError(402, 'pay')],
    ['a quota of OpenAI', 'openai', openaiError(429, 'You exceeded', { code: 'insufficient_quota' })],
    [
      'a balance of Anthropic',
      'anthropic',
      anthropicError(400, 'invalid_request_error', 'Your credit balance is too low'),
    ],
  ])(
    'without money behind it (%s) is reported as such, and is no sign of life',
    async (_title, protocol, answer) => {
      const routes = { [CHAT]: answer, 'POST /v1/messages': answer }
      expect(await probed(routes, '/v1', { protocol })).toMatchObject({ fault: 'payment' })
    },
  )
})

test.each([
  "Unsupported parameter: 'messages' is not supported with this model.",
  'Unrecognized request argument supplied: messages',
  'Extra inputs are not permitted',
])('a parameter that is rejected is no unknown model: %s', async message => {
  expect(await probed({ [CHAT]: openaiError(400, message) })).toMatchObject({
    fault: 'request',
    cause: expect.stringMatching(/does not accept a parameter of the probe \(400\): .*\w/),
    hint: expect.stringContaining('`skip_probe: true`'),
  })
})

describe('the path', () => {
  test('that misses /v1 is reported with the whole address', async () => {
    const { upstream, ...shown } = await probed({ 'GET /v1/models': models('gpt-x') }, '')
    expect(shown).toEqual({
      fault: 'path',
      cause: `127.0.0.1:${upstream.port} does not know the path /chat/completions (404).`,
      hint: `\`base_url\` lacks \`/v1\`: set it to ${upstream.url}/v1.`,
      status: 404,
      fix: { base_url: `${upstream.url}/v1` },
    })
  })

  test('that has a /v1 too many is reported, too', async () => {
    const { upstream, hint } = await probed({ 'GET /api/models': models('gpt-x') }, '/api/v1')
    expect(hint).toBe(`\`base_url\` has one \`/v1\` too many: set it to ${upstream.url}/api.`)
  })

  test('that nothing is known of is asked about', async () => {
    expect((await probed({}, '/api')).hint).toContain('Does `base_url` lack `/v1`?')
    expect((await probed({}, '/v1')).hint).toContain('the right model server')
  })

  test('that has the path of the request at its end is reported', async () => {
    expect(await probed({}, '/v1/chat/completions')).toMatchObject({
      fault: 'path',
      hint: 'Remove `/chat/completions` from the end of `base_url`: the gateway appends the path of each request.',
    })
  })

  test('that is right while the upstream has no chat', async () => {
    expect((await probed({ 'GET /v1/models': models('gpt-x') })).hint).toContain('skip_probe: true')
  })

  test('that shows a web page is no path of an API', async () => {
    const routes = { 'POST /chat/completions': HTML, 'GET /v1/models': models('gpt-x') }
    const { upstream, ...shown } = await probed(routes, '')
    expect(shown).toMatchObject({
      fault: 'path',
      cause: expect.stringContaining('a web page'),
      hint: expect.stringContaining(`set it to ${upstream.url}/v1.`),
    })
    expect(await probed({ [CHAT]: HTML })).toMatchObject({
      fault: 'protocol',
      cause: expect.stringContaining('web page'),
    })
  })

  test('that redirects names the other host, which is never asked', async () => {
    const elsewhere = await serving({})
    const moved = reply({
      status: 301,
      headers: { location: `${elsewhere.url}/v1/chat/completions?key=${SECRET}` },
    })
    const { hint, cause, fault } = await probed({ [CHAT]: moved })
    expect(fault).toBe('redirect')
    expect(cause).toContain(`redirects to ${elsewhere.url} (301)`)
    expect(hint).toContain(elsewhere.url)
    expect(cause + hint).not.toContain(SECRET)
    expect(elsewhere.connectionsMade).toBe(0)
  })

  test.each(['/login', '::nonsense', undefined])('that redirects to %s is reported, too', async location => {
    const moved = reply({ status: 308, headers: location === undefined ? {} : { location } })
    expect(await probed({ [CHAT]: moved })).toMatchObject({ fault: 'redirect' })
  })
})

describe('the protocol', () => {
  test('of the answer is reported where it is the other one', async () => {
    const answer = json(ANTHROPIC_CHAT)
    expect(await probed({ [CHAT]: answer })).toMatchObject({
      fault: 'protocol',
      hint: 'Set `protocol: anthropic`.',
    })
  })

  test('is not doubted at a server that has the other one without `/v1` as well', async () => {
    const routes = {
      'POST /chat/completions': json(OPENAI_CHAT),
      [CHAT]: json(OPENAI_CHAT),
      'POST /v1/messages': json(ANTHROPIC_CHAT),
    }
    const { upstream, ...diagnosis } = await probed(routes, '', { protocol: 'anthropic' })
    expect(diagnosis).toMatchObject({
      fault: 'path',
      hint: `\`base_url\` lacks \`/v1\`: set it to ${upstream.url}/v1.`,
      fix: { base_url: `${upstream.url}/v1` },
    })
  })

  test.each<[ProbeTarget['protocol'], Record<string, Answer>, string]>([
    ['openai', { 'POST /v1/messages': json(ANTHROPIC_CHAT) }, 'anthropic'],
    [
      'openai',
      { 'POST /v1/messages': anthropicError(401, 'authentication_error', 'x-api-key') },
      'anthropic',
    ],
    ['anthropic', { [CHAT]: json(OPENAI_CHAT) }, 'openai'],
  ])('%s at a server that has only the paths of the other', async (protocol, routes, other) => {
    expect(await probed(routes, '/v1', { protocol })).toMatchObject({
      fault: 'protocol',
      cause: expect.stringContaining(`answers in the protocol ${other}.`),
      hint: `Set \`protocol: ${other}\`.`,
    })
  })

  test.each<[string, Answer]>([
    ['JSON of something else', json({ hello: 'world' })],
    ['an error with 200', json({ error: { message: 'overloaded' } })],
    [
      'a compressed body that is none',
      reply({ headers: { 'content-encoding': 'gzip' }, body: '\u001F\u008B' }),
    ],
    ['nothing', reply({ status: 204 })],
  ])('%s is no chat', async (_title, answer) => {
    expect(await probed({ [CHAT]: answer })).toMatchObject({ fault: 'protocol' })
  })
})

describe('the model', () => {
  test.each<[string, Answer]>([
    ['OpenAI', openaiError(404, 'The model `gpt-x` does not exist', { code: 'model_not_found' })],
    [
      'a project without access',
      openaiError(403, 'Project does not have access', { code: 'model_not_found' }),
    ],
    [
      'vLLM',
      json({ object: 'error', message: 'The model `gpt-x` does not exist.', code: 404 }, { status: 404 }),
    ],
    ['Ollama', openaiError(404, 'model "gpt-x" not found, try pulling it first', { type: 'api_error' })],
    ['DeepSeek', openaiError(400, 'Model Not Exist')],
    ['LiteLLM', openaiError(400, 'Invalid model name passed in model=gpt-x')],
  ])(
    'that %s does not know comes with the names that it lists, the nearest first',
    async (_title, answer) => {
      const shown = await probed({ [CHAT]: answer, 'GET /v1/models': models('alpha', 'beta', 'gpt-y') })
      expect(shown).toMatchObject({
        fault: 'model',
        cause: expect.stringContaining('does not know the model `gpt-x`'),
      })
      expect(shown.hint).toBe('Correct `served_model`. Did you mean gpt-y? It lists gpt-y, alpha, beta.')
    },
  )

  test('of anthropic is looked up, too', async () => {
    const routes = {
      'POST /v1/messages': anthropicError(404, 'not_found_error', 'model: gpt-x'),
      'GET /v1/models': models('claude-a'),
    }
    expect(await probed(routes, '/v1', { protocol: 'anthropic' })).toMatchObject({
      fault: 'model',
      hint: 'Correct `served_model`. It lists claude-a.',
    })
  })

  test('is named among ten at most, and never by what is no name', async () => {
    const unknown = openaiError(404, 'no such model')
    const many = Array.from({ length: 25 }, (_, at) => `m${at}`)
    const { hint } = await probed({
      [CHAT]: unknown,
      'GET /v1/models': models('\u001B[31mred', SECRET, ...many),
    })
    expect(hint).toMatch(/It lists m0, .*m9 and 15 more\.$/)
    expect((await probed({ [CHAT]: unknown })).hint).toBe(
      'Correct `served_model`. It does not list its models.',
    )
  })

  test('that is listed and yet rejected is not called unknown', async () => {
    const unknown = openaiError(404, 'This is not a chat model and thus not supported')
    expect(await probed({ [CHAT]: unknown, 'GET /v1/models': models('gpt-x') })).toMatchObject({
      fault: 'model',
      cause: expect.stringContaining('It lists the model `gpt-x`, but rejects it (404)'),
    })
  })
})

describe('everything else', () => {
  test.each([
    ['No required SSL certificate was sent', undefined, /requires a client certificate \(400\)/],
    ['The SSL certificate error', 'PEM', /rejects the client certificate \(400\)/],
  ])('a web page of nginx: %s', async (text, cert, cause) => {
    const page = `<html><head><title>400 ${text}</title></head></html>`
    const answer = reply({ status: 400, headers: { 'content-type': 'text/html' }, body: page })
    const upstream = await serving({ 'POST /v1/chat/completions': answer })
    const tls = tlsMaterial({ ca: undefined, cert, key: cert })
    const diagnosis = await diagnosed(chat(target(`${upstream.url}/v1`, { tls })))
    expect(diagnosis).toMatchObject({ fault: 'tls', cause: expect.stringMatching(cause), status: 400 })
  })

  test.each([500, 502, 503, 529])('a %i quotes what the upstream says, on one line', async status => {
    expect(await probed({ [CHAT]: openaiError(status, 'CUDA\nout of\u001B[31m memory') })).toMatchObject({
      fault: 'upstream',
      status,
      cause: expect.stringContaining(`answers ${status}: “CUDA out of [31m memory”`),
    })
  })

  test('a request that is rejected for another reason', async () => {
    expect(await probed({ [CHAT]: json({ detail: 'user is required' }, { status: 422 }) })).toMatchObject({
      fault: 'request',
      cause: expect.stringContaining('422: “user is required”'),
      hint: expect.stringContaining('skip_probe: true'),
    })
  })
})

describe('the secret', () => {
  const echoes: readonly Answer[] = [
    openaiError(401, `Incorrect API key provided: ${SECRET}`),
    openaiError(500, `request was: Bearer ${SECRET}, retry`),
    openaiError(400, `bad ${SECRET.slice(0, 20)} and ${SECRET.toUpperCase()}`),
    openaiError(404, `model not found for ${SECRET}`, { code: 'model_not_found' }),
    json({ error: { message: SECRET } }),
    reply({ status: 302, headers: { location: `http://${SECRET}@${SECRET}.test/${SECRET}` } }),
  ]

  test.each(echoes.map((answer, at) => [at, answer] as const))(
    'is in no text, whatever the upstream repeats (%i)',
    async (_at, answer) => {
      const { cause, hint } = await probed({
        [CHAT]: answer,
        'GET /v1/models': models(SECRET, `x-${SECRET}`),
      })
      expect((cause + hint).toLowerCase()).not.toContain(SECRET.slice(0, 9))
    },
  )
})
