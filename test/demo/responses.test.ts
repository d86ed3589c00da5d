import { expect, test } from 'vitest'
import { demoUpstream, eventsOf, post } from './demo.ts'

const TOOL = {
  type: 'function',
  name: 'get_weather',
  parameters: { properties: { city: { type: 'string' } } },
}

test('POST /v1/responses repeats the input, with usage', async () => {
  const answer = await post(await demoUpstream(), '/v1/responses', { model: 'm', input: 'hello' })
  expect(await answer.json()).toMatchObject({
    id: expect.stringMatching(/^resp_/),
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'You said: hello' }] },
    ],
    usage: { input_tokens: 2, output_tokens: 4, total_tokens: 6 },
  })
})

test('streams the events of OpenAI, numbered, the last with the whole response', async () => {
  const ask = { model: 'm', input: [{ role: 'user', content: 'hello' }], stream: true }
  const events = await eventsOf(await post(await demoUpstream(), '/v1/responses', ask))
  const shown = events.map(({ event, data }) => ({
    event,
    ...(data as { type: string; sequence_number: number }),
  }))
  expect(shown.map(({ sequence_number }) => sequence_number)).toEqual(shown.map((_, at) => at))
  expect(shown.every(({ event, type }) => event === type)).toBe(true)
  expect(shown.map(({ type }) => type.replace('response.', ''))).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  expect(shown.at(-1)).toMatchObject({ response: { usage: { output_tokens: 4 }, status: 'completed' } })
})

test('calls a function, takes its result, and stops at a limit', async () => {
  const demo = await demoUpstream()
  const called = await post(demo, '/v1/responses', { model: 'm', input: 'call get_weather', tools: [TOOL] })
  expect(await called.json()).toMatchObject({ output: [{ type: 'function_call', name: 'get_weather' }] })
  const result = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' }
  const said = await post(demo, '/v1/responses', { model: 'm', input: [result], tools: [TOOL] })
  expect(await said.json()).toMatchObject({ output: [{ content: [{ text: 'The tool answered: sunny' }] }] })
  const cut = await post(demo, '/v1/responses', { model: 'm', input: 'hello', max_output_tokens: 1 })
  expect(await cut.json()).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  })
})

test('rejects a request without input', async () => {
  expect((await post(await demoUpstream(), '/v1/responses', { model: 'm' })).status).toBe(400)
})
