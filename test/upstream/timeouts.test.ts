import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  CHAT,
  expectAnthropicError,
  expectOpenaiError,
  loggedFor,
  MESSAGES,
  post,
  rawPost,
} from '../gateway/calls.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { bytes, json, silence, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { testGateway } from '../support/gateway.ts'
import { type Answer, scriptedUpstream } from '../support/scripted-upstream.ts'
import { testClock } from '../support/test-clock.ts'

const config = (url: string, timeouts: string) => `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${url}", served_model: s, timeouts: { ${timeouts} } }
  ant: { protocol: anthropic, base_url: "${url}", served_model: s, timeouts: { ${timeouts} } }
publications:
  both: { bindings: [{ endpoint: oai }, { endpoint: ant }] }
keys:
  admin: { kind: platform }
`
const timedOut = { status: 504, type: 'server_error', code: 'upstream_timeout' } as const
const STREAM = { model: 'both', stream: true }

/** A gateway whose time stands still, over an upstream with one answer. */
async function frozen(timeouts: string, answer: Answer) {
  const clock = testClock()
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(answer)
  const gateway = await testGateway(onTestFinished, config(upstream.url, timeouts), { clock })
  return { clock, upstream, gateway }
}

describe('first_byte', () => {
  it.each<[string, Answer]>([
    ['is silent', silence],
    ['drips its head', bytes('HTTP/1.1 200 OK\r\nx: ', 'hang')],
    ['floods interim answers', floodOfInterimAnswers],
    ['continues, and says no more', bytes('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', 'hang')],
  ])('ends the wait for an upstream that %s: 504, and it is hung up on', async (_title, script) => {
    const { clock, upstream, gateway } = await frozen('first_byte: 7s, total: 1h', script)
    for (const path of [CHAT, MESSAGES]) {
      const asked = post(gateway, path, { model: 'both' })
      const request = await upstream.nextRequest()
      clock.advance(6_999)
      await expect(Promise.race([asked, turns(20)])).resolves.toBe('nothing yet')
      clock.advance(1)
      const answer = await asked
      await (path === CHAT
        ? expectOpenaiError(answer, timedOut)
        : expectAnthropicError(answer, { status: 504, type: 'timeout_error' }))
      expect(await loggedFor(gateway, answer)).toMatchObject({
        reason: expect.stringMatching(/first_byte deadline$/),
      })
      await request.gone
    }
    expect(gateway.upstreams.exchangePorts.deadlines.size).toBe(0)
  })

  it('is over once the head has come', async () => {
    const door = gate()
    const { clock, gateway } = await frozen('first_byte: 1s, total: 1h', sse([door, 'data: [DONE]\n\n']))
    const answer = await post(gateway, CHAT, STREAM)
    clock.advance(60_000)
    door.open()
    expect(await answer.text()).toBe('data: [DONE]\n\n')
    expect(gateway.upstreams.exchangePorts.deadlines.size).toBe(0)
  })
})

describe('total', () => {
  it('ends a stream that goes on for ever with an error event', async () => {
    const { clock, upstream, gateway } = await frozen(
      'total: 5s',
      sse(['data: {"a":1}\n\n'], { ending: 'hang' }),
    )
    const client = await rawClient(onTestFinished, gateway.url)
    await client.write(rawPost(gateway, CHAT, JSON.stringify(STREAM)))
    await client.until(({ body }) => body.length > 0)
    clock.advance(5_000)
    const answer = await client.answer()
    expect(answer.whole).toBe(true)
    expect(answer.text()).toMatch(
      /^data: \{"a":1\}\n\ndata: \{"error":\{.*"code":"upstream_timeout"\}\}\n\n$/,
    )
    expect(await loggedFor(gateway, answer)).toMatchObject({
      outcome: 'broken',
      error_code: 'upstream_timeout',
    })
    await (await upstream.nextRequest()).gone
    expect(gateway.upstreams.exchangePorts.deadlines.size).toBe(0)
  })

  it('ends an answer in JSON that is held with a 504', async () => {
    const { clock, gateway, upstream } = await frozen(
      'total: 5s',
      json('{"a":', { framing: 'chunked', ending: 'hang' }),
    )
    const asked = post(gateway, CHAT, { model: 'both' })
    await upstream.nextRequest()
    clock.advance(5_000)
    await expectOpenaiError(await asked, timedOut)
  })

  it('leaves no timer behind an answer', async () => {
    const { gateway } = await frozen('total: 5s', json('{}'))
    expect((await post(gateway, CHAT, { model: 'both' })).status).toBe(200)
    expect(gateway.upstreams.exchangePorts.deadlines.size).toBe(0)
  })
})

