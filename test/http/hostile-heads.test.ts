import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { CHAT, chunk, get, rawHead, rawPost } from '../gateway/calls.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { json } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => {
  upstream.forget()
  upstream.answer(json('{"model":"x"}'))
})

const key = () => `x-api-key: ${gateway.secretOf('admin')}`
const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
const body = '{"model":"ext-both"}'

async function say(bytes: string | Uint8Array) {
  const client = await rawClient(onTestFinished, gateway.url)
  await client.write(bytes)
  return { client, answer: await client.answer() }
}

describe('/health is rejected like everything else', () => {
  it.each<[string, string]>([
    ['under HTTP/2.0', head('GET /health HTTP/2.0', 'host: x')],
    ['of two hosts', head('GET /health HTTP/1.1', 'host: x', 'host: y')],
  ])('%s', async (_title, bytes) => {
    const { client, answer } = await say(bytes)
    expect(answer.status).toBe(400)
    expect(answer.json()).toMatchObject({ error: { code: 'bad_request' } })
    await client.closed
  })
})

describe('a path is compared as it stands', () => {
  it.each([
    '/v1/../v1/models',
    '/v1/./models',
    '/v1//models',
    '/v1/%6Dodels',
    '/v1%2Fmodels',
    '/v1\\models',
    '/v1/models;x=1',
    '/V1/models',
    '/v1/models%00',
    '/%76%31/models',
    '/v1/chat/completions%3Fx',
    '/health/',
    '/health/../v1/models',
    '/%2e%2e/v1/models',
  ])('%s is not found', async target => {
    const { answer } = await say(head(`GET ${target} HTTP/1.1`, 'host: x', key()))
    expect(answer.status).toBe(404)
    expect(answer.json()).toMatchObject({ error: { code: 'unknown_path' } })
  })

  it('a dotted path below /v1/models is only a name that does not exist', async () => {
    for (const target of [
      '/v1/models/../chat/completions',
      '/v1/models/%2e%2e/health',
      '/v1/models//ext/chat',
    ]) {
      const { answer } = await say(head(`GET ${target} HTTP/1.1`, 'host: x', key()))
      expect(answer.json()).toMatchObject({ error: { code: 'model_not_found' } })
    }
  })
})

describe('what is only old or odd is served', () => {
  it('HTTP/1.0, with and without a Host line', async () => {
    for (const lines of [[], ['host: x']]) {
      const { client, answer } = await say(head('GET /v1/models HTTP/1.0', ...lines, key()))
      expect(answer.status).toBe(200)
      await client.closed
    }
  })

  it('128 header lines', async () => {
    const lines = Array.from({ length: 126 }, (_, index) => `x-${index}: 1`)
    expect((await say(head('GET /v1/models HTTP/1.1', 'host: x', key(), ...lines))).answer.status).toBe(200)
  })

  it('Chunked in another letter case, and requests in one segment, in their order', async () => {
    const one = `${rawHead(gateway, CHAT, ['Transfer-Encoding: CHUNKED'])}${chunk(body).toString()}0\r\n\r\n`
    const client = await rawClient(onTestFinished, gateway.url)
    await client.write(one + head('GET /v1/models HTTP/1.1', 'host: x', key()))
    expect((await client.answer()).text()).toBe('{"model":"ext-both"}')
    expect((await client.answer()).json()).toMatchObject({ object: 'list' })
  })

  it('/health, with a query too, without a key and without a line in the log', async () => {
    const before = gateway.logged.length
    for (const path of ['/health', '/health?from=lb']) {
      const answer = await fetch(gateway.url + path)
      expect([answer.status, await answer.text()]).toEqual([200, '{"status":"ok"}'])
    }
    expect(gateway.logged).toHaveLength(before)
  })
})

describe('garbage behind a request', () => {
  it('waits for its answer, gets a 400 of its own behind it, and ends the connection', async () => {
    const held = gate()
    upstream.answerNext(async exchange => {
      await exchange.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
      )
      await exchange.write(chunk('data: {"a":1}\n\n'))
      await held.opened
      await exchange.write(chunk('data: [DONE]\n\n'))
      await exchange.write('0\r\n\r\n')
    })
    const client = await rawClient(onTestFinished, gateway.url)
    await client.write(rawPost(gateway, CHAT, body))
    await client.until(answer => answer.body.length > 0)
    await client.write('garbage\r\n\r\n')
    await client.write('more of it\r\n\r\n')
    // Answered on another connection: so the garbage before it has been read.
    expect((await get(gateway, '/v1/models')).status).toBe(200)
    held.open()
    expect((await client.answer()).text()).toBe('data: {"a":1}\n\ndata: [DONE]\n\n')
    const rejection = await client.answer()
    expect(rejection.status).toBe(400)
    expect(rejection.json()).toMatchObject({ error: { code: 'bad_request' } })
    await client.closed
  })
})

it('answers others while one client sends its head a byte at a time', async () => {
  const slow = await rawClient(onTestFinished, gateway.url)
  const bytes = Buffer.from(head('GET /v1/models HTTP/1.1', 'host: x', key()))
  for (const byte of bytes.subarray(0, -1)) await slow.write(Uint8Array.of(byte))
  expect((await get(gateway, '/v1/models')).status).toBe(200)
  await slow.write('\n')
  expect((await slow.answer()).status).toBe(200)
})
