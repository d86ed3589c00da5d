import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { json } from '../support/answers.ts'
import { BASIC_SECRETS, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, EMBEDDINGS, MESSAGES, rawPost } from './calls.ts'
import { rawClient } from './raw-client.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(
  afterAll,
  `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/base/v1/", served_model: s, upstream_key: { env: OAI_KEY } }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: s, upstream_key: { env: ANT_KEY } }
  ant-bearer: { protocol: anthropic, base_url: "${upstream.url}", served_model: s, upstream_key: { env: ANT_KEY }, auth: bearer }
  oai-key: { protocol: openai, base_url: "${upstream.url}", served_model: s, upstream_key: { env: OAI_KEY }, auth: x-api-key }
  keyless: { protocol: openai, base_url: "${upstream.url}", served_model: s }
  extra:
    protocol: openai
    base_url: "${upstream.url}"
    served_model: s
    headers: { X-Team: ours, anthropic-beta: fixed, x-latin: "ä" }
publications:
  both: { bindings: [{ endpoint: oai }, { endpoint: ant }] }
  bearer: { bindings: [{ endpoint: ant-bearer }, { endpoint: oai-key }] }
  keyless: { bindings: [{ endpoint: keyless }] }
  extra: { bindings: [{ endpoint: extra }] }
keys:
  admin: { kind: platform }
`,
  { secrets: BASIC_SECRETS },
)
beforeEach(() => {
  upstream.forget()
  upstream.answer(json('{"model":"s"}'))
})

async function ask(path: string, model: string, lines: readonly string[] = []) {
  const client = await rawClient(onTestFinished, gateway.url)
  await client.write(rawPost(gateway, path, JSON.stringify({ model }), lines))
  return client.answer()
}

/** The header lines that the upstream got, without those that every request has. */
function received(): string[] {
  const always = new Set([
    'host',
    'connection',
    'content-length',
    'content-type',
    'accept-encoding',
    'authorization',
    'x-api-key',
  ])
  return upstream.lastRequest.headerLines
    .filter(([name]) => !always.has(name.toLowerCase()))
    .map(([name, value]) => `${name}: ${value}`)
}

describe('to the upstream', () => {
  it('end-to-end headers go as they came: order, letter case, repeated lines, every octet', async () => {
    const lines = [
      'Accept: text/event-stream, */*;q=0.1',
      'User-Agent: OpenAI/JS 6.0  (odd;  spacing)',
      'anthropic-version: 2023-06-01',
      'anthropic-beta: claude-code-20250219,oauth-2025-04-20,  fine-grained-tool-streaming-2025-05-14',
      'anthropic-beta: second-line',
      'OpenAI-Organization: org-1',
      'openai-project: proj',
      'X-Stainless-Lang: js',
      'x-stainless-retry-count: 0',
      'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'tracestate: a=b,c=d',
      'Idempotency-Key: stainless-node-retry-1',
      'x-latin: \xe4\xff',
      'x-empty:',
      'X-Custom: a',
      'X-Custom: b',
      'origin: https://example.com',
    ]
    const client = await rawClient(onTestFinished, gateway.url)
    await client.write(rawPost(gateway, CHAT, '{"model":"both"}', lines))
    expect((await client.answer()).status).toBe(200)
    expect(received()).toEqual(lines.map(line => (line === 'x-empty:' ? 'x-empty: ' : line)))
  })

  it('what concerns only the client and the gateway does not go', async () => {
    await ask(CHAT, 'both', [
      'cookie: session=1',
      'Cookie: more=2',
      'Proxy-Authorization: Basic abc',
      'proxy-connection: keep-alive',
      'keep-alive: timeout=5',
      'TE: trailers',
      'trailer: x-checksum',
      'upgrade: h2c',
      'X-Forwarded-For: 10.0.0.1',
      'x-forwarded-host: evil',
      'X-Forwarded-Anything: 1',
      'Forwarded: for=1.2.3.4',
      'X-GW-Endpoint: other',
      'x-request-id: mine',
      'request-id: mine',
      'api-key: gw_of-the-client',
      'X-Goog-Api-Key: gw_of-the-client',
      'x-portkey-api-key: gw_of-the-client',
      'accept-encoding: gzip, br',
      'Connection: keep-alive, X-Private , x-other,Anthropic-Beta',
      'x-private: 1',
      'X-Other: 2',
      'anthropic-beta: named in connection',
      'x-kept: 3',
    ])
    expect(received()).toEqual(['x-kept: 3'])
    expect(upstream.lastRequest.header('accept-encoding')).toBe('identity')
    expect(upstream.lastRequest.header('host')).toBe(new URL(upstream.url).host)
  })

  it('the length is that of the new body', async () => {
    await ask(CHAT, 'both')
    expect(upstream.lastRequest.header('content-length')).toBe(String(upstream.lastRequest.body.length))
  })

  it.each([
    [],
    ['content-type: application/x-www-form-urlencoded'],
    ['Content-Type: application/json; charset=utf-16'],
    ['content-type: text/plain', 'content-type: application/json'],
    ['connection: content-type', 'content-type: text/plain'],
  ])('the type of a JSON body is one line, whatever the client sends: %j', async (...lines) => {
    const client = await rawClient(onTestFinished, gateway.url)
    const post = rawPost(gateway, CHAT, '{"model":"both"}', lines).toString('latin1')
    await client.write(Buffer.from(post.replace('content-type: application/json\r\n', ''), 'latin1'))
    expect((await client.answer()).status).toBe(200)
    const types = upstream.lastRequest.headerLines.filter(([name]) => name.toLowerCase() === 'content-type')
    expect(types.map(([, type]) => type)).toEqual(['application/json'])
  })

  it.each([
    [CHAT, 'both', 'authorization', 'Bearer sk-upstream-openai', 'x-api-key'],
    [MESSAGES, 'both', 'x-api-key', 'sk-upstream-anthropic', 'authorization'],
    [MESSAGES, 'bearer', 'authorization', 'Bearer sk-upstream-anthropic', 'x-api-key'],
    [CHAT, 'bearer', 'x-api-key', 'sk-upstream-openai', 'authorization'],
  ])(
    'on %s to %s our credential goes as %s, the caller’s never',
    async (path, model, header, value, other) => {
      await ask(path, model, [`x-api-key: ${gateway.secretOf('admin')}`])
      expect(upstream.lastRequest.header(header)).toBe(value)
      expect(upstream.lastRequest.header(other)).toBe(undefined)
      expect(upstream.lastRequest.head.toString('latin1')).not.toContain(gateway.secretOf('admin'))
    },
  )

  it('to an endpoint without a key no credential goes at all', async () => {
    await ask(EMBEDDINGS, 'keyless', ['x-api-key: foreign'])
    expect(upstream.lastRequest.header('authorization')).toBe(undefined)
    expect(upstream.lastRequest.header('x-api-key')).toBe(undefined)
  })

  it('the endpoint’s own headers replace the client’s, in any letter case', async () => {
    await ask(CHAT, 'extra', ['x-team: theirs', 'X-TEAM: again', 'Anthropic-Beta: theirs', 'x-kept: 1'])
    expect(received()).toEqual(['x-kept: 1', 'X-Team: ours', 'anthropic-beta: fixed', 'x-latin: \xe4'])
  })

  it('the path is the endpoint’s with ours behind it, the query as it came', async () => {
    await ask(`${CHAT}?beta=true&x=%2F+é%00`.replace('é', '%C3%A9'), 'both')
    expect(upstream.lastRequest.target).toBe('/base/v1/chat/completions?beta=true&x=%2F+%C3%A9%00')
    await ask(`${MESSAGES}?beta=true`, 'both')
    expect(upstream.lastRequest.target).toBe('/v1/messages?beta=true')
    await ask(`${MESSAGES}/count_tokens?`, 'both')
    expect(upstream.lastRequest.target).toBe('/v1/messages/count_tokens?')
    await ask(EMBEDDINGS, 'keyless')
    expect(upstream.lastRequest.target).toBe('/embeddings')
  })
})

