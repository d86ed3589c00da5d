import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import {
  CHAT,
  COMPLETIONS,
  COUNT_TOKENS,
  EMBEDDINGS,
  MESSAGES,
  post,
  RERANK,
  RESPONSES,
  rawHead,
} from './calls.ts'
import { editedBody, rootMembers } from './edits-oracle.ts'
import { rawClient } from './raw-client.ts'

const SERVED = 'served-model'
const upstream = await scriptedUpstream(afterAll)
const config = (settings: string) => `
version: 1
settings: ${settings}
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: ${SERVED} }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: ${SERVED} }
publications:
  m: { max_output_tokens: 777, bindings: [{ endpoint: oai }, { endpoint: ant }] }
keys:
  admin: { kind: platform }
`
const gateway = await testGateway(afterAll, config('{}'))
/** Gateways that bound the answers to requests without a limit of their own, by the field that they add. */
const capping = {
  max_tokens: await testGateway(afterAll, config('{ output_cap: max_tokens }')),
  max_completion_tokens: await testGateway(afterAll, config('{ output_cap: max_completion_tokens }')),
}

/** Text that looks like what the gateway edits. */
const PROSE = [
  'hi',
  'function f() { return 1 }',
  '{"model":"m","stream":true}',
  '"model":"m"',
  '}{][,:"',
  '\\"stream_options\\":{',
  'é😀\u2028\n\t{',
  '{{{{',
  '',
]
const prose = fc.oneof(fc.constantFrom(...PROSE), fc.string({ unit: 'grapheme', maxLength: 12 }))
const NAMES = [
  'content',
  'role',
  'model',
  'stream',
  'stream_options',
  'include_usage',
  'messages',
  '__proto__',
]