describe('the body of a 429, which says whether the account is empty', () => {
  it('is not waited for beyond five seconds: it is a rate limit then', async () => {
    const { clock, gateway } = await frozen(
      'first_byte: 1h, total: 2h',
      json('{"error":', { status: 429, framing: 'chunked', ending: 'hang' }),
    )
    const asked = post(gateway, CHAT, { model: 'both' })
    const sinceMs = clock.monotonicMs()
    let answer: Response | string
    do {
      clock.advance(100)
      answer = await Promise.race([asked, turns(1)])
    } while (typeof answer === 'string')
    expect(answer.status).toBe(429)
    expect(clock.monotonicMs() - sinceMs).toBeGreaterThanOrEqual(5_000)
    expect(gateway.upstreams.exchangePorts.deadlines.size).toBe(0)
  })
})

describe('idle', () => {
  it('ends a stream that stalls with an error event', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(sse(['data: {"a":1}\n\n'], { ending: 'hang' }))
    const gateway = await testGateway(onTestFinished, config(upstream.url, 'idle: 100ms'))
    const answer = await post(gateway, CHAT, STREAM)
    expect(await answer.text()).toMatch(
      /^data: \{"a":1\}\n\ndata: \{"error":\{.*"code":"upstream_timeout"\}\}\n\n$/,
    )
    await (await upstream.nextRequest()).gone
  })

  it('is for the upstream only: a client that pauses for longer loses nothing', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    const event = `data: {"x":"${'x'.repeat(100_000)}"}\n\n`
    upstream.answer(sse([...Array<string>(200).fill(event), 'data: [DONE]\n\n']))
    const gateway = await testGateway(onTestFinished, config(upstream.url, 'idle: 100ms'))
    const client = await rawClient(onTestFinished, gateway.url)
    client.socket.pause()
    await client.write(rawPost(gateway, CHAT, JSON.stringify(STREAM)))
    await upstream.nextRequest()
    // Real time: the deadline is undici's own.
    await new Promise(resolve => setTimeout(resolve, 400))
    let tail = ''
    const ended = new Promise<void>(resolve => {
      client.socket.removeAllListeners('data').on('data', (piece: Buffer) => {
        tail = (tail + piece.toString('latin1')).slice(-100)
        if (tail.endsWith('0\r\n\r\n')) resolve()
      })
    })
    client.socket.resume()
    await ended
    expect(tail).toContain('data: [DONE]\n\n')
  })
})

describe('connect', () => {
  it('ends the wait for an upstream that accepts and never speaks TLS: 504', async () => {
    const port = await plainServer(() => undefined)
    const gateway = await testGateway(onTestFinished, config(`https://127.0.0.1:${port}`, 'connect: 100ms'))
    const answer = await post(gateway, CHAT, { model: 'both' })
    await expectOpenaiError(answer, timedOut)
    expect(await loggedFor(gateway, answer)).toMatchObject({ reason: 'oai: UND_ERR_CONNECT_TIMEOUT' })
  })

  it('to an upstream whose TLS is none is a 502', async () => {
    const port = await plainServer(
      socket => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    )
    const gateway = await testGateway(onTestFinished, config(`https://127.0.0.1:${port}`, ''))
    await expectOpenaiError(await post(gateway, CHAT, { model: 'both' }), {
      status: 502,
      type: 'server_error',
      code: 'upstream_error',
    })
  })
})

/** A server that speaks no TLS; its port. */
async function plainServer(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer(socket => {
    onTestFinished(() => void socket.destroy())
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function floodOfInterimAnswers(exchange: Parameters<Answer>[0]): Promise<void> {
  while (await exchange.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(50)))
    await new Promise(resolve => void setImmediate(resolve))
}

/** Lets the event loop turn a few times. */
async function turns(count: number): Promise<string> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => void setImmediate(resolve))
  return 'nothing yet'
}
