import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { json, silence, sse } from '../support/answers.ts'
import { freePort } from '../support/free-port.ts'
import { gate } from '../support/gate.ts'
import { testGateway } from '../support/gateway.ts'
import { type Answer, scriptedUpstream } from '../support/scripted-upstream.ts'
import { testClock } from '../support/test-clock.ts'
import { CHAT, loggedFor, MESSAGES, post } from './calls.ts'
import { FAULTS } from './faults.ts'

const config = (urls: readonly string[], more: { timeouts?: string; settings?: string } = {}) => `
version: 1
settings: { ${more.settings ?? ''} }
endpoints:
${urls
  .flatMap((url, index) =>
    (['openai', 'anthropic'] as const).map(
      protocol =>
        `  ${protocol}-${index}: { protocol: ${protocol}, base_url: "${url}/v1", served_model: served-${index}, timeouts: { ${more.timeouts ?? ''} } }`,
    ),
  )
  .join('\n')}
publications:
  m:
    price: { input: "1", output: "10" }
    bindings: [${urls.flatMap((_, index) => [`{ endpoint: openai-${index}, priority: ${index} }`, `{ endpoint: anthropic-${index}, priority: ${index} }`]).join(', ')}]
keys:
  admin: { kind: platform }
`

/** A gateway over as many upstreams as there are answers, each the next one's fallback. */
async function scene(
  answers: readonly Answer[],
  more: Parameters<typeof config>[1] & { clock?: Clock } = {},
) {
  const upstreams = await Promise.all(answers.map(() => scriptedUpstream(onTestFinished)))
  upstreams.forEach((upstream, index) => {
    upstream.answer(answers[index] as Answer)
  })
  const clock = testClock()
  const yaml = config(
    upstreams.map(({ url }) => url),
    more,
  )
  const gateway = await testGateway(onTestFinished, yaml, { clock: more.clock ?? clock })
  return { upstreams, gateway, clock, asked: () => upstreams.map(({ requests }) => requests.length) }
}

