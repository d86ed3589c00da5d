import { expect, test } from 'vitest'
import { demoUpstream, eventsOf, post } from './demo.ts'

test('POST /v1/completions answers each prompt as often as asked, with usage', async () => {
  const answer = await post(await demoUpstream(), '/v1/completions', {
    model: 'm',
    prompt: ['abcd', 'e'],
    n: 2,
    max_tokens: 3,
  })
  const choice = (index: number, text: string, finish_reason: string) => ({
    text,
    index,
    logprobs: null,
    finish_reason,
  })
  expect(await answer.json()).toEqual({
    id: expect.stringMatching(/^cmpl-/),
    object: 'text_completion',
    created: expect.any(Number),
    model: 'm',
    choices: [
      choice(0, ' You said: a', 'length'),
      choice(1, ' You said: a', 'length'),
      choice(2, ' You said: e', 'stop'),
      choice(3, ' You said: e', 'stop'),
    ],
    usage: { prompt_tokens: 2, completion_tokens: 12, total_tokens: 14 },
  })
})

test('streams text, the finish reason, and usage only if asked', async () => {
  const demo = await demoUpstream()
  const ask = { model: 'm', prompt: 'hi', stream: true }
  const events = await eventsOf(await post(demo, '/v1/completions', ask))
  expect(events.at(-1)?.data).toBe('[DONE]')
  const chunks = events
    .slice(0, -1)
    .map(({ data }) => data as { choices: { text: string }[]; usage?: unknown })
  expect(chunks.map(({ choices }) => choices[0]?.text).join('')).toBe(' You said: hi')
  expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
  expect(chunks.some(chunk => 'usage' in chunk)).toBe(false)
  const asked = await post(demo, '/v1/completions', { ...ask, stream_options: { include_usage: true } })
  expect((await eventsOf(asked)).at(-2)?.data).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 1, completion_tokens: 4 },
  })
})

test('rejects a request without a prompt', async () => {
  const answer = await post(await demoUpstream(), '/v1/completions', { model: 'm' })
  expect(answer.status).toBe(400)
})
