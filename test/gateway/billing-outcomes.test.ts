import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { bytes, json, reply, reset, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import type { Answer } from '../support/scripted-upstream.ts'
import {
  billingScene,
  DONE,
  expectNothingHeld,
  MESSAGE_STOP,
  messageDelta,
  messageStart,
  nano,
  readUntil,
  textChunk,
  textDelta,
  usageChunk,
} from './billing-scene.ts'
import { CHAT, COUNT_TOKENS, EMBEDDINGS, MESSAGES, RERANK } from './calls.ts'

/** An error inside a stream, as both protocols tell it. */
const ERROR_EVENT = `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'overloaded_error' } })}\n\n`

const BOTH = [
  ['OpenAI', CHAT],
  ['Anthropic', MESSAGES],
] as const

const CHAT_USAGE = { usage: { prompt_tokens: 100, completion_tokens: 20 } }
const MESSAGE_USAGE = { usage: { input_tokens: 100, output_tokens: 20 } }
/** Of 20 tokens at 4 bytes each. */
const TEXT = 'x'.repeat(80)
/** More than the gateway holds back of an answer in JSON. */
const LONG_TEXT = 'x'.repeat(300_000)

const jsonParts = (body: readonly string[], ending: 'cut' | 'reset' | 'end') =>
  reply({ headers: { 'content-type': 'application/json' }, body, framing: 'chunked', ending })

describe.each(BOTH)(
  'nothing is charged, and all that was held is free again, over %s, where',
  (_name, path) => {
    it('the request is rejected', async () => {
      const { gateway, call, upstream } = await billingScene()
      for (const [body, status] of [
        [{ model: 'none' }, 404],
        [{ max_tokens: 900_000_000_000 }, 429],
        [{ model: 7 }, 400],
      ] as const) {
        expect((await call(path, body)).status).toBe(status)
        await gateway.nextLogged()
      }
      expect(gateway.ledger.holds).toEqual([])
      expect(gateway.ledger.calls).toEqual([])
      expect(upstream.requests).toEqual([])
      expectNothingHeld(gateway)
    })

    it('no server listens at the endpoint', async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await new Promise(resolve => void server.once('listening', resolve))
      const { port } = server.address() as { port: number }
      await new Promise(resolve => void server.close(resolve))
      const { call, release } = await billingScene({ upstreamUrl: `http://127.0.0.1:${port}` })
      expect((await call(path, {})).status).toBe(502)
      expect(await release()).toMatchObject({ reason: 'upstream_error' })
    })

    it.each<[number, number, string]>([
      [401, 502, 'upstream_credentials'],
      [404, 502, 'upstream_not_found'],
      [429, 429, 'upstream_rate_limited'],
      [500, 502, 'upstream_error'],
      [503, 503, 'unavailable'],
      [529, 503, 'unavailable'],
      // A rejection that speaks of the client's own request goes through.
      [400, 400, 'upstream_400'],
      [413, 413, 'upstream_413'],
      [422, 422, 'upstream_422'],
    ])('the upstream answers %i, whatever usage it claims', async (status, shown, reason) => {
      const { gateway, upstream, call, release } = await billingScene()
      upstream.answer(json({ ...CHAT_USAGE, error: { message: 'no' } }, { status }))
      const answer = await call(path, {})
      await answer.text()
      expect(answer.status).toBe(shown)
      expect(await release()).toMatchObject({ reason })
      expect(gateway.ledger.calls).toMatchObject([{ status: shown, amountNano: 0n, flags: [] }])
    })

    it.each<[string, Answer]>([
      ['resets before the head', reset],
      ['answers no HTTP', bytes('nonsense\r\n\r\n')],
      ['answers a page', reply({ headers: { 'content-type': 'text/html' }, body: '<html>' })],
      ['breaks before the first byte of a body', json('', { framing: 'chunked', ending: 'reset' })],
      ['breaks before the first event of a stream', sse([], { ending: 'reset' })],
      ['answers nothing at all', json('')],
      ['cuts its JSON', jsonParts([`{"choices":[{"message":{"content":"${TEXT}"}}],`], 'cut')],
      ['ends its JSON too early', json(`{"choices":[{"message":{"content":"${TEXT}"}}]`)],
      ['answers what is no JSON, with usage in it', json(`{"usage":{"prompt_tokens":1},}`)],
    ])('the upstream %s', async (_title, answer) => {
      const { upstream, call, release } = await billingScene()
      upstream.answer(answer)
      const got = await call(path, {})
      const text = await got.text()
      if (got.status !== 502) expect(text).toContain('"error"')
      expect(await release()).toMatchObject({ reason: 'upstream_error' })
    })

    it('the client leaves while its hold is being written: the upstream never hears of it', async () => {
      const { gateway, upstream, call, release } = await billingScene()
      const written = gate()
      const asked = gate()
      gateway.ledger.beforeOpen = () => {
        asked.open()
        return written.opened
      }
      const leaving = new AbortController()
      const answer = call(path, {}, { signal: leaving.signal })
      await asked.opened
      leaving.abort()
      await expect(answer).rejects.toThrow('abort')
      // One round through the gateway: by then it has heard that the other client has left.
      expect((await fetch(`${gateway.url}/v1/models`)).status).toBe(401)
      await gateway.nextLogged()
      written.open()
      expect(await release()).toMatchObject({ reason: 'client_gone' })
      expect(upstream.requests).toEqual([])
    })

    it('the client leaves in the middle of a rejection that goes through', async () => {
      const { upstream, call, release } = await billingScene()
      const padding = 'x'.repeat(2_000_000)
      upstream.answer(
        reply({
          status: 400,
          headers: { 'content-type': 'application/json' },
          body: [`{"error":"${padding}`],
          framing: 'chunked',
          ending: 'hang',
        }),
      )
      const leaving = new AbortController()
      const answer = await call(path, {}, { signal: leaving.signal })
      expect(answer.status).toBe(400)
      leaving.abort()
      expect(await release()).toMatchObject({ reason: 'upstream_400' })
    })
  },
)

