import fc from 'fast-check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { testGateway } from '../support/gateway.ts'
import { type Answer, scriptedUpstream } from '../support/scripted-upstream.ts'
import { editedAnswer, editedChatStream, editedEventStream } from './answers-oracle.ts'
import {
  CHAT,
  COMPLETIONS,
  chunk,
  EMBEDDINGS,
  loggedFor,
  MESSAGES,
  RERANK,
  RESPONSES,
  rawPost,
} from './calls.ts'
import { rawClient } from './raw-client.ts'

const SERVED = 'served-model'
const NAME = 'the/"name"é'
const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(
  afterAll,
  `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: ${SERVED} }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: ${SERVED} }
publications:
  ${JSON.stringify(NAME)}: { bindings: [{ endpoint: oai }, { endpoint: ant }] }
keys:
  admin: { kind: platform }
`,
)

/** Text that looks like what the gateway edits. */
const PROSE = [
  'hi',
  SERVED,
  `"model":"${SERVED}"`,
  '"usage":null,',
  '}],"choices":[],"usage":{"prompt_tokens":1}}',
  '\n\ndata: [DONE]\n\n',
  '[DONE]',
  '{{{{',
  'é😀\u2028\u0085',
  '\\"\\',
  '',
]
const prose = fc
  .oneof(fc.constantFrom(...PROSE), fc.string({ unit: 'grapheme', maxLength: 12 }))
  .map(text => JSON.stringify(text))

const INNER_NAMES = ['model', 'usage', 'choices', 'message', 'content', 'delta', '__proto__']
/** Any value, whose members are called like those of the root. */
const { value } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    prose,
    fc.constantFrom('null', 'true', '0', '12345678901234567890', '-1.50e-7', '{}', '[]', '"\\u007b\\/"'),
    fc.array(tie('value'), { maxLength: 3 }).map(items => `[${items.join(', ')}]`),
    fc
      .array(fc.tuple(fc.constantFrom(...INNER_NAMES), tie('value')), { maxLength: 3 })
      .map(members => `{${members.map(([name, inner]) => `"${name}":${inner}`).join(',')}}`),
  ),
}))

/** A name as JSON, some of its characters escaped that need not be. */
const spelled = (name: string) =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map(escaped =>
      Array.from(name, (c, at) => (escaped[at] ? `\\u00${c.charCodeAt(0).toString(16)}` : c)).join(''),
    )
    .map(inner => `"${inner}"`)
const nameOf = (name: string) => fc.oneof({ weight: 3, arbitrary: fc.constant(`"${name}"`) }, spelled(name))

const member = (name: string, json: fc.Arbitrary<string>) =>
  fc.record({ name: nameOf(name), json }, { requiredKeys: ['name', 'json'] })
const maybe = (name: string, json: fc.Arbitrary<string>) => fc.option(member(name, json), { freq: 3 })

interface Spelling {
  readonly name: string
  readonly json: string
}

/** An object of these members in any order; with a `gap` that breaks lines only where there may be one. */
const objectOf = (members: readonly fc.Arbitrary<Spelling | null>[], gap: fc.Arbitrary<string>) =>
  fc.tuple(fc.tuple(...members), gap, gap).chain(([given, inner, outer]) => {
    const lines = given
      .filter(line => line !== null)
      .map(({ name, json }) => `${name}${inner}:${outer}${json}`)
    return fc
      .shuffledSubarray(lines, { minLength: lines.length })
      .map(shuffled => `{${outer}${shuffled.join(`${inner},${outer}`)}${inner}}`)
  })

const model = fc.oneof(
  { weight: 5, arbitrary: spelled(SERVED) },
  fc.constantFrom('null', '{"model":"served-model"}', '""', '["served-model"]'),
)
const openaiUsage = fc
  .tuple(fc.nat(999), fc.nat(999), value)
  .map(([input, output, more]) => `{"prompt_tokens":${input},"x":${more},"completion_tokens":${output}}`)
const choices = fc.oneof(
  fc.constantFrom('[]', '[ ]', 'null', '{}'),
  fc.array(value, { minLength: 1, maxLength: 2 }).map(items => `[${items.join(',')}]`),
)
const others = [maybe('id', value), maybe('object', value), maybe('x', value), maybe('content', value)]

const chatChunk = (gap: fc.Arbitrary<string>) =>
  objectOf(
    [
      maybe('model', model),
      maybe('usage', fc.oneof({ weight: 2, arbitrary: fc.constant('null') }, openaiUsage, fc.constant('{}'))),
      maybe('choices', choices),
      ...others,
    ],
    gap,
  )
