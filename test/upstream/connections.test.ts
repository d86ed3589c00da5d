import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { CHAT, loggedFor, post } from '../gateway/calls.ts'
import { json } from '../support/answers.ts'
import { bareUpstream } from '../support/bare-upstream.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'

const config = (url: string) => `
version: 1
settings: { health: { unhealthy_after: 1000 } }
endpoints: { oai: { protocol: openai, base_url: "${url}", served_model: s } }
publications: { m: { bindings: [{ endpoint: oai }] } }
keys: { admin: { kind: platform } }
`
const SMALL = { model: 'm' }
/** undici is given it as a list. */
const STREAMED = { model: 'm', stream: true, messages: [{ role: 'user', content: 'x'.repeat(20_000) }] }
const BODY = '{"model":"s"}'
const OK = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`

describe('a connection that was idle and dies under a request without a byte', () => {
  it.each<[string, object, (socket: Socket) => void]>([
    ['ends', SMALL, socket => socket.end()],
    ['is reset', SMALL, socket => socket.resetAndDestroy()],
    ['ends under a long prompt to be streamed', STREAMED, socket => socket.end()],
    ['is reset under a long prompt to be streamed', STREAMED, socket => socket.resetAndDestroy()],
  ])(
    '%s: the request is sent once more over a fresh one, and no client notices',
    async (_title, asked, die) => {
      let connections = 0
      const upstream = await bareUpstream(onTestFinished, (socket, nth) => {
        if (nth === 1) connections++
        // The first request of each connection is served, the second finds it dead.
        if (nth === 1) socket.write(OK)
        else die(socket)
      })
      const gateway = await testGateway(onTestFinished, config(upstream.url))
      for (let time = 0; time < 20; time++) {
        const answer = await post(gateway, CHAT, asked)
        expect(answer.status).toBe(200)
        expect(await loggedFor(gateway, answer)).not.toHaveProperty('attempts')
      }
      expect(connections).toBe(20)
      expect(gateway.upstreams.health.report()).toMatchObject([{ state: 'healthy' }])
    },
  )

  it('fails where the fresh one dies, too: it is asked no third time', async () => {
    let asked = 0
    const upstream = await bareUpstream(onTestFinished, (socket, nth) => {
      asked++
      if (asked === 1 && nth === 1) socket.write(OK)
      else socket.end()
    })
    const gateway = await testGateway(onTestFinished, config(upstream.url))
    expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(200)
    expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(502)
    expect(asked).toBe(3)
  })

  it('is not sent again if it was open for seconds: the upstream may have carried it out', async () => {
    const clock = { ...systemClock }
    let asked = 0
    const upstream = await bareUpstream(onTestFinished, socket => {
      if (++asked === 1) return void socket.write(OK)
      clock.monotonicMs = () => systemClock.monotonicMs() + 2_000
      socket.end()
    })
    const gateway = await testGateway(onTestFinished, config(upstream.url), { clock })
    expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(200)
    expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(502)
    expect(asked).toBe(2)
  })

  it('is not sent again once a byte of an answer has come: it may have been served', async () => {
    let asked = 0
    const upstream = await bareUpstream(onTestFinished, socket => {
      if (++asked === 1) socket.write(OK)
      else socket.end('HTTP/1.1 2')
    })
    const gateway = await testGateway(onTestFinished, config(upstream.url))
    expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(200)
    expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(502)
    expect(asked).toBe(2)
  })
})

describe('connections', () => {
  it('serve one request after the other: as many are open as requests were at hand at once', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(json(BODY))
    const gateway = await testGateway(onTestFinished, config(upstream.url))
    for (let time = 0; time < 5; time++) await (await post(gateway, CHAT, { model: 'm' })).text()
    expect(new Set(upstream.requests.map(({ connection }) => connection)).size).toBe(1)
    const answers = await Promise.all([1, 2, 3].map(() => post(gateway, CHAT, { model: 'm' })))
    await Promise.all(answers.map(answer => answer.text()))
    expect(new Set(upstream.requests.map(({ connection }) => connection)).size).toBeLessThanOrEqual(3)
  })

  it.each([
    ['429', json({ error: 'slow down' }, { status: 429 })],
    ['500', json({ error: 'oops' }, { status: 500 })],
  ])('serve on behind a rejection with a short body, such as a %s', async (_status, rejection) => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(rejection)
    const gateway = await testGateway(onTestFinished, config(upstream.url))
    for (let time = 0; time < 4; time++) await (await post(gateway, CHAT, { model: 'm' })).text()
    expect(new Set(upstream.requests.map(({ connection }) => connection)).size).toBe(1)
  })

  it('are closed behind a rejection with a body without an end', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(json('x'.repeat(100_000), { status: 500, framing: 'chunked', ending: 'hang' }))
    const gateway = await testGateway(onTestFinished, config(upstream.url))
    expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(502)
    await upstream.lastRequest.gone
  })

  it('of an origin that a reload keeps are kept; those of one that is gone end', async () => {
    const upstream = await bareUpstream(onTestFinished, socket => socket.write(OK))
    const other = await bareUpstream(onTestFinished, socket => socket.write(OK))
    const gateway = await testGateway(onTestFinished, config(upstream.url))
    await (await post(gateway, CHAT, { model: 'm' })).text()
    await gateway.reload(config(upstream.url).replace('served_model: s', 'served_model: s, labels: { a: b }'))
    await (await post(gateway, CHAT, { model: 'm' })).text()
    expect(upstream.open()).toBe(1)
    await gateway.reload(config(other.url))
    await (await post(gateway, CHAT, { model: 'm' })).text()
    await expect.poll(() => upstream.open()).toBe(0)
    expect(other.open()).toBe(1)
  })
})
