import { describe, expect, test } from 'vitest'
import { demoUpstream, eventsOf, post } from './demo.ts'

const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi you' }] }]
const ask = { model: 'any/name:1', max_tokens: 100, messages }

describe('POST /v1/messages', () => {
  test('answers a message with every field of the shape', async () => {
    const answer = await post(await demoUpstream(), '/v1/messages?beta=true', ask)
    expect(answer.headers.get('request-id')).toMatch(/^req_/)
    expect(await answer.json()).toEqual({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: 'any/name:1',
      content: [{ type: 'text', text: 'You said: Hi you' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 2,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 4,
      },
    })
  })

  test('streams the whole sequence of events, each under its `event:` line, with a ping', async () => {
    const events = await eventsOf(await post(await demoUpstream(), '/v1/messages', { ...ask, stream: true }))
    for (const { event, data } of events) expect(data).toHaveProperty('type', event)
    expect(events.map(({ data }) => data)).toEqual([
      {
        type: 'message_start',
        message: {
          id: expect.stringMatching(/^msg_/),
          type: 'message',
          role: 'assistant',
          model: 'any/name:1',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: 2,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 1,
          },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      ...['You', ' said:', ' Hi', ' you'].map(text => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text },
      })),
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: {
          input_tokens: 2,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 4,
        },
      },
      { type: 'message_stop' },
    ])
  })

  test('ends with `max_tokens` where that is short', async () => {
    const answer = await post(await demoUpstream(), '/v1/messages', { ...ask, max_tokens: 1 })
    expect(await answer.json()).toMatchObject({
      content: [{ text: 'You ' }],
      stop_reason: 'max_tokens',
      usage: { output_tokens: 1 },
    })
  })

  test('insists on max_tokens, as the vendor does', async () => {
    const answer = await post(await demoUpstream(), '/v1/messages', { model: 'm', messages })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { message: 'max_tokens: Field required' } })
  })
})

test('POST /v1/messages/count_tokens counts the system prompt and the messages, and asks for no max_tokens', async () => {
  const system = [{ type: 'text', text: 'Be brief.' }]
  const answer = await post(await demoUpstream(), '/v1/messages/count_tokens', {
    model: 'm',
    system,
    messages,
  })
  expect(await answer.json()).toEqual({ input_tokens: 4 })
})