describe('what was reported is charged, exactly, where', () => {
  it.each<[string, string, Answer, object, bigint]>([
    ['OpenAI', CHAT, json(CHAT_USAGE), {}, nano({ fresh: 100, output: 20 })],
    ['Anthropic', MESSAGES, json(MESSAGE_USAGE), {}, nano({ fresh: 100, output: 20 })],
    [
      'OpenAI, streamed,',
      CHAT,
      sse(textChunk('hi') + usageChunk(100, 20) + DONE),
      { stream: true },
      nano({ fresh: 100, output: 20 }),
    ],
    [
      'Anthropic, streamed,',
      MESSAGES,
      sse(
        messageStart({ input_tokens: 100, output_tokens: 1 }) +
          messageDelta({ output_tokens: 20 }) +
          MESSAGE_STOP,
      ),
      { stream: true },
      nano({ fresh: 100, output: 20 }),
    ],
    ['embeddings', EMBEDDINGS, json({ usage: { prompt_tokens: 100 } }), {}, nano({ fresh: 100 })],
    [
      'a rerank by search unit',
      RERANK,
      json({ meta: { billed_units: { search_units: 3 } } }),
      { model: 'ranked' },
      6_000_000n,
    ],
    [
      'a rerank by token',
      RERANK,
      json({ usage: { total_tokens: 7 }, meta: { billed_units: { search_units: 3 } } }),
      {},
      nano({ fresh: 7 }),
    ],
    ['a price per request', CHAT, json(CHAT_USAGE), { model: 'flat' }, 10_000_000n + nano({ fresh: 100 })],
    ['zeros, which are a fact,', CHAT, json({ usage: { prompt_tokens: 0, completion_tokens: 0 } }), {}, 0n],
    [
      'zeros of a stream',
      MESSAGES,
      sse(messageStart({ input_tokens: 0, output_tokens: 0 }) + textDelta(TEXT) + MESSAGE_STOP),
      { stream: true },
      0n,
    ],
  ])('%s answered', async (_title, path, answer, body, amountNano) => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answer(answer)
    const got = await call(path, body)
    expect(got.status).toBe(200)
    await got.text()
    expect(await settlement()).toMatchObject({ amountNano, flags: [] })
  })

  it('nothing has a price: 0, marked as unpriced', async () => {
    const { upstream, gateway, call, settlement } = await billingScene()
    upstream.answer(json(CHAT_USAGE))
    await (await call(CHAT, { model: 'unpriced' })).text()
    const { amountNano, flags, usage } = await settlement()
    expect({ amountNano, flags }).toEqual({ amountNano: 0n, flags: ['unpriced'] })
    expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 20 })
    expect(gateway.ledger.calls).toMatchObject([{ flags: ['unpriced'], usage: { inputTokens: 100 } }])
  })

  it.each<[string, string, string, string]>([
    ['OpenAI', CHAT, textChunk('hi') + usageChunk(100, 20), DONE],
    ['Anthropic', MESSAGES, messageStart({ input_tokens: 100, output_tokens: 20 }), MESSAGE_STOP],
  ])('the client of %s leaves after the last event: a success', async (_title, path, before, last) => {
    const { upstream, gateway, call, settlement } = await billingScene()
    upstream.answer(sse([before + last], { ending: 'hang' }))
    const leaving = new AbortController()
    const answer = await call(path, { stream: true }, { signal: leaving.signal })
    await readUntil(answer, text => text.endsWith(last))
    leaving.abort()
    const { amountNano, flags } = await settlement()
    expect({ amountNano, flags }).toEqual({ amountNano: nano({ fresh: 100, output: 20 }), flags: [] })
    expect(gateway.ledger.calls).toMatchObject([{ status: 200, outcome: 'answered', flags: [] }])
  })
})

