import { once } from 'node:events'
import { request } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startDemoUpstream } from '../../src/demo/server.ts'
import { testClock } from '../support/test-clock.ts'
import { demoUpstream, post } from './demo.ts'

const chat = { model: 'm', stream: true, messages: [{ role: 'user', content: 'one two three' }] }

describe('a stream', () => {
  test('keeps the pace: one event, then the pause, then the next', async () => {
    const clock = testClock()
    const demo = await demoUpstream(clock, 50)
    const answer = await post(demo, '/v1/chat/completions', chat)
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toContain('"role":"assistant"')
    await clock.waiting()
    clock.advance(49)
    expect(clock.pending).toBe(1)
    clock.advance(1)
    expect((await reader.read()).value).toContain('"content":"You"')
    await reader.cancel()
    await clock.idle()
  })

  test('stops at once when the client leaves', async () => {
    const clock = testClock()
    const demo = await demoUpstream(clock, 50)
    const leaving = request(`${demo.url}/v1/chat/completions`, { method: 'POST' })
    leaving.on('error', () => undefined) // it is this test that destroys it
    leaving.end(JSON.stringify(chat))
    await once(leaving, 'response')
    await clock.waiting()
    leaving.destroy()
    await clock.idle()
    expect(clock.pending).toBe(0)
  })

  test('is ended by close, and so is its connection', async () => {
    const clock = testClock()
    const demo = await startDemoUpstream({ host: '127.0.0.1', port: 0, clock, random: systemRandom })
    const answer = await post(demo, '/v1/chat/completions', chat)
    await demo.close()
    await expect(answer.text()).rejects.toThrow()
    await expect(post(demo, '/v1/chat/completions', chat)).rejects.toThrow()
  })
})

describe('what a vendor rejects, the demo rejects in its shape', () => {
  test.each([
    ['{"model":', 'We could not parse the JSON body of your request.', null],
    ['[]', 'The body of your request is not a JSON object.', null],
    [{ messages: [] }, 'you must provide a model parameter', 'model'],
    [{ model: 'm' }, "'messages' must be a list of at least one message", 'messages'],
  ])('400 on %j', async (body, message, param) => {
    const demo = await demoUpstream()
    const openai = await post(demo, '/v1/chat/completions', body)
    expect(openai.status).toBe(400)
    expect(await openai.json()).toEqual({
      error: { message, type: 'invalid_request_error', param, code: null },
    })
    const anthropic = await post(demo, '/v1/messages/count_tokens', body)
    expect(anthropic.status).toBe(400)
    expect(await anthropic.json()).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message },
      request_id: anthropic.headers.get('request-id'),
    })
  })

  test('404 on an unknown path and an unknown model, in the shape that the path or the headers ask for', async () => {
    const demo = await demoUpstream()
    const [chatPath, messagesPath, model] = await Promise.all([
      fetch(`${demo.url}/v1/chat/complete`),
      fetch(`${demo.url}/v1/messages/count`),
      fetch(`${demo.url}/v1/models/nope`, { headers: { 'anthropic-version': '2023-06-01' } }),
    ])
    expect([chatPath.status, messagesPath.status, model.status]).toEqual([404, 404, 404])
    expect(await chatPath.json()).toHaveProperty('error.code', 'not_found')
    expect(await messagesPath.json()).toHaveProperty('error.type', 'not_found_error')
    expect(await model.json()).toHaveProperty('error.type', 'not_found_error')
  })

  test('405 on a wrong method, naming the right one', async () => {
    const demo = await demoUpstream()
    const [get, posted] = await Promise.all([
      fetch(`${demo.url}/v1/embeddings`),
      post(demo, '/v1/models', {}),
    ])
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET'])
  })

  test('413 on a body over 32 MiB, without a reset', async () => {
    const demo = await demoUpstream()
    const huge = request(`${demo.url}/v1/messages`, { method: 'POST' })
    huge.on('error', () => undefined) // the rest of the body has nowhere to go
    huge.write(Buffer.alloc(33_554_433))
    const [answer] = (await once(huge, 'response')) as [
      { statusCode: number; headers: Record<string, string> },
    ]
    expect([answer.statusCode, answer.headers['connection']]).toEqual([413, 'close'])
    huge.destroy()
  })
})

test('GET /v1/models lists entries that both SDKs can read', async () => {
  const demo = await demoUpstream()
  const list = (await (await fetch(`${demo.url}/v1/models?limit=1000`)).json()) as { data: unknown[] }
  expect(list).toMatchObject({
    object: 'list',
    has_more: false,
    first_id: 'demo-chat',
    last_id: 'demo-rerank',
  })
  expect(list.data[0]).toEqual({
    id: 'demo-chat',
    object: 'model',
    created: 1_767_225_600,
    owned_by: 'demo',
    type: 'model',
    display_name: 'Demo chat',
    created_at: '2026-01-01T00:00:00.000Z',
  })
})

test('a bug of its own is a 500 that says what it was', async () => {
  const demo = await demoUpstream()
  const deep = `{"model":"m","messages":[{"role":"user","content":${'['.repeat(20_000)}${']'.repeat(20_000)}}]}`
  const answer = await post(demo, '/v1/chat/completions', deep)
  expect(answer.status).toBe(500)
  expect(await answer.json()).toMatchObject({ error: { type: 'server_error' } })
})

test('rejects with the system error where the address is in use', async () => {
  const demo = await demoUpstream()
  const port = Number(new URL(demo.url).port)
  const second = startDemoUpstream({ host: '127.0.0.1', port, clock: systemClock, random: systemRandom })
  await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE', address: '127.0.0.1', port })
})

test('names an IPv6 address as a URL does', async () => {
  const demo = await startDemoUpstream({ host: '::1', port: 0, clock: systemClock, random: systemRandom })
  onTestFinished(() => demo.close())
  expect(demo.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
})