const USAGE = { prompt_tokens: 3, completion_tokens: 2 }
const CHUNK = `data: {"model":"served-1","choices":[{"delta":{"content":"hi"}}],"usage":${JSON.stringify(USAGE)}}\n\n`
const SHAPES = {
  'an answer of OpenAI': {
    path: CHAT,
    stream: false,
    good: json({ model: 'served-1', choices: [], usage: USAGE }),
  },
  'a stream of OpenAI': { path: CHAT, stream: true, good: sse([CHUNK, 'data: [DONE]\n\n']) },
  'an answer of Anthropic': {
    path: MESSAGES,
    stream: false,
    good: json({ type: 'message', model: 'served-1', usage: { input_tokens: 3, output_tokens: 2 } }),
  },
  'a stream of Anthropic': {
    path: MESSAGES,
    stream: true,
    good: sse([
      'event: message_start\ndata: {"type":"message_start","message":{"model":"served-1","usage":{"input_tokens":3,"output_tokens":1}}}\n\n',
      'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":2}}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ]),
  },
} as const

/** 3 tokens at 1 and 2 at 10 per million, in nano-units. */
const COST_NANO = 23_000n

describe.each(Object.entries(SHAPES))('%s', (_name, { path, stream, good }) => {
  const protocol = path === CHAT ? 'openai' : 'anthropic'
  const endpoint = (index: number) => `${protocol}-${index}`

  it.each(FAULTS.filter(({ isFinal }) => !isFinal))(
    'comes from the next endpoint where the first one fails by $title, and is billed once',
    async ({ answer }) => {
      const { gateway, asked, upstreams } = await scene([answer, good])
      const response = await post(gateway, path, { model: 'm', stream, max_tokens: 10 })
      expect(response.status).toBe(200)
      expect(await response.text()).not.toContain('served-')
      expect(response.headers.get('x-gw-endpoint')).toBe(endpoint(1))
      expect(asked()).toEqual([1, 1])
      expect(upstreams[1]?.lastRequest.json()).toMatchObject({ model: 'served-1' })
      expect(gateway.ledger.ends).toMatchObject([
        { kind: 'settle', endpoint: endpoint(1), amountNano: COST_NANO },
      ])
      expect(gateway.ledger.openHolds).toEqual([])
      expect(await loggedFor(gateway, response)).toMatchObject({ endpoint: endpoint(1), attempts: 2 })
      expect(gateway.ledger.calls).toMatchObject([{ attempts: 2, endpoint: endpoint(1) }])
      expect(gateway.upstreams.health.report().map(({ inFlight }) => inFlight)).toEqual([0, 0, 0, 0])
    },
  )

  it.each(FAULTS.filter(({ isFinal }) => isFinal))(
    'comes from nowhere else where the first one fails by $title: nothing is billed',
    async ({ answer, status }) => {
      const { gateway, asked } = await scene([answer, good])
      const response = await post(gateway, path, { model: 'm', stream, max_tokens: 10 })
      expect(response.status).toBe(status)
      await response.text().catch(() => undefined)
      expect(asked()).toEqual([1, 0])
      await gateway.ledger.nextEnd()
      expect(gateway.ledger.openHolds).toEqual([])
    },
  )

  it.each([400, 409, 413, 422])(
    'that is a %i is the request’s own: it is passed on, and no other endpoint is asked',
    async status => {
      const { gateway, asked } = await scene([json({ error: { message: 'no' } }, { status }), good])
      const response = await post(gateway, path, { model: 'm', stream, max_tokens: 10 })
      expect(response.status).toBe(status)
      expect(asked()).toEqual([1, 0])
      expect(gateway.ledger.ends).toMatchObject([{ kind: 'release', reason: `upstream_${status}` }])
    },
  )

  it('comes from the next endpoint where the first one is silent for too long', async () => {
    const { gateway, clock, upstreams, asked } = await scene([silence, good], { timeouts: 'first_byte: 7s' })
    const answered = post(gateway, path, { model: 'm', stream, max_tokens: 10 })
    await upstreams[0]?.nextRequest()
    clock.advance(7_000)
    const response = await answered
    expect(response.status).toBe(200)
    await response.text()
    expect(asked()).toEqual([1, 1])
    expect(gateway.ledger.ends).toMatchObject([{ kind: 'settle', endpoint: endpoint(1) }])
  })

  it('comes from the third endpoint, and from no fourth', async () => {
    const bad = json({}, { status: 500 })
    const third = await scene([bad, bad, good])
    const answer = await post(third.gateway, path, { model: 'm', stream, max_tokens: 10 })
    expect(answer.status).toBe(200)
    await answer.text()
    expect(third.asked()).toEqual([1, 1, 1])
    const fourth = await scene([bad, bad, bad, good])
    const rejected = await post(fourth.gateway, path, { model: 'm', stream, max_tokens: 10 })
    expect(rejected.status).toBe(502)
    expect(fourth.asked()).toEqual([1, 1, 1, 0])
    expect(await loggedFor(fourth.gateway, rejected)).toMatchObject({ attempts: 3, endpoint: endpoint(2) })
  })
})

describe('the total time of a request', () => {
  it('counts from its first dispatch, whichever endpoint serves it: none is asked after it', async () => {
    const { gateway, clock, upstreams, asked } = await scene([silence, silence, silence], {
      timeouts: 'first_byte: 6s, total: 10s',
    })
    const answered = post(gateway, CHAT, { model: 'm' })
    await upstreams[0]?.nextRequest()
    clock.advance(6_000)
    await upstreams[1]?.nextRequest()
    clock.advance(4_000)
    expect((await answered).status).toBe(504)
    expect(asked()).toEqual([1, 1, 0])
  })
})

describe('a client that leaves while the first endpoint is silent', () => {
  const leave = async ({ gateway, upstreams }: Awaited<ReturnType<typeof scene>>) => {
    const leaving = new AbortController()
    const asking = fetch(gateway.url + CHAT, {
      method: 'POST',
      body: '{"model":"m"}',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${gateway.secretOf('admin')}`, 'content-type': 'application/json' },
    }).catch(() => 'left')
    const request = await upstreams[0]?.nextRequest()
    leaving.abort()
    expect(await asking).toBe('left')
    return request
  }

  it('ends the search: no other endpoint is asked, and the input estimate is charged', async () => {
    const made = await scene([silence, SHAPES['an answer of OpenAI'].good], { clock: systemClock })
    await (await leave(made))?.gone
    expect(await made.gateway.ledger.nextEnd()).toMatchObject({
      kind: 'settle',
      flags: ['client_gone', 'estimated'],
      usage: { inputTokens: 4, outputTokens: 0 },
    })
    expect(made.asked()).toEqual([1, 0])
  })

  it('has it read on where that is set: where it fails then, no other endpoint is asked', async () => {
    const left = gate()
    const failing: Answer = async exchange => {
      await left.opened
      await json({}, { status: 503 })(exchange)
    }
    const made = await scene([failing, SHAPES['an answer of OpenAI'].good], {
      clock: systemClock,
      settings: 'on_disconnect: drain',
    })
    await leave(made)
    await (await fetch(`${made.gateway.url}/v1/models`)).text()
    left.open()
    expect(await made.gateway.ledger.nextEnd()).toMatchObject({ kind: 'release', reason: 'unavailable' })
    expect(made.asked()).toEqual([1, 0])
  })
})

describe('an endpoint that fails three times in a row', () => {
  it('is passed over from then on, and its model goes on where another serves it', async () => {
    const { gateway, asked } = await scene([json({}, { status: 500 }), SHAPES['an answer of OpenAI'].good])
    for (let time = 0; time < 5; time++)
      expect((await post(gateway, CHAT, { model: 'm' })).headers.get('x-gw-endpoint')).toBe('openai-1')
    expect(asked()).toEqual([3, 5])
    expect(gateway.upstreams.health.report()).toMatchObject([
      { endpoint: 'anthropic-0', state: 'unknown' },
      { endpoint: 'anthropic-1', state: 'unknown' },
      { endpoint: 'openai-0', state: 'unhealthy', reason: 'openai-0 answered 500' },
      { endpoint: 'openai-1', state: 'healthy' },
    ])
  })

  it('is a 503 where there is no other, at once and without a charge', async () => {
    const gateway = await testGateway(onTestFinished, config([`http://127.0.0.1:${await freePort()}`]))
    const statuses: number[] = []
    for (let time = 0; time < 5; time++) statuses.push((await post(gateway, CHAT, { model: 'm' })).status)
    expect(statuses).toEqual([502, 502, 502, 503, 503])
    expect(gateway.ledger.ends).toHaveLength(3)
    expect(gateway.ledger.ends.every(({ kind }) => kind === 'release')).toBe(true)
  })

  it('may be one whose answers break off: a head alone is no sign of health', async () => {
    const { gateway, asked } = await scene([
      json('{"model":', { framing: 'chunked', ending: 'reset' }),
      SHAPES['an answer of OpenAI'].good,
    ])
    for (let time = 0; time < 4; time++)
      await post(gateway, CHAT, { model: 'm' }).then(
        answer => answer.text(),
        () => '',
      )
    expect(asked()).toEqual([3, 1])
  })
})

describe('an endpoint with max_concurrency', () => {
  it('is at hand again when the last byte of an answer has gone', async () => {
    const door = gate()
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(sse([CHUNK, door, 'data: [DONE]\n\n']))
    const yaml = config([upstream.url]).replaceAll('timeouts: {  }', 'max_concurrency: 1')
    const gateway = await testGateway(onTestFinished, yaml)
    const first = await post(gateway, CHAT, { model: 'm', stream: true })
    const full = await post(gateway, CHAT, { model: 'm', stream: true })
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await full.json()).toMatchObject({
      error: {
        code: 'no_healthy_endpoint',
        message: 'Every endpoint of this model has as many requests as it may.',
      },
    })
    door.open()
    await first.text()
    expect((await post(gateway, CHAT, { model: 'm', stream: true })).status).toBe(200)
  })
})
