import { describe, expect, it, test } from 'vitest'
import { json, reply, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { billingScene, nano, readUntil } from './billing-scene.ts'
import { IMAGES, MODERATIONS, SPEECH } from './calls.ts'

const TOKENS = { input_tokens: 30, output_tokens: 4 }
const PNG = 'iVBORw0KGgo'

describe('images', () => {
  it('are billed by their tokens where the upstream reports them', async () => {
    const { upstream, call, settlement } = await billingScene()
    const images = { created: 1, data: [{ b64_json: PNG }], usage: TOKENS }
    upstream.answerNext(json(images))
    expect(await (await call(IMAGES, { prompt: 'a cat' })).json()).toEqual(images)
    expect(upstream.lastRequest.json()).toEqual({ model: 'served', prompt: 'a cat' })
    const { amountNano, usage, flags } = await settlement()
    expect([amountNano, usage.images, flags]).toEqual([nano({ fresh: 30, output: 4 }), 1, []])
  })

  it('are billed by their number where they have a price', async () => {
    const { upstream, gateway, call, settlement } = await billingScene({ price: '{ per_image: "0.04" }' })
    upstream.answerNext(json({ data: [{ url: 'https://x/1' }, { url: 'https://x/2' }] }))
    await (await call(IMAGES, { model: 'own', prompt: 'a cat', n: 2 })).text()
    const { amountNano, usage, flags } = await settlement()
    expect([amountNano, usage.images, flags]).toEqual([80_000_000n, 2, []])
    expect(gateway.ledger.holds[0]?.amountNano).toBe(80_000_000n)
  })

  it.each<[string, string, number]>([
    ['by their number', '{ per_image: "0.04" }', 80_000_000],
    ['by a likely number of tokens', '{ output: "10" }', 2 * 4_160 * 10_000],
  ])('that their client has begun to read are billed %s when it leaves', async (_how, price, amount) => {
    const { upstream, gateway, call, settlement } = await billingScene({ price })
    const image = `{"b64_json":"${'A'.repeat(400_000)}"}`
    upstream.answerNext(
      reply({
        headers: { 'content-type': 'application/json' },
        body: [`{"data":[${image},${image}`],
        framing: 'chunked',
        ending: 'hang',
      }),
    )
    const leaving = new AbortController()
    const answer = await call(IMAGES, { model: 'own', prompt: 'a cat', n: 2 }, { signal: leaving.signal })
    await readUntil(answer, text => text.length > 400_000)
    leaving.abort()
    const { amountNano, usage, flags } = await settlement()
    expect([amountNano, usage.images, flags]).toEqual([BigInt(amount), 2, ['client_gone', 'estimated']])
    expect(gateway.ledger.holds[0]?.amountNano).toBeGreaterThanOrEqual(amountNano)
  })

  it('of a stream end with their bill, the last of several', async () => {
    const { upstream, gateway, call, settlement } = await billingScene()
    const event = (type: string, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
    const partial = event('image_generation.partial_image', { b64_json: PNG })
    const first = event('image_generation.completed', {
      b64_json: PNG,
      usage: { input_tokens: 1, output_tokens: 1 },
    })
    const last = event('image_generation.completed', { b64_json: PNG, usage: TOKENS })
    const committed = gate()
    gateway.ledger.beforeEnd = () => committed.opened
    upstream.answerNext(sse([partial, first, last]))
    const answer = await call(IMAGES, { prompt: 'a cat', n: 2, stream: true })
    const seen = await readUntil(answer.clone(), text => text === partial + first)
    expect(seen).toBe(partial + first)
    committed.open()
    expect(await answer.text()).toBe(partial + first + last)
    expect((await settlement()).amountNano).toBe(nano({ fresh: 30, output: 4 }))
  })
})

describe('speech', () => {
  const AUDIO = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 7) % 256))

  it('passes as it is, and is billed by the characters that were read', async () => {
    const { upstream, gateway, call, settlement } = await billingScene({
      price: '{ per_character: "0.000015" }',
    })
    upstream.answerNext(
      reply({
        headers: { 'content-type': 'audio/mpeg' },
        body: [AUDIO.subarray(0, 70_001), AUDIO.subarray(70_001)],
        framing: 'chunked',
      }),
    )
    const answer = await call(SPEECH, { model: 'own', input: 'naïve 🌍 "x"', voice: 'alloy' })
    expect(answer.headers.get('content-type')).toBe('audio/mpeg')
    expect(Buffer.from(await answer.arrayBuffer()).equals(AUDIO)).toBe(true)
    const { amountNano, usage, flags } = await settlement()
    expect([amountNano, usage.characters, flags]).toEqual([11n * 15_000n, 11, []])
    expect(gateway.ledger.holds[0]).toMatchObject({
      amountNano: 11n * 15_000n,
      inputAmountNano: 11n * 15_000n,
      inputUnits: { characters: 11 },
    })
  })

  it('ends with its bill: the last bytes wait', async () => {
    const { upstream, gateway, call } = await billingScene()
    const committed = gate()
    gateway.ledger.beforeEnd = () => committed.opened
    upstream.answerNext(
      reply({
        headers: { 'content-type': 'audio/pcm' },
        body: [Buffer.from('one'), Buffer.from('two')],
        framing: 'chunked',
      }),
    )
    const answering = call(SPEECH, { input: 'hello' })
    await gateway.ledger.nextEnd()
    committed.open()
    expect(await (await answering).text()).toBe('onetwo')
  })

  it('that breaks off is cut, and billed by its input', async () => {
    const { upstream, call, settlement } = await billingScene({ price: '{ per_character: "0.000015" }' })
    upstream.answerNext(
      reply({
        headers: { 'content-type': 'audio/mpeg' },
        body: [AUDIO, AUDIO],
        framing: 'chunked',
        ending: 'reset',
      }),
    )
    const answer = await call(SPEECH, { model: 'own', input: 'hello' })
    await expect(answer.arrayBuffer()).rejects.toThrow()
    expect(await settlement()).toMatchObject({ amountNano: 5n * 15_000n, flags: ['partial', 'estimated'] })
  })

  it('in events has its usage in the last one', async () => {
    const { upstream, call, settlement } = await billingScene()
    const text = [
      'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n',
      `data: {"type":"speech.audio.done","usage":${JSON.stringify(TOKENS)}}\n\n`,
    ].join('')
    upstream.answerNext(sse(text))
    const answer = await call(SPEECH, { input: 'hello', stream_format: 'sse' })
    expect(await answer.text()).toBe(text)
    expect((await settlement()).amountNano).toBe(nano({ fresh: 30, output: 4 }))
  })

  it('is no web page, whatever its status', async () => {
    const { upstream, call, release } = await billingScene()
    upstream.answerNext(reply({ headers: { 'content-type': 'text/html' }, body: '<html>' }))
    expect((await call(SPEECH, { input: 'hello' })).status).toBe(502)
    await release()
  })
})

test('a chat is answered in JSON or events, not in audio', async () => {
  const { upstream, call, release } = await billingScene()
  upstream.answerNext(reply({ headers: { 'content-type': 'audio/mpeg' }, body: 'x' }))
  expect((await call(MODERATIONS, { input: 'hello' })).status).toBe(502)
  await release()
})

test('a moderation is billed by request, or free', async () => {
  const { upstream, call, settlement } = await billingScene({ price: '{ per_request: "0.001" }' })
  const verdict = { id: 'modr-1', model: 'served', results: [{ flagged: false }] }
  upstream.answerNext(json(verdict))
  const answer = await call(MODERATIONS, { model: 'own', input: ['hello', 'you'] })
  expect(await answer.json()).toEqual({ ...verdict, model: 'own' })
  const { amountNano, usage, flags } = await settlement()
  expect([amountNano, usage.inputTokens, flags]).toEqual([1_000_000n, 0, []])
})