describe.each<[string, string, string, string]>([
  ['OpenAI', CHAT, textChunk(TEXT), DONE],
  ['Anthropic', MESSAGES, messageStart() + textDelta(TEXT), MESSAGE_STOP],
])('of a stream of %s', (_title, path, events, last) => {
  const body = { stream: true, messages: [{ role: 'user', content: 'y'.repeat(400) }] }
  const inputTokens = Math.ceil(Buffer.byteLength(JSON.stringify({ model: 'm', ...body })) / 4)

  it('that reports nothing, the input is estimated by its length, and the output by what passed by', async () => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answer(sse(events + last))
    await (await call(path, body)).text()
    const { usage, amountNano, flags } = await settlement()
    expect(flags).toEqual(['estimated'])
    expect(usage.inputTokens).toBe(inputTokens)
    expectAbout(usage.outputTokens, 20)
    expect(amountNano).toBe(nano({ fresh: inputTokens, output: usage.outputTokens }))
  })

  it('whose client leaves midway, what passed by is charged, and the upstream hears of it at once', async () => {
    const { upstream, gateway, call, settlement } = await billingScene()
    upstream.answer(sse([events], { ending: 'hang' }))
    const leaving = new AbortController()
    const answer = await call(path, body, { signal: leaving.signal })
    await readUntil(answer, text => text.includes(TEXT))
    leaving.abort()
    await upstream.lastRequest.gone
    const { usage, amountNano, flags } = await settlement()
    expect(flags).toEqual(['client_gone', 'estimated'])
    expect(usage.inputTokens).toBe(inputTokens)
    expectAbout(usage.outputTokens, 20)
    expect(amountNano).toBe(nano({ fresh: inputTokens, output: usage.outputTokens }))
    expect(gateway.ledger.calls).toMatchObject([{ status: 200, outcome: 'client_gone', flags, amountNano }])
  })

  it.each<[string, { settings?: string; publication?: string }]>([
    ['everywhere', { settings: '{ on_upstream_error: free }' }],
    ['of this publication', { publication: 'on_upstream_error: free' }],
  ])(
    'whose upstream breaks midway, nothing is charged where the operator has it free %s',
    async (_where, free) => {
      for (const ending of ['reset', 'cut', 'end'] as const) {
        const { upstream, call, release } = await billingScene(free)
        upstream.answer(sse([events], { ending }))
        expect(await (await call(path, body)).text()).toContain('"error"')
        expect(await release()).toMatchObject({ reason: 'upstream_error' })
      }
      const { upstream, call, release } = await billingScene(free)
      upstream.answer(sse(events + ERROR_EVENT))
      await (await call(path, body)).text()
      expect(await release()).toMatchObject({ reason: 'upstream_error' })
    },
  )

  it.each(['reset', 'cut', 'end'] as const)(
    'whose upstream breaks midway (%s), what was received is charged as partial, and the client gets an error',
    async ending => {
      const { upstream, gateway, call, settlement } = await billingScene()
      upstream.answer(sse([events], { ending }))
      const text = await (await call(path, body)).text()
      expect(text).toContain('"error"')
      expect(text).not.toContain(last)
      const { usage, flags } = await settlement()
      expect(flags).toEqual(['partial', 'estimated'])
      expect(usage.inputTokens).toBe(inputTokens)
      expectAbout(usage.outputTokens, 20)
      expect(gateway.ledger.calls).toMatchObject([{ outcome: 'broken', flags }])
    },
  )
})

