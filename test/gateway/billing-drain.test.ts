import { describe, expect, it } from 'vitest'
import { sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import {
  billingScene,
  clockWithout,
  DONE,
  expectNothingHeld,
  MESSAGE_STOP,
  messageDelta,
  messageStart,
  nano,
  readUntil,
  textChunk,
  usageChunk,
} from './billing-scene.ts'
import { CHAT, MESSAGES } from './calls.ts'

const settings = '{ on_disconnect: drain }'
const EXACT = nano({ fresh: 100, output: 20 })
const MAX_DRAIN_MS = 60_000

describe('with on_disconnect: drain, an answer whose client has left', () => {
  it.each<[string, string, string, string]>([
    ['OpenAI', CHAT, textChunk('hi'), usageChunk(100, 20) + DONE],
    [
      'Anthropic',
      MESSAGES,
      messageStart({ input_tokens: 100, output_tokens: 1 }),
      messageDelta({ output_tokens: 20 }) + MESSAGE_STOP,
    ],
  ])('is read to its end and billed exactly: a stream of %s', async (_title, path, first, rest) => {
    const { upstream, gateway, call, settlement } = await billingScene({ settings })
    const left = gate()
    upstream.answer(sse([first, left, rest]))
    const leaving = new AbortController()
    const answer = await call(path, { stream: true }, { signal: leaving.signal })
    await readUntil(answer, text => text.length > 0)
    leaving.abort()
    await fetch(`${gateway.url}/v1/models`)
    await gateway.nextLogged()
    expect(gateway.ledger.ends).toEqual([])
    // An upstream that is read on is an upstream that is occupied.
    expect(gateway.limiter.openReservations).toBe(1)
    left.open()
    const { amountNano, flags } = await settlement()
    expect({ amountNano, flags }).toEqual({ amountNano: EXACT, flags: ['client_gone'] })
    expect(upstream.lastRequest.hungUp).toBe(false)
  })

  it('is read to its end and billed exactly: JSON', async () => {
    const { upstream, gateway, call, settlement } = await billingScene({ settings })
    const left = gate()
    const content = 'x'.repeat(400_000)
    const whole = JSON.stringify({ content, usage: { prompt_tokens: 100, completion_tokens: 20 } })
    upstream.answer(async exchange => {
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${whole.length}\r\n\r\n`
      await exchange.write(head + whole.slice(0, 380_000))
      await left.opened
      await exchange.write(whole.slice(380_000))
    })
    const leaving = new AbortController()
    await call(CHAT, {}, { signal: leaving.signal })
    leaving.abort()
    await fetch(`${gateway.url}/v1/models`)
    await gateway.nextLogged()
    left.open()
    const { amountNano, flags } = await settlement()
    expect({ amountNano, flags }).toEqual({ amountNano: EXACT, flags: ['client_gone'] })
  })

  it('is let go after 60 s', async () => {
    const { clock, fire } = clockWithout(MAX_DRAIN_MS)
    const { upstream, call, settlement } = await billingScene({ settings, clock })
    upstream.answer(sse([textChunk('hi')], { ending: 'hang' }))
    const leaving = new AbortController()
    const answer = await call(CHAT, { stream: true }, { signal: leaving.signal })
    await readUntil(answer, text => text.length > 0)
    leaving.abort()
    await fire()
    await upstream.lastRequest.gone
    expect((await settlement()).flags).toEqual(['client_gone', 'estimated'])
  })

  it('is let go after 8 MiB', async () => {
    const { upstream, call, settlement } = await billingScene({ settings })
    const left = gate()
    let sentBytes = 0
    upstream.answer(async exchange => {
      await sse([textChunk('hi')])({
        ...exchange,
        write: async bytes => bytes === '0\r\n\r\n' || exchange.write(bytes),
      })
      await left.opened
      const text = textChunk('y'.repeat(65_000))
      const chunk = `${text.length.toString(16)}\r\n${text}\r\n`
      while (await exchange.write(chunk)) sentBytes += text.length
    })
    const leaving = new AbortController()
    const answer = await call(CHAT, { stream: true }, { signal: leaving.signal })
    await readUntil(answer, text => text.length > 0)
    leaving.abort()
    left.open()
    const { flags, usage } = await settlement()
    expect(flags).toEqual(['client_gone', 'estimated'])
    expect(usage.outputTokens * 4).toBeGreaterThan(8_388_608 - 70_000)
    expect(usage.outputTokens * 4).toBeLessThan(8_388_608 + 140_000)
    await upstream.lastRequest.gone
    expect(sentBytes).toBeGreaterThan(8_000_000)
  })

  it('is let go at once where 64 are being read already', async () => {
    const { upstream, gateway, call } = await billingScene({ settings })
    const left = gate()
    upstream.answer(sse([textChunk('hi'), left, usageChunk(100, 20) + DONE]))
    const all = Array.from({ length: 70 }, async () => {
      const leaving = new AbortController()
      const answer = await call(CHAT, { stream: true }, { signal: leaving.signal })
      await readUntil(answer, text => text.length > 0)
      return leaving
    })
    for (const leaving of await Promise.all(all)) leaving.abort()
    const turnedAway = [1, 2, 3, 4, 5, 6].map(() => gateway.ledger.nextEnd())
    for (const end of await Promise.all(turnedAway))
      expect(end).toMatchObject({ kind: 'settle', flags: ['client_gone', 'estimated'] })
    expect(gateway.ledger.ends).toHaveLength(6)
    left.open()
    const drained = Array.from({ length: 64 }, () => gateway.ledger.nextEnd())
    for (const end of await Promise.all(drained))
      expect(end).toMatchObject({ kind: 'settle', amountNano: EXACT, flags: ['client_gone'] })
    for (let line = 0; line < 70; line++) await gateway.nextLogged()
    expectNothingHeld(gateway)

    // The places are free again.
    const again = gate()
    upstream.answer(sse([textChunk('hi'), again, usageChunk(100, 20) + DONE]))
    const leaving = new AbortController()
    const answer = await call(CHAT, { stream: true }, { signal: leaving.signal })
    await readUntil(answer, text => text.length > 0)
    leaving.abort()
    await (await fetch(`${gateway.url}/v1/models`)).text()
    again.open()
    expect(await gateway.ledger.nextEnd()).toMatchObject({ amountNano: EXACT, flags: ['client_gone'] })
  })
})
