import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { httpProbe } from '../../src/upstream/probe/http-probe.ts'
import { json, reply, reset, silence } from '../support/answers.ts'
import { freePort } from '../support/free-port.ts'
import { type TestGateway, testGateway } from '../support/gateway.ts'
import { type Answer, scriptedUpstream } from '../support/scripted-upstream.ts'
import { testClock } from '../support/test-clock.ts'
import { CHAT } from './calls.ts'

const GOOD = json({
  model: 'served',
  choices: [{ message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
})

const config = (urls: readonly string[], timeouts = '') => `
version: 1
endpoints:
${urls
  .map(
    (url, index) =>
      `  e${index}: { protocol: openai, base_url: "${url}/v1", served_model: served, timeouts: { ${timeouts} } }`,
  )
  .join('\n')}
publications:
  m: { bindings: [${urls.map((_, index) => `{ endpoint: e${index}, priority: ${index} }`).join(', ')}] }
tenants: { mallory: {}, acme: {} }
keys:
  poisoner: { kind: tenant, tenant: mallory }
  second-poisoner: { kind: tenant, tenant: mallory }
  app: { kind: tenant, tenant: acme }
`

/** Upstreams that answer well, but for one prompt; and the probe that brings endpoints back. */
async function scene(deed: Answer, endpoints: number, timeouts = '') {
  const upstreams = await Promise.all(
    Array.from({ length: endpoints }, async () => {
      const upstream = await scriptedUpstream(onTestFinished)
      upstream.answer(exchange => (exchange.request.text().includes('poison') ? deed : GOOD)(exchange))
      return upstream
    }),
  )
  const yaml = config(
    upstreams.map(({ url }) => url),
    timeouts,
  )
  const gateway = await testGateway(onTestFinished, yaml, { probe: httpProbe({ clock: systemClock }) })
  return { gateway, upstreams }
}

async function statusOf(gateway: TestGateway, key: string, content: string): Promise<number> {
  const answer = await fetch(gateway.url + CHAT, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.secretOf(key)}` },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
  })
  await answer.text().catch(() => undefined)
  return answer.status
}

const DEEDS: readonly (readonly [title: string, deed: Answer, status: number])[] = [
  ['answer 500', json({ error: { message: 'CUDA error' } }, { status: 500 }), 502],
  ['answer 503', json({ error: { message: 'no' } }, { status: 503 }), 503],
  ['answer 403', json({ error: { message: 'flagged' } }, { status: 403 }), 502],
  ['answer HTML', reply({ headers: { 'content-type': 'text/html' }, body: '<html>' }), 502],
  ['break off', json('{"model":', { framing: 'chunked', ending: 'reset' }), 502],
  ['close the connection', reset, 502],
  ['fall silent', silence, 504],
]

describe.each([
  ['the only endpoint', 1],
  ['two endpoints', 2],
])('Poisoned prompts at %s', (_title, endpoints) => {
  it.each(DEEDS)(
    'one tenant sends a prompt that makes the upstream %s, a hundred times: another tenant’s calls never get a 503',
    { timeout: 60_000 },
    async (_deed, deed, status) => {
      const { gateway } = await scene(deed, endpoints, deed === silence ? 'first_byte: 1s' : '')
      const poison = async (times: number) =>
        Promise.all(
          Array.from({ length: times }, (_, nth) =>
            statusOf(gateway, nth % 2 === 0 ? 'poisoner' : 'second-poisoner', 'poison'),
          ),
        )
      const seen: number[] = []
      const others: number[] = []
      // No other call has been answered before the first of them.
      for (let wave = 0; wave < 2; wave++) {
        seen.push(...(await poison(50)))
        others.push(await statusOf(gateway, 'app', 'hello'), await statusOf(gateway, 'app', 'hello'))
      }
      expect(others).toEqual(Array(4).fill(200))
      expect(seen).toHaveLength(100)
      expect(new Set(seen)).toEqual(new Set([status]))
    },
  )
})

describe('an only endpoint that rejects the gateway’s credential', () => {
  it('stays a 502 that says so, to every tenant, and is shown as unhealthy', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(json({ error: { message: 'bad key' } }, { status: 401 }))
    const gateway = await testGateway(onTestFinished, config([upstream.url]), {
      probe: httpProbe({ clock: systemClock }),
    })
    for (let time = 0; time < 6; time++)
      for (const key of ['app', 'poisoner']) expect(await statusOf(gateway, key, 'hello')).toBe(502)
    expect(gateway.upstreams.health.report()).toMatchObject([{ state: 'unhealthy', reason: /401/ }])
    upstream.answer(GOOD)
    expect(await statusOf(gateway, 'app', 'hello')).toBe(200)
    expect(gateway.upstreams.health.report()).toMatchObject([{ state: 'healthy' }])
  })
})

describe('a really dead upstream', () => {
  it('is taken out with the third failure of whatever key, and is back with the first probe after five seconds', async () => {
    const port = await freePort()
    const first = await scriptedUpstream(() => undefined, { port })
    first.answer(GOOD)
    const clock = testClock()
    const gateway = await testGateway(onTestFinished, config([first.url]), {
      clock,
      probe: httpProbe({ clock: systemClock }),
    })
    expect(await statusOf(gateway, 'app', 'hello')).toBe(200)
    await first.close()
    const statuses: number[] = []
    for (let time = 0; time < 5; time++) statuses.push(await statusOf(gateway, 'app', 'hello'))
    expect(statuses).toEqual([502, 502, 502, 503, 503])

    const second = await scriptedUpstream(onTestFinished, { port })
    second.answer(json({ data: [{ id: 'served' }] }))
    clock.advance(5_000)
    expect((await second.nextRequest()).path).toBe('/v1/models')
    const stateNow = () => gateway.upstreams.health.report()[0]?.state
    while (stateNow() === 'unhealthy') await new Promise(setImmediate)
    second.answer(GOOD)
    expect(await statusOf(gateway, 'app', 'hello')).toBe(200)
  })

  it('that takes connections and never answers is taken out with the third failure of two tenants', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(silence)
    const gateway = await testGateway(onTestFinished, config([upstream.url], 'first_byte: 20ms'))
    const statuses: number[] = []
    for (const key of ['app', 'poisoner', 'app', 'app', 'poisoner'])
      statuses.push(await statusOf(gateway, key, 'hello'))
    expect(statuses).toEqual([504, 504, 504, 503, 503])
  })

  it('that never answers one tenant alone is taken out once it has not answered a probe either', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(silence)
    const gateway = await testGateway(onTestFinished, config([upstream.url], 'first_byte: 20ms'), {
      probe: httpProbe({ clock: systemClock }),
    })
    const statuses = [504, 504, 504]
    for (const status of statuses) expect(await statusOf(gateway, 'app', 'hello')).toBe(status)
    // The probe goes out with the third failure, and has the endpoint's own time.
    let status = 0
    do status = await statusOf(gateway, 'app', 'hello')
    while (status === 504)
    expect(status).toBe(503)
  })
})