const anthropicUsage = fc
  .tuple(fc.nat(999), fc.nat(999))
  .map(([input, output]) => `{"input_tokens":${input},"output_tokens":${output}}`)
const messageEvent = (gap: fc.Arbitrary<string>) => {
  const message = objectOf([maybe('model', model), maybe('usage', anthropicUsage), ...others], gap)
  return objectOf(
    [
      maybe('type', fc.constantFrom('"message_start"', '"content_block_delta"', '"message_delta"', '"ping"')),
      maybe('model', model),
      maybe('message', fc.oneof({ weight: 3, arbitrary: message }, value)),
      maybe('usage', anthropicUsage),
      maybe('delta', value),
      ...others,
    ],
    gap,
  )
}

const responseUsage = fc
  .tuple(fc.nat(999), fc.nat(999))
  .map(([input, output]) => `{"output_tokens":${output},"input_tokens":${input}}`)
const responseEvent = (gap: fc.Arbitrary<string>) => {
  const response = objectOf([maybe('model', model), maybe('usage', responseUsage), ...others], gap)
  const type = fc.constantFrom('"response.created"', '"response.output_text.delta"', '"ping"')
  const item = objectOf([maybe('model', prose), ...others], gap)
  return objectOf(
    [
      maybe('type', type),
      maybe('model', model),
      maybe('response', fc.oneof({ weight: 3, arbitrary: response }, value)),
      maybe('item', fc.oneof(item, value)),
      maybe('delta', value),
      maybe('sequence_number', value),
      ...others,
    ],
    gap,
  )
}

const LINE_GAP = fc.constantFrom('', '', ' ', '\t')
const BROKEN_GAP = fc.constantFrom('', ' ', '\n')

/** A stream: each event with its line ends, its field lines and a comment here and there, and the last one behind. */
const streamOf = (event: (gap: fc.Arbitrary<string>) => fc.Arbitrary<string>, last: string) => {
  const framed = fc
    .record({
      json: fc.oneof({ weight: 3, arbitrary: event(LINE_GAP) }, event(BROKEN_GAP)),
      before: fc.constantFrom(
        '',
        '',
        'event: x\n',
        ': ping\n',
        ': ping\n\n',
        'id: 1\nretry: 5\n',
        'database: 1\n',
      ),
      field: fc.constantFrom('data: ', 'data: ', 'data:'),
    })
    .map(({ json, before, field }) => {
      const lines = json.split('\n').map(line => `${field}${line}\n`)
      return `${before}${lines.join('')}\n`
    })
  return fc
    .tuple(
      fc.array(framed, { maxLength: 5 }),
      // Clients also read a last event that lacks its empty line.
      fc.constantFrom('\n\n', '\n\n', '\n', ''),
      fc.constantFrom('\n', '\n', '\r\n', '\r'),
      fc.constantFrom('', '', '\uFEFF'),
    )
    .map(([events, end, lineEnd, mark]) => mark + `${events.join('')}${last}${end}`.replaceAll('\n', lineEnd))
}

const cuts = fc.array(fc.nat(700), { maxLength: 5 })

