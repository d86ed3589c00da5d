import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { bytes, json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { type Answer, type Exchange, scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, chunk, EMBEDDINGS, loggedFor, MESSAGES, post, rawPost } from './calls.ts'
import { type RawAnswer, rawClient } from './raw-client.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())

const STREAM = '{"model":"ext-both","stream":true,"stream_options":{"include_usage":true}}'
const PLAIN = '{"model":"ext-both"}'
const event = (content: string) =>
  `data: {"model":"served-oai","choices":[{"delta":{"content":"${content}"}}]}\n\n`
const named = (content: string) => event(content).replace('served-oai', 'ext-both')
const HEAD = 'HTTP/1.1 200 Ok\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const JSON_HEAD = HEAD.replace('text/event-stream', 'application/json')

async function ask(path: string, body: string) {
  const client = await rawClient(onTestFinished, gateway.url)
  await client.write(rawPost(gateway, path, body))
  return client
}

const openaiError = (code: string) => ({
  error: { message: expect.any(String), type: 'server_error', param: null, code },
})

/** The last event of a body, and what stands before it. */
function lastEvent(answer: RawAnswer): { before: string; lines: string[] } {
  const events = answer.text().split('\n\n')
  expect(events.at(-1)).toBe('')
  return {
    before: events
      .slice(0, -2)
      .map(text => `${text}\n\n`)
      .join(''),
    lines: events.at(-2)?.split('\n') ?? [],
  }
}

describe('a stream', () => {
  it('shows its head at once, although its first event is yet to come', async () => {
    const door = gate()
    upstream.answerNext(sse([door, event('a'), 'data: [DONE]\n\n']))
    const client = await ask(CHAT, STREAM)
    const early = await client.until(answer => answer.status === 200)
    expect(early.body).toHaveLength(0)
    expect(early.values('content-type')).toEqual(['text/event-stream; charset=utf-8'])
    expect(early.values('x-gw-endpoint')).toEqual(['oai'])
    door.open()
    expect((await client.answer()).text()).toBe(`${named('a')}data: [DONE]\n\n`)
  })

  it('passes each event as it comes, however it is cut', async () => {
    const doors = [gate(), gate(), gate()] as const
    const text = event('é')
    upstream.answerNext(
      sse([event('a'), doors[0], text.slice(0, 20), doors[1], text.slice(20), doors[2], 'data: [DONE]\n\n']),
    )
    const client = await ask(CHAT, STREAM)
    await client.until(answer => answer.text() === named('a'))
    doors[0].open()
    doors[1].open()
    await client.until(answer => answer.text() === named('a') + named('é'))
    doors[2].open()
    expect((await client.answer()).whole).toBe(true)
  })

  it('ends for the client when the upstream ends, and its connection serves the next request', async () => {
    upstream.answer(sse([event('a'), 'data: [DONE]\n\n']))
    const client = await ask(CHAT, STREAM)
    for (let round = 0; round < 3; round++) {
      if (round > 0) await client.write(rawPost(gateway, CHAT, STREAM))
      const answer = await client.answer()
      expect(answer.whole).toBe(true)
      expect(answer.text()).toBe(`${named('a')}data: [DONE]\n\n`)
    }
    expect(new Set(upstream.requests.map(request => request.connection)).size).toBe(1)
  })

  it('is complete at [DONE], whatever the upstream does after it', async () => {
    const whole = `${named('a')}data: [DONE]\n\n`
    const last = chunk(`${event('a')}data: [DONE]\n\n`).toString()
    const goodbyes: Answer[] = [
      sse([event('a'), 'data: [DONE]\n\n'], { ending: 'reset' }),
      sse([event('a'), 'data: [DONE]\n\n'], { ending: 'cut' }),
      // In one segment with the last event: what breaks, breaks before the answer has been settled.
      bytes(`${HEAD}${last}nonsense\r\n`),
      bytes(`${HEAD}${last}nonsense\r\n`, 'reset'),
      bytes(`${HEAD}${last}`),
    ]
    for (const goodbye of goodbyes) {
      upstream.answerNext(goodbye)
      const answer = await (await ask(CHAT, STREAM)).answer()
      expect(answer.text()).toBe(whole)
      expect(answer.whole).toBe(true)
      expect(await loggedFor(gateway, answer)).toMatchObject({ outcome: 'answered' })
    }
  })
})

describe('a stream that breaks', () => {
  it.each<[string, Answer]>([
    ['is reset', sse([event('a')], { ending: 'reset' })],
    ['is cut', sse([event('a')], { ending: 'cut' })],
    ['ends in good order, without [DONE]', sse([event('a')])],
    ['ends with its connection, without [DONE]', sse([event('a')], { framing: 'close' })],
    ['ends inside an event', sse([event('a'), 'data: {"mod'])],
    ['ends inside [DONE]', sse([event('a'), 'data: [DO'])],
    ['sends a bad chunk', bytes(`${HEAD}${chunk(event('a')).toString()}zz\r\n`)],
  ])(
    'because it %s ends with an error event, no [DONE], and an end in good order',
    async (_title, answer) => {
      upstream.answerNext(answer)
      const got = await (await ask(CHAT, STREAM)).answer()
      expect(got.status).toBe(200)
      expect(got.whole).toBe(true)
      const { before, lines } = lastEvent(got)
      expect(before).toBe(named('a'))
      expect(lines).toEqual([expect.stringMatching(/^data: \{"error":/)])
      expect(JSON.parse(lines[0]?.slice(6) ?? '')).toEqual(openaiError('upstream_error'))
      expect(await loggedFor(gateway, got)).toMatchObject({
        outcome: 'broken',
        error_code: 'upstream_error',
        status: 200,
        endpoint: 'oai',
      })
    },
  )

  it('tells it to Anthropic’s clients in their own event, without message_stop', async () => {
    const start = 'event: message_start\ndata: {"type":"message_start","message":{"model":"served-ant"}}\n\n'
    upstream.answerNext(sse([start], { ending: 'reset' }))
    const got = await (await ask(MESSAGES, STREAM)).answer()
    expect(got.whole).toBe(true)
    const { before, lines } = lastEvent(got)
    expect(before).toBe(start.replace('served-ant', 'ext-both'))
    expect(lines[0]).toBe('event: error')
    expect(JSON.parse(lines[1]?.replace(/^data: /, '') ?? '')).toEqual({
      type: 'error',
      error: { type: 'api_error', message: expect.any(String) },
      request_id: got.values('request-id')[0],
    })
    expect(lines).toHaveLength(2)
  })

  it('before its first event tells it in-band too, for its head has gone', async () => {
    const door = gate()
    upstream.answerNext(sse([door], { ending: 'reset' }))
    const client = await ask(CHAT, STREAM)
    await client.until(answer => answer.status === 200)
    door.open()
    const answer = await client.answer()
    expect(answer.whole).toBe(true)
    expect(lastEvent(answer).before).toBe('')
  })

  it('inside an event of which a part has gone out ends that event first', async () => {
    upstream.answerNext(sse([`data: {"model":"served-oai","x":"${'x'.repeat(1_200_000)}`], { ending: 'cut' }))
    const answer = await (await ask(CHAT, STREAM)).answer()
    const { before, lines } = lastEvent(answer)
    expect(before.endsWith('xxx\n\n')).toBe(true)
    expect(before.startsWith('data: {"model":"ext-both"')).toBe(true)
    expect(JSON.parse(lines[0]?.slice(6) ?? '')).toEqual(openaiError('upstream_error'))
  })

  it('with an error of the upstream’s own passes that, and adds none', async () => {
    const own = 'data: {"error":{"message":"overloaded","code":529}}\n\n'
    upstream.answerNext(sse([event('a'), own]))
    expect((await (await ask(CHAT, STREAM)).answer()).text()).toBe(named('a') + own)
  })
})

describe('an answer in JSON that breaks', () => {
  const large = `{"model":"served-oai","data":"${'x'.repeat(600_000)}`

  it('is a 502 where nothing had gone out yet', async () => {
    upstream.answerNext(json('{"model":"served-oai","x":', { framing: 'chunked', ending: 'reset' }))
    const answer = await (await ask(EMBEDDINGS, PLAIN)).answer()
    expect(answer.status).toBe(502)
    expect(answer.json()).toEqual(openaiError('upstream_error'))
    expect(await loggedFor(gateway, answer)).toMatchObject({ outcome: 'failed', status: 502 })
  })

  it.each<[string, (exchange: Exchange) => unknown]>([
    ['reset', exchange => exchange.reset()],
    ['cut', exchange => exchange.end()],
    ['ended in good order, half said', exchange => exchange.write('0\r\n\r\n')],
    ['a bad chunk', exchange => exchange.write('zz\r\n')],
  ])('is cut where a part had gone out: %s', async (_title, end) => {
    const door = gate()
    upstream.answerNext(async exchange => {
      await exchange.write(JSON_HEAD)
      await exchange.write(chunk(large))
      await door.opened
      await end(exchange)
    })
    const client = await ask(EMBEDDINGS, PLAIN)
    await client.until(answer => answer.body.length > 100_000)
    door.open()
    const got = await client.answer()
    expect(got.status).toBe(200)
    expect(got.whole).toBe(false)
    expect(got.body.length).toBeGreaterThan(100_000)
    await client.closed
    expect(await loggedFor(gateway, got)).toMatchObject({ outcome: 'broken', error_code: 'upstream_error' })
  })
})

describe('a client that leaves is followed by the upstream at once', () => {
  it('before the head has come', async () => {
    upstream.answerNext(exchange => exchange.request.gone)
    const client = await ask(CHAT, STREAM)
    const request = await upstream.nextRequest()
    client.reset()
    await request.gone
    expect(await gateway.nextLogged().then(untilGone)).toMatchObject({
      outcome: 'client_gone',
      status: 0,
      endpoint: 'oai',
    })
  })

  it('in the middle of a stream', async () => {
    upstream.answerNext(sse([event('a')], { ending: 'hang' }))
    const client = await ask(CHAT, STREAM)
    const got = await client.until(answer => answer.text() === named('a'))
    const request = await upstream.nextRequest()
    client.socket.destroy()
    await request.gone
    expect(await loggedFor(gateway, got)).toMatchObject({ outcome: 'client_gone', status: 200 })
  })

  it('in the middle of an answer in JSON, held or passing', async () => {
    for (const body of ['{"model":"served-oai",', `{"data":"${'x'.repeat(600_000)}`]) {
      upstream.answerNext(json(body, { framing: 'chunked', ending: 'hang' }))
      const client = await ask(EMBEDDINGS, PLAIN)
      const request = await upstream.nextRequest()
      if (body.length > 100_000) await client.until(answer => answer.body.length > 0)
      client.reset()
      await request.gone
    }
  })

  it('while its body is still coming; then the upstream hears nothing at all', async () => {
    const client = await rawClient(onTestFinished, gateway.url)
    const bytesOf = rawPost(gateway, CHAT, STREAM)
    const before = gateway.logged.length
    await client.write(bytesOf.subarray(0, -3))
    // Answered on another connection: so the head before it has been read.
    upstream.answerNext(json('{}'))
    expect((await post(gateway, CHAT, PLAIN)).status).toBe(200)
    client.reset()
    while (!gateway.logged.slice(before).some(line => line['outcome'] === 'client_gone'))
      await gateway.nextLogged()
    expect(upstream.requests).toHaveLength(1)
  })

  /** Lines of other requests may still be unread. */
  async function untilGone(line: Record<string, unknown>): Promise<Record<string, unknown>> {
    let seen = line
    while (seen['outcome'] !== 'client_gone') seen = await gateway.nextLogged()
    return seen
  }
})

describe('a client that stops reading holds the upstream', () => {
  const TOTAL = 400
  const PIECE = 262_144

  it.each<[string, string, string, (index: number) => string, string]>([
    [
      'of a stream',
      CHAT,
      HEAD,
      () => `data: {"model":"served-oai","x":"${'x'.repeat(PIECE - 40)}"}\n\n`,
      'data: [DONE]\n\n',
    ],
    [
      'of an answer in JSON',
      EMBEDDINGS,
      JSON_HEAD,
      index => `${index === 0 ? '{"data":[' : ','}"${'x'.repeat(PIECE)}"`,
      ']}',
    ],
  ])('%s, and lets it go on when it reads again', async (_title, path, head, pieceOf, last) => {
    let written = 0
    const stalled = gate()
    upstream.answerNext(async exchange => {
      await exchange.write(head)
      for (let index = 0; index < TOTAL; index++) {
        const piece = chunk(pieceOf(index))
        const taken = exchange.write(piece)
        // The kernel takes no more: everything between here and the client is full.
        const timer = setTimeout(() => stalled.open(), 300)
        await taken
        clearTimeout(timer)
        written += piece.length
      }
      await exchange.write(chunk(last))
      await exchange.write('0\r\n\r\n')
    })
    const client = await rawClient(onTestFinished, gateway.url)
    let got = 0
    client.socket.removeAllListeners('data')
    client.socket.pause()
    await client.write(rawPost(gateway, path, STREAM))
    await stalled.opened
    // 100 MB are offered; the buffers of two connections and of the gateway take a small part of that.
    expect(written).toBeLessThan((TOTAL * PIECE) / 4)
    const ended = new Promise<void>(resolve => {
      client.socket.on('data', piece => {
        got += piece.length
        if (piece.subarray(-5).toString('latin1') === '0\r\n\r\n') resolve()
      })
    })
    client.socket.resume()
    await ended
    expect(got).toBeGreaterThan(TOTAL * (PIECE - 100))
    expect(written).toBeGreaterThan(TOTAL * (PIECE - 100))
  })
})

describe('a large answer', () => {
  it('of 5 MB passes in parts before it is whole, and arrives identical but for the name', async () => {
    const door = gate()
    const vector = Array.from(
      { length: 500 },
      (_, index) => `{"index":${index},"embedding":"${'QUJD'.repeat(2_500)}"}`,
    )
    const text = `{"object":"list","data":[${vector.join(',')}],"model":"served-oai","usage":{"prompt_tokens":7,"total_tokens":7}}`
    const cut = text.length - 60
    upstream.answerNext(async exchange => {
      await exchange.write(JSON_HEAD)
      for (let at = 0; at < cut; at += 100_000)
        await exchange.write(chunk(text.slice(at, Math.min(at + 100_000, cut))))
      await door.opened
      await exchange.write(chunk(text.slice(cut)))
      await exchange.write('0\r\n\r\n')
    })
    const client = await ask(EMBEDDINGS, PLAIN)
    await client.until(answer => answer.body.length > 4_000_000)
    door.open()
    const answer = await client.answer()
    expect(answer.whole).toBe(true)
    expect(answer.text() === text.replace('"served-oai"', '"ext-both"')).toBe(true)
    expect(await loggedFor(gateway, answer)).toMatchObject({ input_tokens: 7 })
  })

  it('that is cut anywhere arrives identical but for the name', async () => {
    const text =
      '{"id":"é","model":"served-oai","choices":[{"message":{"content":"😀"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
    const whole = Buffer.from(text)
    for (let at = 1; at < whole.length; at++) {
      upstream.answerNext(async exchange => {
        await exchange.write(JSON_HEAD)
        await exchange.write(chunk(whole.subarray(0, at)))
        await new Promise(resolve => void setImmediate(resolve))
        await exchange.write(Buffer.concat([chunk(whole.subarray(at)), Buffer.from('0\r\n\r\n')]))
      })
      const answer = await post(gateway, CHAT, PLAIN)
      expect(await answer.text()).toBe(text.replace('served-oai', 'ext-both'))
    }
  })
})
