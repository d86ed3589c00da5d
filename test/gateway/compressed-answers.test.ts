import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { byteByByte, cutAt, json, reply } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, expectOpenaiError, loggedFor, post } from './calls.ts'

const CODINGS: readonly (readonly [title: string, name: string, encode: (text: string) => Buffer])[] = [
  ['gzip', 'gzip', text => gzipSync(text)],
  ['gzip under its old name', 'X-Gzip', text => gzipSync(text)],
  ['deflate', 'deflate', text => deflateSync(text)],
  ['deflate without its header', 'deflate', text => deflateRawSync(text)],
  ['br', 'br', text => brotliCompressSync(text)],
  ['zstd', 'identity, zstd', text => zstdCompressSync(text)],
]
const ANSWER = JSON.stringify({
  model: 'served-oai',
  choices: [{ message: { content: 'hé '.repeat(200) } }],
  usage: { prompt_tokens: 30, completion_tokens: 20 },
})
const STREAM = `data: {"model":"served-oai","choices":[{"delta":{"content":"${'hi '.repeat(50)}"}}]}\n\ndata: [DONE]\n\n`
const renamed = (text: string) => text.replaceAll('served-oai', 'ext/chat')

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())

const encoded = (
  coding: string,
  body: Buffer | readonly (Buffer | Promise<unknown>)[],
  type = 'application/json',
  status = 200,
) =>
  reply({
    status,
    headers: { 'content-type': type, 'Content-Encoding': coding },
    body: Buffer.isBuffer(body) ? [body] : body,
    framing: 'chunked',
  })

describe.each(CODINGS)('an answer in %s, though identity was asked for', (_title, name, encode) => {
  it('is decoded, renamed, billed, and sent on plain, however it is cut', async () => {
    const bytes = encode(ANSWER)
    for (const pieces of [[bytes], byteByByte(bytes), cutAt(bytes, 1, 2, 40)]) {
      upstream.answerNext(encoded(name, pieces))
      const answer = await post(gateway, CHAT, { model: 'ext/chat' })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-encoding')).toBe(null)
      expect(await answer.text()).toBe(renamed(ANSWER))
      expect(gateway.ledger.ends.at(-1)).toMatchObject({
        kind: 'settle',
        usage: { inputTokens: 30, outputTokens: 20 },
      })
    }
    expect(upstream.lastRequest.header('accept-encoding')).toBe('identity')
  })

  it('as a stream is decoded as it comes', async () => {
    const bytes = encode(STREAM)
    upstream.answerNext(encoded(name, byteByByte(bytes), 'text/event-stream'))
    const answer = await post(gateway, CHAT, { model: 'ext/chat', stream: true })
    expect(answer.headers.get('content-encoding')).toBe(null)
    expect(await answer.text()).toBe(renamed(STREAM))
  })

  it('that is a rejection is decoded, too: a 400 of its own, and an account without money', async () => {
    const rejection = JSON.stringify({ error: { message: 'no served-oai' } })
    upstream.answerNext(
      encoded(name, encode(rejection), 'application/json', 400),
      encoded(name, encode(rejection), 'application/json', 422),
      encoded(name, encode('{"error":{"code":"insufficient_quota"}}'), 'application/json', 429),
    )
    for (const status of [400, 422]) {
      const answer = await post(gateway, CHAT, { model: 'ext/chat' })
      expect([answer.status, await answer.text()]).toEqual([status, renamed(rejection)])
      expect(answer.headers.get('content-encoding')).toBe(null)
    }
    const unpaid = await post(gateway, CHAT, { model: 'ext/chat' })
    expect(unpaid.status).toBe(502)
    expect(await unpaid.json()).toMatchObject({ error: { code: 'upstream_credentials' } })
  })

  it('that ends too early, or is not what it says, is a 502', async () => {
    const bytes = encode(ANSWER)
    for (const body of [bytes.subarray(0, bytes.length - 12), Buffer.from(`${ANSWER}${ANSWER}`)]) {
      upstream.answerNext(encoded(name, body))
      const answer = await post(gateway, CHAT, { model: 'ext/chat' })
      await expectOpenaiError(answer, { status: 502, type: 'server_error', code: 'upstream_error' })
      expect((await loggedFor(gateway, answer))['reason']).toMatch(/content-encoding|before it was whole/)
    }
  })

  it('that would become a thousand times its size is a 502 before a byte of it is sent', async () => {
    const bomb = encode(`{"model":"served-oai","x":"${'0'.repeat(50_000_000)}"}`)
    expect(bomb.length).toBeLessThan(120_000)
    upstream.answerNext(encoded(name, bomb))
    const answer = await post(gateway, CHAT, { model: 'ext/chat' })
    await expectOpenaiError(answer, { status: 502, type: 'server_error', code: 'upstream_error' })
    expect((await loggedFor(gateway, answer))['reason']).toMatch(/\d+ bytes out of \d+$/)
    expect(gateway.ledger.openHolds).toEqual([])
  })
})

