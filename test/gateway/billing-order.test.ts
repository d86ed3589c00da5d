import { describe, expect, it } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { UndecidedHold } from '../../src/schema/ledger.ts'
import { json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import {
  type BillingScene,
  billingScene,
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
import { CHAT, expectAnthropicError, expectOpenaiError, MESSAGES, RESPONSES } from './calls.ts'

/** One request through the gateway and back: whatever was on its way before has arrived since. */
async function aRoundTrip({ gateway }: BillingScene): Promise<void> {
  await (await fetch(`${gateway.url}/v1/models`)).text()
}

describe('a hold', () => {
  it('is committed before the upstream sees a byte', async () => {
    const scene = await billingScene()
    const { upstream, gateway, call } = scene
    upstream.answer(json({ usage: { prompt_tokens: 1, completion_tokens: 1 } }))
    const committed = gate()
    const asked = gate()
    gateway.ledger.beforeOpen = () => {
      asked.open()
      return committed.opened
    }
    const answer = call(CHAT, {})
    await asked.opened
    await aRoundTrip(scene)
    expect(upstream.connectionsMade).toBe(0)
    expect(gateway.limiter.openHolds).toBe(1)
    committed.open()
    expect((await answer).status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
  })

  it('that cannot be written is a 503 in the shape of the path: nothing is held, no endpoint is called', async () => {
    const { upstream, gateway, call } = await billingScene()
    gateway.ledger.beforeOpen = () =>
      Promise.reject(new GwError('unavailable', undefined, { reason: 'disk full' }))
    const unavailable = { status: 503, code: 'unavailable', type: 'server_error' }
    const answer = await call(CHAT, {})
    expect(answer.headers.get('retry-after')).toBe('1')
    await expectOpenaiError(answer, unavailable)
    await expectAnthropicError(await call(MESSAGES, {}), { status: 503, type: 'overloaded_error' })
    await gateway.nextLogged()
    await gateway.nextLogged()
    expectNothingHeld(gateway)
    expect(gateway.ledger.calls).toEqual([])
    expect(upstream.connectionsMade).toBe(0)
    expect(gateway.logged).toMatchObject([{ reason: 'disk full' }, { reason: 'disk full' }])
  })

  it('that the store may have is a 503, and its part of the limits is free only when the store has none', async () => {
    const { gateway, call } = await billingScene()
    const decided = Promise.withResolvers<void>()
    gateway.ledger.beforeOpen = () => Promise.reject(new UndecidedHold('no answer', decided.promise))
    await expectOpenaiError(await call(CHAT, {}), { status: 503, code: 'unavailable', type: 'server_error' })
    await gateway.nextLogged()
    expect(gateway.limiter.openHolds).toBe(1)
    decided.resolve()
    await decided.promise
    expectNothingHeld(gateway)
  })
})

describe('a bill is committed before the last bytes of its answer:', () => {
  const amountNano = nano({ fresh: 100, output: 20 })

  it.each<[string, string, string, string]>([
    ['[DONE]', CHAT, textChunk('hi') + usageChunk(100, 20), DONE],
    [
      'message_stop',
      MESSAGES,
      messageStart({ input_tokens: 100, output_tokens: 1 }) + messageDelta({ output_tokens: 20 }),
      MESSAGE_STOP,
    ],
    [
      'response.completed',
      RESPONSES,
      'event: response.created\ndata: {"type":"response.created","response":{"usage":null}}\n\n',
      'event: response.completed\ndata: {"type":"response.completed","response":{"usage":{"input_tokens":100,"output_tokens":20}}}\n\n',
    ],
  ])('%s', async (_title, path, before, last) => {
    const scene = await billingScene()
    const { upstream, gateway, call } = scene
    const committed = gate()
    gateway.ledger.beforeEnd = () => committed.opened
    upstream.answer(sse([before, last]))
    const answer = await call(path, { stream: true })
    const [early, late] = (answer.body?.tee() ?? []) as ReadableStream<Uint8Array>[]
    const seen = readAll(early as ReadableStream<Uint8Array>)
    await gateway.ledger.nextEnd()
    await aRoundTrip(scene)
    expect(seen.text).not.toBe('')
    expect(seen.text).not.toContain(last)
    expect(seen.over).toBe(false)
    expect(gateway.ledger.ends).toMatchObject([{ kind: 'settle', amountNano }])
    // The permit is held for as long as the client has not had everything.
    expect(gateway.limiter.openReservations).toBe(1)
    committed.open()
    const whole = await readUntil(new Response(late), () => false)
    expect(whole.endsWith(last)).toBe(true)
    expect(whole.startsWith(seen.text)).toBe(true)
    await gateway.nextLogged()
    await gateway.nextLogged()
    expectNothingHeld(gateway)
  })

  it.each<[string, number]>([
    ['all of a small one in JSON', 10],
    ['the end of a large one in JSON', 2_000_000],
  ])('%s', async (_title, length) => {
    const scene = await billingScene()
    const { upstream, gateway, call } = scene
    const committed = gate()
    gateway.ledger.beforeEnd = () => committed.opened
    const body = JSON.stringify({
      choices: [{ message: { content: 'x'.repeat(length) } }],
      usage: { prompt_tokens: 100, completion_tokens: 20 },
    })
    upstream.answer(json(body))
    const answering = call(CHAT, {})
    if (length < 100) {
      await gateway.ledger.nextEnd()
      await aRoundTrip(scene)
      expect(await Promise.race([answering, Promise.resolve('no head yet')])).toBe('no head yet')
    }
    const early = length < 100 ? undefined : readAll((await answering).clone().body as ReadableStream)
    if (early) {
      await gateway.ledger.nextEnd()
      await aRoundTrip(scene)
      expect(early.text).not.toBe('')
      expect(early.text.length).toBeLessThan(body.length)
      expect(early.over).toBe(false)
    }
    committed.open()
    expect(await (await answering).text()).toBe(body)
    expect(gateway.ledger.ends).toMatchObject([{ kind: 'settle', amountNano }])
  })

  it('where it cannot be committed the stream ends with an error instead of its last event', async () => {
    const { upstream, gateway, call } = await billingScene()
    gateway.ledger.beforeEnd = () => Promise.reject(new GwError('unavailable'))
    upstream.answer(sse(textChunk('hi') + usageChunk(1, 1) + DONE))
    const text = await (await call(CHAT, { stream: true })).text()
    expect(text).toContain('"code":"unavailable"')
    expect(text).not.toContain('[DONE]')
    await gateway.nextLogged()
    expectNothingHeld(gateway)
  })
})

/** What a stream has brought so far. */
function readAll(stream: ReadableStream<Uint8Array>): { text: string; over: boolean } {
  const seen = { text: '', over: false }
  const reader = stream.getReader()
  const read = async (): Promise<void> => {
    const { done, value } = await reader.read()
    if (done) {
      seen.over = true
      return
    }
    seen.text += Buffer.from(value).toString()
    await read()
  }
  read().catch(() => {
    seen.over = true
  })
  return seen
}
