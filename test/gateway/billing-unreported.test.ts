import { describe, expect, it } from 'vitest'
import { json, reply, sse } from '../support/answers.ts'
import { billingScene, textChunk } from './billing-scene.ts'
import { CHAT, IMAGES, MESSAGES, RERANK, TRANSCRIPTIONS } from './calls.ts'

/** 540 bytes, 135 tokens by the estimate. */
const THAI = 'สวัสดีครับ'.repeat(18)
const ANSWER = { choices: [{ index: 0, finish_reason: 'length', message: { content: THAI } }] }

describe('text without a report is charged at most at the limit that the upstream keeps', () => {
  it.each([
    ['of the client', { max_tokens: 20 }, 20],
    ['of the client, for each of two answers', { max_tokens: 20, n: 2 }, 40],
    ['that is longer than the text', { max_tokens: 200 }, 135],
    ['of 0, which counts as none', { max_tokens: 0 }, 135],
    ['that is not given', {}, 135],
  ])('%s', async (_title, fields, outputTokens) => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answerNext(json(ANSWER))
    await (await call(CHAT, { messages: [], ...fields })).text()
    expect(await settlement()).toMatchObject({ flags: ['estimated'], usage: { outputTokens } })
  })

  it('of output_cap, also if the stream breaks off', async () => {
    const publication = 'output_cap: max_tokens, max_output_tokens: 30'
    const { upstream, call, settlement } = await billingScene({ publication })
    upstream.answerNext(sse([textChunk(THAI)], { ending: 'cut' }))
    await (await call(CHAT, { messages: [], stream: true })).text()
    expect(upstream.lastRequest.json()).toMatchObject({ max_tokens: 30 })
    expect(await settlement()).toMatchObject({ flags: ['partial', 'estimated'], usage: { outputTokens: 30 } })
  })

  it('but a report beyond it is charged in full', async () => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answerNext(json({ usage: { prompt_tokens: 10, completion_tokens: 25 } }))
    await (await call(CHAT, { messages: [], max_tokens: 20 })).text()
    expect(await settlement()).toMatchObject({ flags: [], usage: { outputTokens: 25 } })
  })
})

it.each([
  ['whole', ['{"created":1,"data":[{"b64_json":"A"},{"b64_json":"A"}]}'], {}],
  ['streamed', ['data: {"type":"image_generation.completed"}\n\n'.repeat(2)], { stream: true }],
])('images without a report are charged at 4,160 tokens each, %s', async (_title, body, fields) => {
  const { upstream, call, settlement } = await billingScene()
  const type = 'stream' in fields ? 'text/event-stream' : 'application/json'
  upstream.answerNext(reply({ headers: { 'content-type': type }, body }))
  await (await call(IMAGES, { prompt: 'a cat', n: 2, ...fields })).text()
  expect(await settlement()).toMatchObject({
    flags: ['estimated'],
    usage: { outputTokens: 8_320, images: 2 },
  })
})

describe.each([
  ['OpenAI', CHAT, '{"error":{"message":"overloaded"}}'],
  ['Anthropic', MESSAGES, '{"type":"error","error":{"type":"overloaded_error"}}'],
])('an answer of %s that is an error and nothing else costs nothing', (_name, path, error) => {
  it.each([
    ['in one piece', [error]],
    ['in pieces', [error.slice(0, 3), error.slice(3, 14), error.slice(14)]],
  ])('%s', async (_title, body) => {
    const { upstream, call, release } = await billingScene()
    upstream.answerNext(reply({ headers: { 'content-type': 'application/json' }, body, framing: 'chunked' }))
    expect((await call(path, { messages: [] })).status).toBe(200)
    expect(await release()).toMatchObject({ reason: 'upstream_error' })
  })
})

it.each([
  [0, 0n, []],
  [undefined, 200_000n, ['estimated']],
])('a recording with %s reported seconds is charged so', async (seconds, amountNano, flags) => {
  const { upstream, gateway, settlement } = await billingScene({ price: '{ per_second: "0.0001" }' })
  upstream.answerNext(
    json({ text: '', ...(seconds !== undefined && { usage: { type: 'duration', seconds } }) }),
  )
  const form = new FormData()
  form.set('model', 'own')
  form.set('file', new Blob([Buffer.alloc(32_000)], { type: 'audio/mpeg' }), 'a.mp3')
  const headers = { authorization: `Bearer ${gateway.secretOf('app')}` }
  await (await fetch(gateway.url + TRANSCRIPTIONS, { method: 'POST', headers, body: form })).text()
  expect(await settlement()).toMatchObject({ amountNano, flags })
})

it('a rerank takes a search unit at least, also if its client leaves', async () => {
  const { upstream, call, settlement } = await billingScene()
  const arrived = upstream.nextRequest()
  upstream.answerNext(
    reply({ headers: { 'content-type': 'application/json' }, body: [], framing: 'chunked', ending: 'hang' }),
  )
  const leaving = new AbortController()
  const body = { model: 'ranked', query: 'a', documents: ['b'] }
  const called = call(RERANK, body, { signal: leaving.signal })
  await arrived
  leaving.abort()
  await expect(called).rejects.toThrow('abort')
  expect(await settlement()).toMatchObject({ amountNano: 2_000_000n, flags: ['client_gone', 'estimated'] })
})

it('written tokens are part of the input, however many are reported', async () => {
  const { upstream, call, settlement } = await billingScene()
  const details = { cached_tokens: 4, cache_write_tokens: 1_000_000_000 }
  const usage = { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: details }
  upstream.answerNext(json({ usage }))
  await (await call(CHAT, { messages: [] })).text()
  expect((await settlement()).usage).toMatchObject({
    inputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteTokens: 6,
  })
})