/** Any value, whose members are called like those of the root. */
const { value } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    prose.map(text => JSON.stringify(text)),
    fc.constantFrom('null', 'true', 'false', '0', '12345678901234567890', '1e-7', '{}', '[]', '"\\u007b\\/"'),
    fc.array(tie('value'), { maxLength: 3 }).map(items => `[${items.join(', ')}]`),
    fc
      .array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 3 })
      .map(members => `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${inner}`).join(',')}}`),
  ),
}))

const messages = fc
  .array(
    fc.oneof(
      prose.map(text => `{"role":"user","content":${JSON.stringify(text)}}`),
      prose.map(text => `{"content":${JSON.stringify(text)},"role":"user"}`),
      value,
    ),
    { maxLength: 3 },
  )
  .map(items => `[${items.join(',')}]`)

const streamOptions = fc.oneof(
  fc.constantFrom('null', '{}', '{ }', '{"include_usage":true}', '{"include_usage":false}'),
  fc.constantFrom('{"include_usage":null, "a":{"b":"}"}}', '{"a":{"include_usage":true}}'),
  fc.constantFrom('{ "a" : [{}] , "include_usage" : false }'),
)

const gap = fc.constantFrom('', ' ', '\n  ', '\t')

/** A body whose members come in any order: those that the gateway reads, and others. */
const body = fc
  .record({
    name: fc.constantFrom('"model"', '"\\u006dodel"', '"mode\\u006c"'),
    stream: fc.option(fc.constantFrom('true', 'true', 'true', 'false', 'null'), { nil: undefined }),
    options: fc.option(streamOptions, { nil: undefined, freq: 2 }),
    messages: fc.option(messages, { nil: undefined, freq: 5 }),
    maxTokens: fc.option(fc.constantFrom('null', '5', '0'), { nil: undefined, freq: 1 }),
    maxCompletionTokens: fc.option(fc.constantFrom('null', '7'), { nil: undefined, freq: 1 }),
    others: fc.uniqueArray(
      fc.tuple(fc.constantFrom('tools', 'metadata', 'input', 'a b', 'é', 'user'), value),
      {
        selector: ([name]) => name,
        maxLength: 3,
      },
    ),
    gap,
  })
  .chain(parts => {
    const colon = `${parts.gap}:${parts.gap}`
    const members = [`${parts.name}${colon}"m"`]
    if (parts.stream !== undefined) members.push(`"stream"${colon}${parts.stream}`)
    if (parts.options !== undefined) members.push(`"stream_options"${colon}${parts.options}`)
    if (parts.messages !== undefined) members.push(`"messages"${colon}${parts.messages}`)
    if (parts.maxTokens !== undefined) members.push(`"max_tokens"${colon}${parts.maxTokens}`)
    if (parts.maxCompletionTokens !== undefined)
      members.push(`"max_completion_tokens"${colon}${parts.maxCompletionTokens}`)
    for (const [name, inner] of parts.others) members.push(`${JSON.stringify(name)}${colon}${inner}`)
    return fc
      .shuffledSubarray(members, { minLength: members.length })
      .map(shuffled => `${parts.gap}{${parts.gap}${shuffled.join(`,${parts.gap}`)}${parts.gap}}${parts.gap}`)
  })

beforeEach(() => {
  upstream.forget()
  upstream.answer(exchange => {
    const streams = /"stream"\s*:\s*true/.test(exchange.request.text())
    return (streams ? sse('data: {"model":"x","choices":[]}\n\ndata: [DONE]\n\n') : json('{"model":"x"}'))(
      exchange,
    )
  })
})

/** Sends each body over one connection, cut anywhere, and compares what arrived with what the oracle says. */
async function expectFaithful(
  path: string,
  numRuns: number,
  on = gateway,
  cap?: { readonly field: string; readonly tokens: number },
): Promise<void> {
  const client = await rawClient(onTestFinished, on.url)
  const kind = path === CHAT || path === COMPLETIONS ? 'chat' : 'other'
  await fc.assert(
    fc.asyncProperty(body, fc.array(fc.nat(400), { maxLength: 4 }), async (text, cuts) => {
      const bytes = Buffer.from(text)
      const at = [0, ...cuts.map(cut => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
      await client.write(rawHead(on, path, [`content-length: ${bytes.length}`]))
      for (const [index, to] of at.slice(1).entries()) {
        if (to === at[index]) continue
        await client.write(bytes.subarray(at[index], to))
        // Another turn of the event loop, or the pieces would arrive as one.
        await new Promise(resolve => void setImmediate(resolve))
      }
      const answer = await client.answer()
      expect(answer.status, answer.text()).toBe(200)
      const arrived = upstream.lastRequest.text()
      expect(arrived).toBe(editedBody(text, SERVED, kind, cap))
      const got = JSON.parse(arrived) as Record<string, unknown>
      expect(got['model']).toBe(SERVED)
      if (kind === 'chat' && got['stream'] === true)
        expect(got['stream_options']).toMatchObject({ include_usage: true })
      upstream.forget()
    }),
    { numRuns },
  )
}

describe('a body whose members come in any order, nested, escaped and cut anywhere', () => {
  it('arrives at a chat completion with exactly the specified edits', { timeout: 60_000 }, async () => {
    await expectFaithful(CHAT, 2_000)
  })

  it('arrives at a completion with exactly the specified edits', { timeout: 60_000 }, async () => {
    await expectFaithful(COMPLETIONS, 500)
  })

  it.each([
    ['messages', MESSAGES],
    ['count_tokens', COUNT_TOKENS],
    ['responses', RESPONSES],
    ['embeddings', EMBEDDINGS],
    ['rerank', RERANK],
  ])(
    'arrives at %s with another model name and no other change',
    { timeout: 60_000 },
    async (_title, path) => {
      await expectFaithful(path, 500)
    },
  )
})

describe('with output_cap, a body whose members come in any order', () => {
  it.each([
    ['a chat completion', CHAT, 'max_tokens', 'max_tokens'],
    ['a chat completion', CHAT, 'max_completion_tokens', 'max_completion_tokens'],
    ['messages', MESSAGES, 'max_completion_tokens', 'max_tokens'],
    ['responses', RESPONSES, 'max_tokens', 'max_output_tokens'],
  ] as const)(
    'arrives at %s (%s, %s) with a bound only if it has none, and the specified edits',
    async (_title, path, setting, field) => {
      await expectFaithful(path, 500, capping[setting], { field, tokens: 777 })
    },
  )

  it.each([
    ['embeddings', EMBEDDINGS],
    ['rerank', RERANK],
    ['count_tokens', COUNT_TOKENS],
  ])('arrives at %s without one: nothing is written there', async (_title, path) => {
    await expectFaithful(path, 100, capping.max_tokens)
  })
})

describe('a streamed chat without stream_options', () => {
  it.each([
    ['{"messages":[{"role":"user","content":"hi"}],"model":"m","stream":true}'],
    ['{"messages":[{"content":"function f() { return 1 }","role":"user"}],"model":"m","stream":true}'],
    ['{"tools":[{"function":{"name":"{"}}],"stream":true,"messages":[],"model":"m"}'],
    ['{"\\u007b":{"{":1},"model":"m","stream":true}'],
    ['\n{ "metadata":{"a":{"b":{}}}, "model":"m","stream":true }'],
  ])('is asked for usage behind the root brace: %s', async text => {
    const answer = await post(gateway, CHAT, text)
    await answer.text()
    const served = text.replace('"model":"m"', `"model":"${SERVED}"`)
    expect(upstream.lastRequest.text()).toBe(served.replace('{', '{"stream_options":{"include_usage":true},'))
  })
})

describe('the oracle', () => {
  it('finds the members of the root and no others', () => {
    const text = ' { "a{" : {"b":[1,{"c":"}"}]} ,"\\u0062":"x" , "c": -1e5}'
    const { behindBrace, members } = rootMembers(text)
    expect(behindBrace).toBe(2)
    expect(members.map(({ name, json }) => [name, json])).toEqual([
      ['a{', '{"b":[1,{"c":"}"}]}'],
      ['b', '"x"'],
      ['c', '-1e5'],
    ])
    for (const { start, end, json } of members) expect(text.slice(start, end)).toBe(json)
  })
})