describe('of an answer in JSON', () => {
  it('that breaks off after a part of it has gone out, what was received is charged as partial', async () => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answer(jsonParts([`{"choices":[{"message":{"content":"${LONG_TEXT}`], 'cut'))
    const answer = await call(CHAT, {})
    expect(answer.status).toBe(200)
    await expect(answer.text()).rejects.toThrow('terminated')
    const { usage, flags } = await settlement()
    expect(flags).toEqual(['partial', 'estimated'])
    expectAbout(usage.outputTokens, LONG_TEXT.length / 4)
  })

  it.each<[string, unknown]>([
    ['absent', undefined],
    ['negative', { prompt_tokens: -5, completion_tokens: 20 }],
    ['no number', { prompt_tokens: 'many', completion_tokens: 20 }],
    ['fractional', { prompt_tokens: 1.5, completion_tokens: 20 }],
    ['more tokens than any answer has', { prompt_tokens: 10, completion_tokens: 2_000_000_000_000 }],
  ])('whose usage is %s, an estimate is charged', async (_title, usage) => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answer(json({ model: 'served', choices: [{ message: { content: TEXT } }], usage }))
    const answer = await call(CHAT, {})
    expect(answer.status).toBe(200)
    await answer.text()
    const { usage: charged, flags } = await settlement()
    expect(flags).toEqual(['estimated'])
    expect(charged.inputTokens).toBe(Math.ceil(Buffer.byteLength('{"model":"m"}') / 4))
    expectAbout(charged.outputTokens, 20)
  })
})

describe('the call log', () => {
  it('has no line of a count of tokens, which costs nothing', async () => {
    const { upstream, gateway, call } = await billingScene()
    upstream.answer(json({ input_tokens: 14 }))
    expect((await call(COUNT_TOKENS, {})).status).toBe(200)
    await gateway.nextLogged()
    expect(gateway.ledger).toMatchObject({ holds: [], ends: [], calls: [] })
  })

  it('has no line of embeddings, which are billed all the same, unless it is switched on', async () => {
    for (const embeddings of [false, true]) {
      const { upstream, gateway, call, settlement } = await billingScene({
        settings: `{ log: { embeddings: ${embeddings} } }`,
      })
      upstream.answer(json({ usage: { prompt_tokens: 100 } }))
      await (await call(EMBEDDINGS, {})).text()
      const { amountNano } = await settlement()
      expect(amountNano).toBe(nano({ fresh: 100 }))
      expect(gateway.ledger.calls.map(line => line.path)).toEqual(embeddings ? [EMBEDDINGS] : [])
    }
  })

  it('tells of an answer all that was billed, and no word of what was said', async () => {
    const { upstream, gateway, call, settlement } = await billingScene()
    upstream.answer(json({ choices: [{ message: { content: 'secret answer' } }], ...CHAT_USAGE }))
    await (await call(CHAT, { messages: [{ role: 'user', content: 'secret question' }] })).text()
    const { requestId, amountNano, usage } = await settlement()
    const [line] = gateway.ledger.calls
    expect(line).toMatchObject({ requestId, amountNano, usage, key: 'app', tenant: 'acme', publication: 'm' })
    expect(line).toMatchObject({ endpoint: 'oai', protocol: 'openai', path: CHAT, status: 200, attempts: 1 })
    expect(JSON.stringify([gateway.logged, { ...line, amountNano: 0 }])).not.toContain('secret')
  })
})

function expectAbout(tokens: number, expected: number): void {
  expect(tokens).toBeGreaterThanOrEqual(expected)
  expect(tokens).toBeLessThanOrEqual(expected + 20)
}
