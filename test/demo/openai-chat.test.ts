import { describe, expect, test } from 'vitest'
import { demoUpstream, eventsOf, post } from './demo.ts'

const PATH = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'Hi you' }]

describe('POST /v1/chat/completions', () => {
  test('answers a chat completion with every field of the shape', async () => {
    const answer = await post(await demoUpstream(), PATH, { model: 'any/name:1', messages })
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    expect(await answer.json()).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.closeTo(Date.now() / 1000, -2),
      model: 'any/name:1',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'You said: Hi you', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 2,
        completion_tokens: 4,
        total_tokens: 6,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
      },
    })
  })

  test('never gives an id twice', async () => {
    const demo = await demoUpstream()
    const answers = [1, 2, 3].map(() =>
      post(demo, PATH, { model: 'm', messages }).then(answer => answer.json()),
    )
    const ids = (await Promise.all(answers)).map(answer => (answer as { id: string }).id)
    expect(new Set(ids).size).toBe(3)
  })

  test('streams a role chunk, one chunk a word, a finish chunk and [DONE], all of one id', async () => {
    const answer = await post(await demoUpstream(), PATH, { model: 'm', messages, stream: true })
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const data = (await eventsOf(answer)).map(event => event.data)
    const chunk = (delta: unknown, finish: string | null = null) => ({
      id: (data[0] as { id: string }).id,
      object: 'chat.completion.chunk',
      created: expect.any(Number),
      model: 'm',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    })
    expect(data).toEqual([
      chunk({ role: 'assistant', content: '', refusal: null }),
      ...['You', ' said:', ' Hi', ' you'].map(content => chunk({ content })),
      chunk({}, 'stop'),
      '[DONE]',
    ])
  })

  test('announces the usage in every chunk and gives it in the last, where include_usage is set', async () => {
    const ask = { model: 'm', messages, stream: true, stream_options: { include_usage: true } }
    const data = (await eventsOf(await post(await demoUpstream(), PATH, ask))).map(event => event.data)
    expect(data.at(-1)).toBe('[DONE]')
    expect(data.at(-2)).toMatchObject({ choices: [], usage: { prompt_tokens: 2, completion_tokens: 4 } })
    for (const chunk of data.slice(0, -2)) expect(chunk).toHaveProperty('usage', null)
  })

  test('ends with `length` where max_tokens is short', async () => {
    const answer = await post(await demoUpstream(), PATH, { model: 'm', messages, max_tokens: 2 })
    expect(await answer.json()).toMatchObject({
      choices: [{ message: { content: 'You said' }, finish_reason: 'length' }],
      usage: { completion_tokens: 2 },
    })
  })

  test('gives as many choices as n asks for, streamed as well, and counts them all', async () => {
    const demo = await demoUpstream()
    const whole = await post(demo, PATH, { model: 'm', messages, n: 2 })
    expect(await whole.json()).toMatchObject({
      choices: [{ index: 0 }, { index: 1 }],
      usage: { completion_tokens: 8 },
    })
    const data = await eventsOf(await post(demo, PATH, { model: 'm', messages, n: 2, stream: true }))
    const indexes = data
      .slice(0, -1)
      .map(({ data: chunk }) => (chunk as { choices: [{ index: number }] }).choices[0].index)
    expect(new Set(indexes)).toEqual(new Set([0, 1]))
  })
})