/** An answer in pieces, each in a turn of its own. */
function inPieces(contentType: string, text: string, at: readonly number[]): Answer {
  const bytes = Buffer.from(text)
  const sorted = [0, ...at.map(cut => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
  return async exchange => {
    const head = `HTTP/1.1 200 Ok\r\ncontent-type: ${contentType}\r\ntransfer-encoding: chunked\r\n\r\n`
    await exchange.write(head)
    for (const [index, to] of sorted.slice(1).entries()) {
      const piece = bytes.subarray(sorted[index], to)
      if (piece.length === 0) continue
      await exchange.write(chunk(piece))
      // Another turn of the event loop, or the pieces would arrive as one.
      await new Promise(resolve => void setImmediate(resolve))
    }
    await exchange.write('0\r\n\r\n')
  }
}

/** Has the upstream give each answer, and compares what the client sees with what the oracle says. */
async function expectFaithful(
  path: string,
  request: object,
  contentType: string,
  answers: fc.Arbitrary<string>,
  expected: (text: string) => string,
  numRuns: number,
): Promise<void> {
  const client = await rawClient(onTestFinished, gateway.url)
  const bytes = rawPost(gateway, path, JSON.stringify({ model: NAME, ...request }))
  await fc.assert(
    fc.asyncProperty(answers, cuts, async (text, at) => {
      upstream.forget()
      upstream.answerNext(inPieces(contentType, text, at))
      await client.write(bytes)
      const answer = await client.answer()
      expect(answer.status, answer.text()).toBe(200)
      expect(answer.whole).toBe(true)
      expect(answer.text()).toBe(expected(text))
      expect(await loggedFor(gateway, answer)).toMatchObject({ outcome: 'answered' })
    }),
    { numRuns },
  )
}

describe('a stream whose events have their members in any order, nested, escaped and cut anywhere', () => {
  const chunks = streamOf(chatChunk, 'data: [DONE]')
  const stop = 'event: message_stop\ndata: {"type":"message_stop"}'

  it('of a chat whose client did not ask for usage is seen with exactly the specified edits', async () => {
    const expected = (text: string) => editedChatStream(text, { name: NAME, hidesUsage: true })
    await expectFaithful(CHAT, { stream: true }, 'text/event-stream', chunks, expected, 800)
  })

  it('of a completion whose client did not ask for usage is seen with exactly the specified edits', async () => {
    const expected = (text: string) => editedChatStream(text, { name: NAME, hidesUsage: true })
    await expectFaithful(COMPLETIONS, { stream: true }, 'text/event-stream', chunks, expected, 200)
  })

  it('of a chat whose client asked for usage is seen with another model name and no other change', async () => {
    const request = { stream: true, stream_options: { include_usage: true } }
    const expected = (text: string) => editedChatStream(text, { name: NAME, hidesUsage: false })
    await expectFaithful(CHAT, request, 'text/event-stream', chunks, expected, 200)
  })

  it('of a message is seen with another model name, also inside `message`, and no other change', {
    timeout: 60_000,
  }, async () => {
    const expected = (text: string) => editedEventStream(text, { name: NAME, hidesUsage: false }, 'message')
    const events = streamOf(messageEvent, stop)
    await expectFaithful(MESSAGES, { stream: true }, 'text/event-stream', events, expected, 500)
  })
})

it('a stream of a response is seen with another model name, also inside `response`, and no other change', {
  timeout: 60_000,
}, async () => {
  const last = 'event: response.completed\ndata: {"response":{},"type":"response.completed"}'
  const expected = (text: string) => editedEventStream(text, { name: NAME, hidesUsage: false }, 'response')
  await expectFaithful(
    RESPONSES,
    { stream: true },
    'text/event-stream',
    streamOf(responseEvent, last),
    expected,
    500,
  )
})

describe('a whole answer whose members come in any order, nested, escaped and cut anywhere', () => {
  const gap = fc.constantFrom('', ' ', '\n  ', '\r\n\t')
  /** Longer than what is held before an answer is passed on, so that some pass in parts. */
  const long = fc.constantFrom(0, 0, 0, 300_000).map(length => JSON.stringify('model":"'.repeat(length / 8)))
  const rest = [...others, maybe('choices', choices), maybe('data', long), maybe('meta', value)]

  it.each([
    ['a chat', CHAT, openaiUsage],
    ['a completion', COMPLETIONS, openaiUsage],
    ['a message', MESSAGES, anthropicUsage],
    ['a response', RESPONSES, responseUsage],
    ['embeddings', EMBEDDINGS, openaiUsage],
    ['a rerank', RERANK, fc.constant('{"total_tokens":7}')],
  ])('of %s is seen with another model name and no other change', async (_title, path, usage) => {
    const answers = objectOf([maybe('model', model), maybe('usage', usage), ...rest], gap)
    const expected = (text: string) => editedAnswer(text, { name: NAME, hidesUsage: false })
    await expectFaithful(path, {}, 'application/json', answers, expected, 100)
  })
})

describe('the oracle', () => {
  it('edits events of several lines, and leaves what is no JSON', () => {
    const text =
      ': ping\ndata: {"usage":null,\ndata: "model":"s"}\n\ndata: {"choices":[],"usage":{}}\n\ndata: [DONE]\n\n'
    expect(editedChatStream(text, { name: 'n', hidesUsage: true })).toBe(
      ': ping\ndata: {"model":"n"}\n\ndata: [DONE]\n\n',
    )
    expect(
      editedEventStream(
        'data: {"message":{"a":{"model":"s"},"model":"s"}}\n\n',
        {
          name: 'n',
          hidesUsage: false,
        },
        'message',
      ),
    ).toBe('data: {"message":{"a":{"model":"s"},"model":"n"}}\n\n')
  })
})
