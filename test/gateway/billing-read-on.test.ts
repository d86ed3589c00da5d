import { describe, expect, it } from 'vitest'
import { json, reply, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import {
  billingScene,
  clockWithout,
  expectNothingHeld,
  nano,
  openaiChunk,
  readUntil,
  textChunk,
  usageChunk,
} from './billing-scene.ts'
import { CHAT } from './calls.ts'

const FINISH = openaiChunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
const STREAM = { stream: true }
const isFinished = (text: string) => text.includes('finish_reason":"stop')

describe('a stream whose client left after the finish reason', () => {
  it('is let go after 2 s', async () => {
    const { clock, fire } = clockWithout(2_000)
    const { upstream, call, settlement } = await billingScene({ clock })
    upstream.answer(sse([textChunk('x'.repeat(40)) + FINISH], { ending: 'hang' }))
    const leaving = new AbortController()
    await readUntil(await call(CHAT, STREAM, { signal: leaving.signal }), isFinished)
    leaving.abort()
    await fire()
    await upstream.lastRequest.gone
    const { flags, usage } = await settlement()
    expect(flags).toEqual(['client_gone', 'estimated'])
    expect(usage.outputTokens).toBe(10)
  })

  it('is let go after 64 KiB', async () => {
    const { upstream, call, settlement } = await billingScene()
    const left = gate()
    let sentBytes = 0
    upstream.answer(async exchange => {
      await sse([textChunk('hi') + FINISH])({
        ...exchange,
        write: async bytes => bytes === '0\r\n\r\n' || exchange.write(bytes),
      })
      await left.opened
      const text = textChunk('y'.repeat(4_000))
      const chunk = `${text.length.toString(16)}\r\n${text}\r\n`
      while (await exchange.write(chunk)) sentBytes += text.length
    })
    const leaving = new AbortController()
    await readUntil(await call(CHAT, STREAM, { signal: leaving.signal }), isFinished)
    leaving.abort()
    left.open()
    const { flags, usage } = await settlement()
    expect(flags).toEqual(['client_gone', 'estimated'])
    expect(usage.outputTokens * 4).toBeGreaterThan(60_000)
    expect(usage.outputTokens * 4).toBeLessThan(200_000)
    await upstream.lastRequest.gone
    expect(sentBytes).toBeGreaterThan(60_000)
  })

  it('is not read on where its usage has come already', async () => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answer(sse([textChunk('hi') + FINISH + usageChunk(100, 20)], { ending: 'hang' }))
    const leaving = new AbortController()
    const body = { ...STREAM, stream_options: { include_usage: true } }
    await readUntil(await call(CHAT, body, { signal: leaving.signal }), text => text.includes('usage'))
    leaving.abort()
    await upstream.lastRequest.gone
    const { flags, amountNano } = await settlement()
    expect(flags).toEqual(['client_gone'])
    expect(amountNano).toBe(nano({ fresh: 100, output: 20 }))
  })

  it('counts the reasoning that it was seen to do, where its usage never comes', async () => {
    const { upstream, call, settlement } = await billingScene()
    const reasoning = openaiChunk({
      choices: [{ index: 0, delta: { reasoning_content: 'r'.repeat(4_000) } }],
    })
    upstream.answer(sse([reasoning + textChunk('x'.repeat(40)) + FINISH], { ending: 'reset' }))
    await (await call(CHAT, STREAM)).text()
    const { usage } = await settlement()
    expect(usage.outputTokens).toBe(1_010)
  })
})

describe('with on_disconnect: drain, a call whose client left before the head', () => {
  const settings = '{ on_disconnect: drain, health: { unhealthy_after: 1000 } }'

  it.each<[string, Parameters<typeof reply>[0], string]>([
    ['fails with a status', { status: 500 }, 'upstream_error'],
    [
      'is rejected',
      { status: 400, headers: { 'content-type': 'application/json' }, body: '{"error":{}}' },
      'upstream_400',
    ],
    [
      'is answered with a page',
      { headers: { 'content-type': 'text/html' }, body: '<html>' },
      'upstream_error',
    ],
    [
      'is answered with JSON that breaks off',
      {
        headers: { 'content-type': 'application/json' },
        body: ['{"choices":[{"text":"xxxxxxxxxxxxxxxx"}],'],
        framing: 'chunked',
        ending: 'cut',
      },
      'upstream_error',
    ],
    ['is answered by nothing', { ending: 'reset' }, 'upstream_error'],
  ])(
    'costs nothing where it %s, as for a client that stayed, and no other endpoint is asked',
    async (_what, answer, reason) => {
      const { upstream, gateway, call } = await billingScene({ settings })
      const left = gate()
      upstream.answer(async exchange => {
        await left.opened
        await reply(answer)(exchange)
      })
      const leaving = new AbortController()
      const answered = call(CHAT, {}, { signal: leaving.signal })
      await upstream.nextRequest()
      leaving.abort()
      await expect(answered).rejects.toThrow('abort')
      await fetch(`${gateway.url}/v1/models`)
      await gateway.nextLogged()
      left.open()
      expect(await gateway.ledger.nextEnd()).toMatchObject({ kind: 'release', reason })
      expect(await gateway.nextLogged()).toMatchObject({ outcome: 'client_gone', status: 0 })
      expect(upstream.requests).toHaveLength(1)
      expectNothingHeld(gateway)
    },
  )

  it('is let go after 60 s, at its input estimate', async () => {
    const { clock, fire } = clockWithout(60_000)
    const { upstream, call, settlement } = await billingScene({ settings, clock })
    upstream.answer(async exchange => {
      await exchange.request.gone
    })
    const leaving = new AbortController()
    const answered = call(CHAT, {}, { signal: leaving.signal })
    const request = await upstream.nextRequest()
    leaving.abort()
    await expect(answered).rejects.toThrow('abort')
    await fire()
    await request.gone
    const { flags, usage } = await settlement()
    expect(flags).toEqual(['client_gone', 'estimated'])
    expect(usage.outputTokens).toBe(0)
    expect(usage.inputTokens).toBeGreaterThan(0)
  })

  it('is a setting of its publication, too', async () => {
    const { upstream, gateway, call } = await billingScene({ publication: 'on_disconnect: drain' })
    const left = gate()
    upstream.answer(async exchange => {
      await left.opened
      await json({ usage: { prompt_tokens: 100, completion_tokens: 20 } })(exchange)
    })
    const leaving = new AbortController()
    const answered = call(CHAT, {}, { signal: leaving.signal })
    await upstream.nextRequest()
    leaving.abort()
    await expect(answered).rejects.toThrow('abort')
    await fetch(`${gateway.url}/v1/models`)
    left.open()
    expect(await gateway.ledger.nextEnd()).toMatchObject({
      amountNano: nano({ fresh: 100, output: 20 }),
      flags: ['client_gone'],
    })
  })
})
