import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, chunk, EMBEDDINGS, loggedFor, post, rawPost } from './calls.ts'
import { rawClient } from './raw-client.ts'
import { ask, event, HEAD, JSON_HEAD, named, PLAIN, STREAM } from './streaming.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())
const send = (path: string, body: string) => ask(onTestFinished, gateway, path, body)

describe('a client that leaves is followed by the upstream at once', () => {
  it('before the head has come', async () => {
    upstream.answerNext(exchange => exchange.request.gone)
    const client = await send(CHAT, STREAM)
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
    const client = await send(CHAT, STREAM)
    const got = await client.until(answer => answer.text() === named('a'))
    const request = await upstream.nextRequest()
    client.socket.destroy()
    await request.gone
    expect(await loggedFor(gateway, got)).toMatchObject({ outcome: 'client_gone', status: 200 })
  })

  it('in the middle of an answer in JSON, held or passing', async () => {
    for (const body of ['{"model":"served-oai",', `{"data":"${'x'.repeat(600_000)}`]) {
      upstream.answerNext(json(body, { framing: 'chunked', ending: 'hang' }))
      const client = await send(EMBEDDINGS, PLAIN)
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
  ])(
    '%s, and lets it go on when it reads again',
    { timeout: 60_000 },
    async (_title, path, head, pieceOf, last) => {
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
    },
  )
})
