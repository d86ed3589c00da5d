import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, it, onTestFinished, test } from 'vitest'
import { json, reply, silence, sse } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { billingScene, nano } from './billing-scene.ts'
import { IMAGE_EDITS, rawHead, TRANSCRIPTIONS, TRANSLATIONS } from './calls.ts'
import { rawClient } from './raw-client.ts'

const BOUNDARY = 'x-boundary'
const SERVED = 'served/"model"-é'

interface Field {
  readonly name: string
  readonly content: string | Buffer
  readonly filename?: string
}

/** A form, its bytes given by hand: nothing here is shared with the code. */
function form(fields: readonly Field[], boundary = BOUNDARY): Buffer {
  const parts = fields.flatMap(({ name, content, filename }) => [
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"`),
    Buffer.from(filename === undefined ? '' : `; filename="${filename}"\r\ncontent-type: audio/mpeg`),
    Buffer.from('\r\n\r\n'),
    Buffer.from(content as string),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
}

const MODEL: Field = { name: 'model', content: 'm' }
const file = (content: string | Buffer): Field => ({ name: 'file', content, filename: 'a.mp3' })
const TYPE = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }

describe('a form arrives with another model name and no other change', () => {
  const setUp = async () => {
    const upstream = await scriptedUpstream(afterAll)
    const gateway = await testGateway(
      afterAll,
      `
version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: ${JSON.stringify(SERVED)} } }
publications: { m: { bindings: [{ endpoint: oai }] } }
keys: { admin: { kind: platform } }
`,
    )
    return { upstream, gateway }
  }
  const scene = setUp()
  beforeEach(async () => {
    const { upstream } = await scene
    upstream.forget()
    upstream.answer(json({ text: 'hi', usage: { type: 'duration', seconds: 1 } }))
  })

  /** Text that looks like the boundary, or ends where it begins. */
  const content = fc.oneof(
    fc.constantFrom(
      `\r\n-${BOUNDARY}`,
      `\r\n--${BOUNDARY.slice(0, -1)}`,
      `${BOUNDARY}--\r\n`,
      '\r\n',
      '\r',
      '-',
      '',
    ),
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.constant('z'.repeat(70_000)),
  )
  const fields = fc
    .tuple(
      content,
      fc.array(fc.tuple(fc.constantFrom('prompt', 'language', 'file', 'a'), content), { maxLength: 3 }),
    )
    .chain(([data, others]) =>
      fc.shuffledSubarray(
        [MODEL, file(data), ...others.map(([name, more]): Field => ({ name, content: more }))],
        { minLength: others.length + 2 },
      ),
    )

  it('in any order, with anything in it, cut anywhere', { timeout: 60_000 }, async () => {
    const { upstream, gateway } = await scene
    const client = await rawClient(onTestFinished, gateway.url)
    const cuts = fc.array(fc.nat(800), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(
        fields,
        cuts,
        fc.constantFrom(TRANSCRIPTIONS, TRANSLATIONS, IMAGE_EDITS),
        async (form_, at, path) => {
          const bytes = form(form_)
          const places = [
            0,
            ...at.map(cut => Math.min(cut, bytes.length)).sort((a, b) => a - b),
            bytes.length,
          ]
          const head = rawHead(gateway, path, [`content-length: ${bytes.length}`])
          await client.write(head.replace('application/json', TYPE['content-type']))
          for (const [index, to] of places.slice(1).entries()) {
            if (to === places[index]) continue
            await client.write(bytes.subarray(places[index], to))
            await new Promise(resolve => void setImmediate(resolve))
          }
          const answer = await client.answer()
          expect(answer.status, answer.text()).toBe(200)
          const expected = form(form_.map(field => (field === MODEL ? { ...field, content: SERVED } : field)))
          expect(upstream.lastRequest.body.equals(expected)).toBe(true)
          expect(upstream.lastRequest.header('content-type')).toBe(TYPE['content-type'])
          upstream.forget()
        },
      ),
      { numRuns: 150 },
    )
  })

  it('of 25 MB, the model last, and nothing is left of it', { timeout: 60_000 }, async () => {
    const { gateway, upstream } = await scene
    const body = form([file(Buffer.alloc(25_000_000, 7)), MODEL])
    const answer = await fetch(gateway.url + TRANSCRIPTIONS, {
      method: 'POST',
      headers: { ...TYPE, authorization: `Bearer ${gateway.secretOf('admin')}` },
      body,
    })
    expect(answer.status).toBe(200)
    const expected = form([file(Buffer.alloc(25_000_000, 7)), { ...MODEL, content: SERVED }])
    expect(upstream.lastRequest.body.equals(expected)).toBe(true)
    await answer.text()
    await expect.poll(() => gateway.spools.usedBytes).toBe(0)
  })

  it('again to the next endpoint, if the first one fails', async () => {
    const [east, west] = [await scriptedUpstream(onTestFinished), await scriptedUpstream(onTestFinished)]
    const gateway = await testGateway(
      onTestFinished,
      `
version: 1
endpoints:
  east: { protocol: openai, base_url: "${east.url}/v1", served_model: one }
  west: { protocol: openai, base_url: "${west.url}/v1", served_model: two }
publications: { m: { bindings: [{ endpoint: east, priority: 0 }, { endpoint: west, priority: 1 }] } }
keys: { admin: { kind: platform } }
`,
    )
    east.answer(reply({ status: 503 }))
    west.answer(json({ text: 'hi' }))
    const big = file(Buffer.alloc(300_000, 7))
    const answer = await fetch(gateway.url + TRANSCRIPTIONS, {
      method: 'POST',
      headers: { ...TYPE, authorization: `Bearer ${gateway.secretOf('admin')}` },
      body: form([big, MODEL]),
    })
    expect(await answer.json()).toEqual({ text: 'hi' })
    expect(east.lastRequest.body.equals(form([big, { ...MODEL, content: 'one' }]))).toBe(true)
    expect(west.lastRequest.body.equals(form([big, { ...MODEL, content: 'two' }]))).toBe(true)
    await expect.poll(() => gateway.spools.usedBytes).toBe(0)
  })

  it('and nothing is left where the client leaves, or the form is rejected', async () => {
    const { upstream, gateway } = await scene
    upstream.answer(silence)
    const leaving = new AbortController()
    const called = fetch(gateway.url + TRANSCRIPTIONS, {
      method: 'POST',
      headers: { ...TYPE, authorization: `Bearer ${gateway.secretOf('admin')}` },
      body: form([file(Buffer.alloc(300_000, 7)), MODEL]),
      signal: leaving.signal,
    })
    await upstream.nextRequest()
    expect(gateway.spools.usedBytes).toBeGreaterThan(0)
    leaving.abort()
    await expect(called).rejects.toThrow()
    await expect.poll(() => gateway.spools.usedBytes).toBe(0)
    const rejected = await fetch(gateway.url + TRANSCRIPTIONS, {
      method: 'POST',
      headers: { ...TYPE, authorization: `Bearer ${gateway.secretOf('admin')}` },
      body: form([file(Buffer.alloc(300_000, 7)), { ...MODEL, content: 'unknown' }]),
    })
    expect(rejected.status).toBe(404)
    await expect.poll(() => gateway.spools.usedBytes).toBe(0)
  })
})

/** Posts a form with the key `app`. */
const upload = (
  scene: Awaited<ReturnType<typeof billingScene>>,
  path: string,
  body: Buffer,
  headers = TYPE,
) =>
  fetch(scene.gateway.url + path, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${scene.gateway.secretOf('app')}` },
    body,
  })

describe('a transcription is billed', () => {
  const OWN: Field = { name: 'model', content: 'own' }

  it('by tokens where the upstream reports them', async () => {
    const scene = await billingScene()
    const usage = { type: 'tokens', input_tokens: 30, output_tokens: 4, total_tokens: 34 }
    scene.upstream.answerNext(json({ text: 'hi', usage }))
    expect(await (await upload(scene, TRANSCRIPTIONS, form([file('abc'), MODEL]))).json()).toEqual({
      text: 'hi',
      usage,
    })
    expect(await scene.settlement()).toMatchObject({ amountNano: nano({ fresh: 30, output: 4 }), flags: [] })
  })

  it('by its duration', async () => {
    const scene = await billingScene({ price: '{ per_second: "0.0001" }' })
    scene.upstream.answerNext(json({ text: 'hi', usage: { type: 'duration', seconds: 12.5 } }))
    await (await upload(scene, TRANSCRIPTIONS, form([OWN, file(Buffer.alloc(160_000))]))).text()
    const { amountNano, usage, flags } = await scene.settlement()
    expect([amountNano, usage.durationMs, flags]).toEqual([1_250_000n, 12_500, []])
    // The lowest bit rate of a recording has 1,000 bytes a second, a usual one 16,000.
    expect(scene.gateway.ledger.holds[0]).toMatchObject({
      amountNano: 16_000_000n,
      inputAmountNano: 1_000_000n,
      inputUnits: { durationMs: 10_000 },
    })
  })

  it('by the size of the file where the answer is text, or reports no duration', async () => {
    for (const answer of [
      reply({ headers: { 'content-type': 'text/plain; charset=utf-8' }, body: 'hi' }),
      json({ text: 'hi', usage: { type: 'tokens', input_tokens: 30, output_tokens: 4 } }),
    ]) {
      const scene = await billingScene({ price: '{ per_second: "0.0001" }' })
      scene.upstream.answerNext(answer)
      expect(
        await (await upload(scene, TRANSCRIPTIONS, form([OWN, file(Buffer.alloc(160_000))]))).text(),
      ).toContain('hi')
      const { amountNano, flags } = await scene.settlement()
      expect([amountNano, flags]).toEqual([1_000_000n, ['estimated']])
    }
  })

  it('when its stream ends, and its last event waits', async () => {
    const scene = await billingScene()
    const text = [
      'data: {"type":"transcript.text.delta","delta":"hi"}\n\n',
      'data: {"type":"transcript.text.done","text":"hi","usage":{"type":"tokens","input_tokens":30,"output_tokens":4}}\n\n',
    ].join('')
    scene.upstream.answerNext(sse(text))
    const body = form([{ name: 'stream', content: 'true' }, file('abc'), MODEL])
    expect(await (await upload(scene, TRANSCRIPTIONS, body)).text()).toBe(text)
    expect((await scene.settlement()).amountNano).toBe(nano({ fresh: 30, output: 4 }))
  })
})

test('edited images are held and billed like made ones', async () => {
  const scene = await billingScene({ price: '{ per_image: "0.04" }' })
  scene.upstream.answerNext(json({ data: [{}, {}] }))
  const fields: Field[] = [
    { name: 'n', content: '2' },
    { ...file('png'), name: 'image[]' },
    { name: 'model', content: 'own' },
  ]
  await (await upload(scene, IMAGE_EDITS, form(fields))).text()
  expect((await scene.settlement()).amountNano).toBe(80_000_000n)
})

describe('a form that must not pass costs nothing', () => {
  it.each<[string, Buffer, Record<string, string>, string, string | null]>([
    [
      'no form',
      Buffer.from('{"model":"m"}'),
      { 'content-type': 'application/json' },
      'invalid_multipart',
      null,
    ],
    ['no boundary', form([MODEL]), { 'content-type': 'multipart/form-data' }, 'invalid_multipart', null],
    ['another boundary', form([MODEL], 'other'), TYPE, 'invalid_multipart', null],
    ['a form without its end', form([MODEL]).subarray(0, -6), TYPE, 'invalid_multipart', null],
    ['no model', form([file('abc')]), TYPE, 'invalid_model', 'model'],
    ['an empty model', form([{ ...MODEL, content: '' }]), TYPE, 'invalid_model', 'model'],
    ['two models', form([MODEL, file('abc'), MODEL]), TYPE, 'invalid_model', 'model'],
    [
      'a model in another letter case',
      form([MODEL, { name: 'Model', content: 'x' }]),
      TYPE,
      'invalid_model',
      'model',
    ],
    ['a model that is a file', form([{ ...file('m'), name: 'model' }]), TYPE, 'invalid_model', 'model'],
    ['an n that is no number', form([MODEL, { name: 'n', content: 'two' }]), TYPE, 'invalid_parameter', 'n'],
    [
      'a compressed form',
      form([MODEL]),
      { ...TYPE, 'content-encoding': 'gzip' },
      'unsupported_encoding',
      null,
    ],
  ])('%s', async (_title, body, headers, code, param) => {
    const scene = await billingScene()
    const answer = await upload(scene, IMAGE_EDITS, body, headers as typeof TYPE)
    expect(answer.status).toBe(code === 'unsupported_encoding' ? 415 : 400)
    expect(await answer.json()).toMatchObject({ error: { code, param } })
    expect(scene.upstream.requests).toHaveLength(0)
    expect(scene.gateway.ledger.holds).toHaveLength(0)
  })

  it('two lines of content-type, of which an upstream could take the other', async () => {
    const scene = await billingScene()
    const client = await rawClient(onTestFinished, scene.gateway.url)
    const bytes = form([MODEL])
    const head = `POST ${IMAGE_EDITS} HTTP/1.1\r\nhost: gw\r\nauthorization: Bearer ${scene.gateway.secretOf('app')}\r\n`
    const types = [BOUNDARY, 'other']
      .map(each => `content-type: multipart/form-data; boundary=${each}\r\n`)
      .join('')
    await client.write(`${head}${types}content-length: ${bytes.length}\r\n\r\n`)
    await client.write(bytes)
    expect((await client.answer()).status).toBe(400)
  })
})
