import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, COUNT_TOKENS, EMBEDDINGS, loggedFor, MESSAGES, post, RERANK } from './calls.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())

/** Nothing that was reported could be used: the bill is an estimate, and says so. */
const ESTIMATED = 'estimated'
const NOTHING = [undefined, undefined, undefined, undefined, undefined]

/** Input, cached, cache-written, output, search units, as the log has them of the next answer. */
async function logged(path: string, answer: ReturnType<typeof json>, more: object = {}) {
  upstream.answerNext(answer)
  const got = await post(gateway, path, { model: 'ext-both', ...more })
  expect(got.status).toBe(200)
  await got.text()
  const line = await loggedFor(gateway, got)
  if ((line['flags'] as string[] | undefined)?.includes(ESTIMATED)) return ESTIMATED
  return ['input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens', 'search_units'].map(
    name => line[name],
  )
}

const withUsage = (usage: unknown) => json({ model: 'x', usage })

describe('usage of a chat', () => {
  it.each<[string, unknown, (number | undefined)[] | string]>([
    ['plain', { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }, [3, 0, 0, 4, 0]],
    [
      'with cached and reasoning tokens, which are inside the others',
      {
        prompt_tokens: 30,
        completion_tokens: 40,
        prompt_tokens_details: { cached_tokens: 20 },
        completion_tokens_details: { reasoning_tokens: 39 },
      },
      [30, 20, 0, 40, 0],
    ],
    ['of zeros', { prompt_tokens: 0, completion_tokens: 0 }, [0, 0, 0, 0, 0]],
    [
      'with null details',
      { prompt_tokens: 1, completion_tokens: 2, prompt_tokens_details: null },
      [1, 0, 0, 2, 0],
    ],
    [
      'with null inside the details',
      { prompt_tokens: 1, completion_tokens: 2, prompt_tokens_details: { cached_tokens: null } },
      [1, 0, 0, 2, 0],
    ],
    [
      'with more cached than there was',
      { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } },
      [5, 5, 0, 1, 0],
    ],
    ['that is negative', { prompt_tokens: -1, completion_tokens: 2 }, ESTIMATED],
    ['that is fractional', { prompt_tokens: 1.5, completion_tokens: 2 }, ESTIMATED],
    ['that is text', { prompt_tokens: '1', completion_tokens: 2 }, ESTIMATED],
    ['beyond what a number can count', { prompt_tokens: 1e300, completion_tokens: 2 }, ESTIMATED],
    ['that is null', null, ESTIMATED],
    ['that is a list', [1, 2], ESTIMATED],
    ['that is empty', {}, ESTIMATED],
  ])('%s', async (_title, usage, expected) => {
    expect(await logged(CHAT, withUsage(usage))).toEqual(expected)
  })

  it('is not read from anywhere but the root', async () => {
    expect(await logged(CHAT, json({ x: { usage: { prompt_tokens: 9, completion_tokens: 9 } } }))).toEqual(
      ESTIMATED,
    )
  })

  it('is missing where there was none', async () => {
    expect(await logged(CHAT, json({ model: 'x' }))).toEqual(ESTIMATED)
  })
})

