import { describe, expect, it, onTestFinished } from 'vitest'
import { CHAT, post } from '../gateway/calls.ts'
import { byteByByte, cutAt } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { type Answer, scriptedUpstream } from '../support/scripted-upstream.ts'

const config = (url: string) => `
version: 1
settings: { health: { unhealthy_after: 1 } }
endpoints:
  oai: { protocol: openai, base_url: "${url}", served_model: s, timeouts: { first_byte: 300ms } }
publications: { m: { bindings: [{ endpoint: oai }] } }
keys: { admin: { kind: platform } }
`
const BODY = '{"model":"s"}'
const OK = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const INTERIM: readonly (readonly [title: string, bytes: string])[] = [
  ['100 Continue', CONTINUE],
  ['100 with headers', 'HTTP/1.1 100 \r\nserver: x\r\nconnection: keep-alive\r\n\r\n'],
  ['100 with a length, which means no body', 'HTTP/1.1 100 Continue\r\ncontent-length: 0\r\n\r\n'],
  ['two of 100', CONTINUE + CONTINUE],
  ['100, then 103', `${CONTINUE}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n`],
]

/** These pieces, each in a write of its own. */
const inPieces =
  (pieces: readonly Buffer[]): Answer =>
  async exchange => {
    for (const piece of pieces) {
      await exchange.write(piece)
      await new Promise(setImmediate)
    }
  }

describe.each(INTERIM)('%s that was not asked for', (_title, interim) => {
  it('is parsed, wherever it is cut, and the connection serves on', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    const gateway = await testGateway(onTestFinished, config(upstream.url))
    const whole = interim + OK
    const cuts = [[Buffer.from(whole)], byteByByte(whole), cutAt(whole, 9), cutAt(whole, interim.length)]
    for (const pieces of cuts) {
      upstream.answerNext(inPieces(pieces))
      const answer = await post(gateway, CHAT, { model: 'm' })
      expect([answer.status, await answer.text()]).toEqual([200, '{"model":"m"}'])
    }
    expect(upstream.connectionsMade).toBe(1)
    expect(gateway.upstreams.health.report()).toMatchObject([{ state: 'healthy' }])
  })

  it('before a request’s body is complete is no answer yet', async () => {
    const upstream = await scriptedUpstream(onTestFinished, { answerAt: 'head' })
    const gateway = await testGateway(onTestFinished, config(upstream.url))
    upstream.answerNext(async exchange => {
      await exchange.write(interim)
      await exchange.request.received
      await exchange.write(OK)
    })
    const prompt = 'x'.repeat(1_000_000)
    const answer = await post(gateway, CHAT, { model: 'm', messages: [{ role: 'user', content: prompt }] })
    expect([answer.status, await answer.text()]).toEqual([200, '{"model":"m"}'])
  })
})

it('an upstream that says 100 without end has said nothing: 504 by first_byte', async () => {
  const upstream = await scriptedUpstream(onTestFinished)
  const gateway = await testGateway(onTestFinished, config(upstream.url))
  upstream.answerNext(async exchange => {
    while (await exchange.write(CONTINUE)) await new Promise(resolve => setTimeout(resolve, 20))
  })
  expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(504)
})