it('an answer in an unknown coding, or in two, is a 502', async () => {
  for (const coding of ['compress', 'gzip, br', 'gzip,gzip', 'x']) {
    for (const status of [200, 400]) {
      upstream.answerNext(encoded(coding, Buffer.from(ANSWER), 'application/json', status))
      const answer = await post(gateway, CHAT, { model: 'ext/chat' })
      await expectOpenaiError(answer, { status: 502, type: 'server_error', code: 'upstream_error' })
    }
  }
})

it('a compressed answer without a byte is as empty as a plain one', async () => {
  upstream.answerNext(encoded('gzip', Buffer.alloc(0)), json(''))
  for (let time = 0; time < 2; time++)
    expect((await post(gateway, CHAT, { model: 'ext/chat' })).status).toBe(502)
})

it('what comes behind the end of a compressed answer is read for a while only', async () => {
  const never = gate()
  // gzip ends at a zero: any other byte would begin another member.
  const excess = Buffer.alloc(40_000)
  upstream.answerNext(encoded('gzip', [gzipSync(ANSWER), excess, excess, excess, never.opened]))
  const arrived = upstream.nextRequest()
  const answer = await post(gateway, CHAT, { model: 'ext/chat' })
  expect([answer.status, await answer.text()]).toEqual([200, renamed(ANSWER)])
  await (await arrived).gone
  expect(gateway.upstreams.exchangePorts.deadlines.size).toBe(0)
  expect(gateway.ledger.openHolds).toEqual([])
})

/** More than the buffers between gateway and client take. */
const LONG_STREAM = (() => {
  const event = (nth: number) => `data: {"n":${nth},"x":"${Math.sin(nth).toString(36).repeat(40)}"}\n\n`
  return `${Array.from({ length: 20_000 }, (_, nth) => event(nth)).join('')}data: [DONE]\n\n`
})()

/** Has sent a request for a stream, and reads nothing of it yet. */
async function idleReader() {
  upstream.answerNext(encoded('gzip', gzipSync(LONG_STREAM), 'text/event-stream'))
  const asked = request(gateway.url + CHAT, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.secretOf('admin')}`, 'content-type': 'application/json' },
  }).end('{"model":"ext/chat","stream":true}')
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
  return answer
}

it('a compressed stream waits for a client that reads slowly, and loses nothing', async () => {
  const pieces: Buffer[] = []
  for await (const piece of await idleReader()) pieces.push(piece as Buffer)
  expect(Buffer.concat(pieces).toString() === LONG_STREAM).toBe(true)
})

it('a client that leaves a compressed stream unread leaves nothing behind', async () => {
  const answer = await idleReader()
  const { length: endsBefore } = gateway.ledger.ends
  answer.destroy()
  await expect.poll(() => gateway.ledger.ends.length).toBe(endsBefore + 1)
  expect(gateway.upstreams.exchangePorts.deadlines.size).toBe(0)
  expect(gateway.ledger.openHolds).toEqual([])
})

it('a client that leaves a compressed stream is hung up for upstream', async () => {
  const door = gate()
  upstream.answerNext(encoded('gzip', [gzipSync(STREAM).subarray(0, 30), door.opened], 'text/event-stream'))
  const leaving = new AbortController()
  const asked = fetch(gateway.url + CHAT, {
    method: 'POST',
    body: '{"model":"ext/chat","stream":true}',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${gateway.secretOf('admin')}`, 'content-type': 'application/json' },
  })
  const arrived = await upstream.nextRequest()
  await asked
  leaving.abort()
  await arrived.gone
  expect(gateway.upstreams.exchangePorts.deadlines.size).toBe(0)
})
