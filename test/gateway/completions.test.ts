import { describe, expect, it, test } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { billingScene, nano } from './billing-scene.ts'
import { CHAT, COMPLETIONS, MESSAGES, RESPONSES } from './calls.ts'

const USAGE = { prompt_tokens: 30, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 20 } }

describe('the hold of a text completion', () => {
  it.each<[string, object, number]>([
    ['one answer', { prompt: 'hi', max_tokens: 100 }, 100],
    ['n × best_of', { prompt: 'hi', max_tokens: 100, n: 2, best_of: 3 }, 600],
    ['the larger of two limits', { prompt: 'hi', max_tokens: 1, max_completion_tokens: 500 }, 500],
    ['each prompt', { prompt: ['a', 'b', 'c'], max_tokens: 100, n: 2 }, 600],
    ['each list of token ids', { prompt: [[1, 2], [3]], max_tokens: 100 }, 200],
    ['the published limit, without one of the client', { prompt: 'hi', n: 2 }, 2_000],
  ])('covers %s', async (_title, body, outputTokens) => {
    const { upstream, gateway, call, settlement } = await billingScene({
      publication: 'max_output_tokens: 1000',
    })
    upstream.answerNext(json({ model: 'served', usage: USAGE }))
    await (await call(COMPLETIONS, body)).text()
    await settlement()
    const [hold] = gateway.ledger.holds
    expect((hold?.tokens ?? 0) - (hold?.inputTokens ?? 0)).toBeGreaterThanOrEqual(outputTokens)
    expect(hold?.tokens).toBeLessThan(outputTokens + 60)
  })
})

test('the hold of a response covers each of `n` answers, which llama.cpp would write', async () => {
  const { upstream, gateway, call, settlement } = await billingScene()
  upstream.answerNext(json({ usage: { input_tokens: 1, output_tokens: 1 } }))
  await (await call(RESPONSES, { input: 'hi', max_output_tokens: 100, n: 3 })).text()
  await settlement()
  const [hold] = gateway.ledger.holds
  expect((hold?.tokens ?? 0) - (hold?.inputTokens ?? 0)).toBeGreaterThanOrEqual(300)
})

test.each(['best_of', 'n', 'max_tokens'])('%s must be a whole number', async field => {
  const { call, upstream } = await billingScene()
  const answer = await call(COMPLETIONS, { prompt: 'hi', [field]: '5' })
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ error: { code: 'invalid_parameter', param: field } })
  expect(upstream.requests).toHaveLength(0)
})

test.each(['n_predict', 'n_cmpl'])(
  '%s, which llama.cpp would read before the names of OpenAI, is rejected',
  async field => {
    for (const path of [CHAT, COMPLETIONS, RESPONSES, MESSAGES]) {
      const { call, upstream } = await billingScene()
      const answer = await call(path, { max_tokens: 1, n: 1, [field]: 100_000 })
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain(`\`${field}\` is not supported.`)
      expect(upstream.requests).toHaveLength(0)
    }
  },
)

test.each([
  { max_tokens: 0, max_completion_tokens: 1 },
  { max_tokens: 1, max_completion_tokens: 0 },
])('a limit of 0, which some servers read as unlimited, is rejected beside another: %o', async limits => {
  const { call, upstream } = await billingScene()
  expect((await call(CHAT, limits)).status).toBe(400)
  expect(upstream.requests).toHaveLength(0)
})

describe('the bill of a text completion', () => {
  it('is its usage', async () => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answerNext(json({ model: 'served', choices: [{ text: 'hi' }], usage: USAGE }))
    const answer = await call(COMPLETIONS, { prompt: 'hi' })
    expect(await answer.json()).toEqual({ model: 'm', choices: [{ text: 'hi' }], usage: USAGE })
    expect(await settlement()).toMatchObject({
      amountNano: nano({ fresh: 10, cached: 20, output: 4 }),
      flags: [],
    })
  })

  it('of a stream is the usage that it is asked for, hidden from a client that did not ask', async () => {
    const { upstream, call, settlement } = await billingScene()
    const last = `data: ${JSON.stringify({ model: 'served', choices: [], usage: USAGE })}\n\n`
    const first = 'data: {"model":"served","choices":[{"text":"hi"}],"usage":null}\n\n'
    upstream.answerNext(sse(`${first}${last}data: [DONE]\n\n`))
    const answer = await call(COMPLETIONS, { prompt: 'hi', stream: true })
    expect(await answer.text()).toBe('data: {"model":"m","choices":[{"text":"hi"}]}\n\ndata: [DONE]\n\n')
    expect(upstream.lastRequest.json()).toMatchObject({ stream_options: { include_usage: true } })
    expect((await settlement()).amountNano).toBe(nano({ fresh: 10, cached: 20, output: 4 }))
  })

  it('of a stream that breaks off is the text that passed', async () => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answerNext(sse(`data: {"choices":[{"text":"${'x'.repeat(40)}"}]}\n\n`))
    await (await call(COMPLETIONS, { prompt: 'hi', stream: true })).text()
    const { usage, flags } = await settlement()
    expect(usage.outputTokens).toBe(10)
    expect(flags).toEqual(['partial', 'estimated'])
  })
})