describe('usage of a chat stream', () => {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: {} }], ...more })}\n\n`
  const only = (prompt: number, completion: number) =>
    chunk({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } })
  const DONE = 'data: [DONE]\n\n'
  const usage = (prompt: number, completion: number) => ({
    usage: { prompt_tokens: prompt, completion_tokens: completion },
  })

  it.each<[string, string, (number | undefined)[] | string, string]>([
    [
      'in a chunk of its own, which is hidden',
      chunk({ usage: null }) + only(3, 4),
      [3, 0, 0, 4, 0],
      chunk({}),
    ],
    ['in the last chunk with choices, which passes', chunk(usage(5, 6)), [5, 0, 0, 6, 0], chunk(usage(5, 6))],
    ['in both: the later counts', chunk(usage(1, 1)) + only(3, 4), [3, 0, 0, 4, 0], chunk(usage(1, 1))],
    ['twice in chunks of their own: the later counts', only(1, 1) + only(3, 4), [3, 0, 0, 4, 0], ''],
    ['never', chunk({ usage: null }), ESTIMATED, chunk({})],
    [
      'in every chunk, growing',
      chunk(usage(7, 1)) + chunk(usage(7, 2)),
      [7, 0, 0, 2, 0],
      chunk(usage(7, 1)) + chunk(usage(7, 2)),
    ],
  ])('%s', async (_title, events, expected, shown) => {
    expect(await logged(CHAT, sse(events + DONE), { stream: true })).toEqual(expected)
    upstream.answerNext(sse(events + DONE))
    const got = await post(gateway, CHAT, { model: 'ext-both', stream: true })
    expect(await got.text()).toBe(shown + DONE)
  })

  it('is shown as it came where the client asked for it', async () => {
    const events = chunk({ usage: null }) + only(3, 4) + DONE
    upstream.answerNext(sse(events))
    const got = await post(gateway, CHAT, {
      model: 'ext-both',
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(await got.text()).toBe(events)
    expect(await loggedFor(gateway, got)).toMatchObject({ input_tokens: 3, output_tokens: 4 })
  })

  it('is logged as far as it came where the stream breaks off', async () => {
    upstream.answerNext(sse([chunk(usage(7, 1))], { ending: 'reset' }))
    const got = await post(gateway, CHAT, { model: 'ext-both', stream: true })
    await got.text()
    expect(await loggedFor(gateway, got)).toMatchObject({
      outcome: 'broken',
      input_tokens: 7,
      output_tokens: 1,
    })
  })
})

describe('usage of messages', () => {
  it.each<[string, unknown, (number | undefined)[] | string]>([
    ['plain', { input_tokens: 3, output_tokens: 4 }, [3, 0, 0, 4, 0]],
    [
      'with a cache, which comes on top of the input',
      { input_tokens: 3, cache_creation_input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 4 },
      [113, 100, 10, 4, 0],
    ],
    [
      'with a cache of null',
      { input_tokens: 3, cache_creation_input_tokens: null, cache_read_input_tokens: null, output_tokens: 4 },
      [3, 0, 0, 4, 0],
    ],
    ['of zeros', { input_tokens: 0, output_tokens: 0 }, [0, 0, 0, 0, 0]],
    ['that is negative', { input_tokens: 3, output_tokens: -4 }, ESTIMATED],
  ])('%s', async (_title, usage, expected) => {
    expect(await logged(MESSAGES, withUsage(usage))).toEqual(expected)
  })

  const start = (usage: object) => event('message_start', { message: { model: 'served-ant', usage } })
  const delta = (usage: object | null) =>
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage })
  const event = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const stop = event('message_stop', {})

  it.each<[string, string, (number | undefined)[] | string]>([
    ['only in message_start', start({ input_tokens: 5, output_tokens: 1 }), [5, 0, 0, 1, 0]],
    [
      'in message_delta, cumulative: it overrides, and is never added',
      start({ input_tokens: 5, output_tokens: 1 }) + delta({ output_tokens: 20 }),
      [5, 0, 0, 20, 0],
    ],
    [
      'corrected field by field',
      start({ input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 1 }) +
        delta({
          input_tokens: 6,
          cache_read_input_tokens: 8,
          cache_creation_input_tokens: 2,
          output_tokens: 20,
        }),
      [16, 8, 2, 20, 0],
    ],
    [
      'where null and missing keep the earlier value, and 0 does not',
      start({
        input_tokens: 5,
        cache_read_input_tokens: 7,
        cache_creation_input_tokens: 4,
        output_tokens: 1,
      }) + delta({ input_tokens: null, cache_read_input_tokens: 0, output_tokens: 2 }),
      [9, 0, 4, 2, 0],
    ],
    ['with a delta of null', start({ input_tokens: 5, output_tokens: 1 }) + delta(null), [5, 0, 0, 1, 0]],
    ['never', event('message_start', { message: { model: 'served-ant' } }), ESTIMATED],
  ])('in a stream: %s', async (_title, events, expected) => {
    expect(await logged(MESSAGES, sse(events + stop), { stream: true })).toEqual(expected)
  })

  it('is never read from a count of tokens', async () => {
    expect(await logged(COUNT_TOKENS, json({ input_tokens: 5, usage: { input_tokens: 5 } }))).toEqual(NOTHING)
  })
})

describe('usage of embeddings', () => {
  it.each<[string, unknown, (number | undefined)[] | string]>([
    ['in prompt_tokens', { prompt_tokens: 8, total_tokens: 9 }, [8, 0, 0, 0, 0]],
    ['in total_tokens', { total_tokens: 9 }, [9, 0, 0, 0, 0]],
    ['null, then in total_tokens', { prompt_tokens: null, total_tokens: 9 }, [9, 0, 0, 0, 0]],
    ['zero, which is not missing', { prompt_tokens: 0, total_tokens: 9 }, [0, 0, 0, 0, 0]],
    ['nowhere', {}, ESTIMATED],
  ])('%s', async (_title, usage, expected) => {
    expect(await logged(EMBEDDINGS, withUsage(usage))).toEqual(expected)
  })
})

describe('usage of a rerank', () => {
  it.each<[string, object, (number | undefined)[] | string]>([
    ['in usage.total_tokens', { usage: { total_tokens: 8, prompt_tokens: 7 } }, [8, 0, 0, 0, 0]],
    ['in usage.prompt_tokens', { usage: { prompt_tokens: 7 } }, [7, 0, 0, 0, 0]],
    [
      'in meta.tokens',
      { meta: { tokens: { input_tokens: 6 }, billed_units: { input_tokens: 5 } } },
      [6, 0, 0, 0, 0],
    ],
    ['in meta.billed_units', { meta: { billed_units: { input_tokens: 5 } } }, [5, 0, 0, 0, 0]],
    ['in search units alone', { meta: { billed_units: { search_units: 2 } } }, [0, 0, 0, 0, 2]],
    [
      'in usage, with search units beside it',
      { usage: { total_tokens: 8 }, meta: { billed_units: { search_units: 2, input_tokens: 1 } } },
      [8, 0, 0, 0, 2],
    ],
    [
      'with search units of null',
      { meta: { billed_units: { input_tokens: 5, search_units: null } } },
      [5, 0, 0, 0, 0],
    ],
    [
      'with nulls all the way down',
      {
        usage: { total_tokens: null },
        meta: { tokens: { input_tokens: null }, billed_units: { input_tokens: null } },
      },
      ESTIMATED,
    ],
    [
      'zero, which is not missing',
      { usage: { total_tokens: 0 }, meta: { tokens: { input_tokens: 6 } } },
      [0, 0, 0, 0, 0],
    ],
    ['nowhere', { meta: { api_version: { version: '2' } } }, ESTIMATED],
    ['negative', { meta: { billed_units: { search_units: -1 } } }, ESTIMATED],
  ])('%s', async (_title, answer, expected) => {
    expect(await logged(RERANK, json(answer))).toEqual(expected)
  })
})