describe('to the client', () => {
  const DROPPED: readonly (readonly [string, string])[] = [
    ['Set-Cookie', 'a=1'],
    ['set-cookie', 'b=2'],
    ['Server', 'uvicorn'],
    ['X-RateLimit-Limit-Requests', '5000'],
    ['x-ratelimit-remaining-tokens', '1'],
    ['anthropic-ratelimit-requests-limit', '50'],
    ['Anthropic-RateLimit-Tokens-Reset', '2026-01-01T00:00:00Z'],
    ['x-request-id', 'theirs'],
    ['Request-Id', 'theirs'],
    ['x-gw-endpoint', 'other'],
    ['x-should-retry', 'true'],
    ['alt-svc', 'h3=":443"'],
    ['Connection', 'keep-alive, x-hop'],
    ['x-hop', '1'],
    ['Keep-Alive', 'timeout=77'],
    ['Proxy-Authenticate', 'Basic'],
    ['trailer', 'x'],
  ]
  const KEPT: readonly (readonly [string, string])[] = [
    ['OpenAI-Processing-Ms', '12'],
    ['x-many', 'a'],
    ['X-Many', 'b'],
    ['x-latin', '\xe4\xff'],
    ['Cache-Control', 'no-cache'],
  ]
  it.each([
    ['an answer', 200, 'application/json', '{"model":"s"}'],
    ['a rejection', 400, 'application/json', '{"error":{}}'],
    ['a stream', 200, 'text/event-stream', 'data: [DONE]\n\n'],
  ])(
    'end-to-end headers come with %s, ours are added, the rest stays behind',
    async (_title, status, type, body) => {
      const lines = [['Content-Type', type] as const, ...DROPPED, ...KEPT]
      const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
      upstream.answerNext(async exchange => {
        await exchange.write(
          Buffer.from(
            `HTTP/1.1 ${status} Ok\r\ncontent-length: ${body.length}\r\n${head}\r\n${body}`,
            'latin1',
          ),
        )
      })
      const answer = await ask(CHAT, 'both')
      expect(answer.status).toBe(status)
      const own = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'])
      expect(answer.headerLines.filter(([name]) => !own.has(name.toLowerCase()))).toEqual([
        ['Content-Type', type],
        ...KEPT,
        ['x-request-id', expect.stringMatching(/^req_[0-9a-f]{24}$/)],
        ['x-gw-endpoint', 'oai'],
        ['x-gw-revision', '1'],
      ])
      expect(answer.values('keep-alive')).not.toContain('timeout=77')
    },
  )

  it('Anthropic’s paths bear the id under both names, one and the same', async () => {
    const answer = await ask(MESSAGES, 'both')
    expect(answer.values('request-id')).toEqual(answer.values('x-request-id'))
    expect(answer.values('request-id')).toHaveLength(1)
    expect(answer.values('x-gw-endpoint')).toEqual(['ant'])
  })

  it('a small answer says its length, that of its new body', async () => {
    const answer = await ask(CHAT, 'both')
    expect(answer.text()).toBe('{"model":"both"}')
    expect(answer.values('content-length')).toEqual(['16'])
  })

  it('every answer has an id of its own', async () => {
    const ids = new Set<string>()
    for (let count = 0; count < 20; count++)
      ids.add((await ask(CHAT, 'both')).values('x-request-id')[0] ?? '')
    expect(ids.size).toBe(20)
  })
})
