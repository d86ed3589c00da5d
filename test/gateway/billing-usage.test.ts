import { describe, expect, it } from 'vitest'
import { json, sse } from '../support/answers.ts'
import {
  billingScene,
  DONE,
  MESSAGE_STOP,
  messageDelta,
  messageStart,
  nano,
  openaiChunk,
  type Priced,
  textChunk,
  textDelta,
  usageChunk,
} from './billing-scene.ts'
import { CHAT, MESSAGES, RERANK } from './calls.ts'

/** The amount and flags that an answer is charged with. */
async function charge(path: string, answer: ReturnType<typeof json>, body: object) {
  const { upstream, call, settlement } = await billingScene()
  upstream.answer(answer)
  const got = await call(path, body)
  expect(got.status).toBe(200)
  await got.text()
  const { amountNano, flags } = await settlement()
  return flags.includes('estimated') ? 'estimated' : amountNano
}

type Case = readonly [title: string, events: string, expected: Priced | 'estimated']

const cost = (expected: Priced | 'estimated') => (expected === 'estimated' ? expected : nano(expected))

describe('the bill of a stream of OpenAI', () => {
  const last = (prompt: unknown, completion: unknown, more: object = {}) =>
    openaiChunk({
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
      usage: { prompt_tokens: prompt, completion_tokens: completion, ...more },
    })

  it.each<Case>([
    ['takes usage from a chunk of its own', textChunk('a') + usageChunk(7, 3), { fresh: 7, output: 3 }],
    ['takes usage from the last chunk with choices', textChunk('a') + last(7, 3), { fresh: 7, output: 3 }],
    ['takes the later one where it comes twice', last(1, 1) + usageChunk(7, 3), { fresh: 7, output: 3 }],
    ['takes zeros for zeros', textChunk('aaaa') + usageChunk(0, 0), {}],
    [
      'charges cached tokens once, at their own price',
      last(100, 3, { prompt_tokens_details: { cached_tokens: 60 } }),
      { fresh: 40, cached: 60, output: 3 },
    ],
    [
      'charges tokens written to the cache once, at their own price',
      last(100, 3, { prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 } }),
      { fresh: 10, cached: 60, written: 30, output: 3 },
    ],
    [
      'counts reasoning that the total says is beside the completion, as at xAI',
      last(32, 9, { total_tokens: 135, completion_tokens_details: { reasoning_tokens: 94 } }),
      { fresh: 32, output: 103 },
    ],
    [
      'counts reasoning within the completion once, as at OpenAI',
      last(32, 103, { total_tokens: 135, completion_tokens_details: { reasoning_tokens: 94 } }),
      { fresh: 32, output: 103 },
    ],
    ['is an estimate where usage never comes', textChunk('aaaa'), 'estimated'],
    ['is an estimate where usage is negative', textChunk('aaaa') + usageChunk(7, -3), 'estimated'],
    ['is an estimate where usage is absurd', textChunk('aaaa') + usageChunk(7, 5e12), 'estimated'],
    ['is an estimate where usage is no number', textChunk('aaaa') + usageChunk('7', 3), 'estimated'],
  ])('%s', async (_title, events, expected) => {
    for (const asked of [{}, { stream_options: { include_usage: true } }])
      expect(await charge(CHAT, sse(events + DONE), { stream: true, ...asked })).toBe(cost(expected))
  })
})

describe('the bill of a stream of Anthropic', () => {
  it.each<Case>([
    [
      'takes usage from message_start alone',
      messageStart({ input_tokens: 7, output_tokens: 3 }) + textDelta('aaaa'),
      { fresh: 7, output: 3 },
    ],
    [
      'takes the cumulative output of message_delta, and adds nothing up',
      messageStart({ input_tokens: 7, output_tokens: 1 }) +
        messageDelta({ output_tokens: 9 }) +
        messageDelta({ output_tokens: 20 }),
      { fresh: 7, output: 20 },
    ],
    [
      'takes the input as message_delta corrects it',
      messageStart({ input_tokens: 7, output_tokens: 1 }) +
        messageDelta({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 20 }),
      { fresh: 10, cached: 5, output: 20 },
    ],
    [
      'charges reads and writes of the cache beside the input, each once',
      messageStart({
        input_tokens: 7,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 30,
        output_tokens: 1,
      }) + messageDelta({ output_tokens: 2 }),
      { fresh: 7, cached: 100, written: 30, output: 2 },
    ],
    ['takes zeros for zeros', messageStart({ input_tokens: 0, output_tokens: 0 }) + textDelta('aaaa'), {}],
    [
      'keeps what was known where message_delta says null',
      messageStart({ input_tokens: 7, output_tokens: 3 }) +
        messageDelta({ input_tokens: null, output_tokens: null }),
      { fresh: 7, output: 3 },
    ],
    ['is an estimate where usage never comes', messageStart() + textDelta('aaaa'), 'estimated'],
    [
      'is an estimate where usage is negative',
      messageStart({ input_tokens: -7, output_tokens: 3 }) + textDelta('aaaa'),
      'estimated',
    ],
  ])('%s', async (_title, events, expected) => {
    expect(await charge(MESSAGES, sse(events + MESSAGE_STOP), { stream: true })).toBe(cost(expected))
  })
})

describe('the bill of an answer in JSON', () => {
  it.each<[string, string, object, Priced | 'estimated']>([
    [
      'of OpenAI counts cached tokens inside the prompt',
      CHAT,
      {
        usage: { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 99 } },
      },
      { fresh: 1, cached: 99, output: 5 },
    ],
    [
      'of Anthropic counts them beside the input',
      MESSAGES,
      {
        usage: {
          input_tokens: 1,
          cache_read_input_tokens: 99,
          cache_creation_input_tokens: 4,
          output_tokens: 5,
        },
      },
      { fresh: 1, cached: 99, written: 4, output: 5 },
    ],
    ['of a rerank counts total_tokens', RERANK, { usage: { total_tokens: 42 } }, { fresh: 42 }],
  ])('%s', async (_title, path, answer, expected) => {
    expect(await charge(path, json(answer), {})).toBe(cost(expected))
  })

  it.each<[number, bigint]>([
    [0, 0n],
    [1, 2_000_000n],
    [7, 14_000_000n],
  ])('of a rerank of %i search units is as many times their price', async (units, amountNano) => {
    const answer = json({ meta: { billed_units: { search_units: units } } })
    expect(await charge(RERANK, answer, { model: 'ranked' })).toBe(amountNano)
  })
})
