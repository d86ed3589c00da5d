import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonAnswer } from '../../src/upstream/answer/json.ts'
import { SseAnswer } from '../../src/upstream/answer/sse.ts'
import { cut, filtered } from './filtering.ts'

/** What a filter says that the model has written, in bytes. */
function written(
  kind: 'json' | 'openai' | 'anthropic',
  text: string,
  positions: readonly number[] = [],
): number {
  let sum = 0
  const observer = { onMember: () => undefined, onText: (bytes: number) => void (sum += bytes) }
  filtered(
    options => (kind === 'json' ? new JsonAnswer(options) : new SseAnswer(options)),
    cut(Buffer.from(text), positions),
    { observer, format: kind === 'anthropic' ? 'messages' : 'chat' },
  )
  return sum
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`

/** A chunk as chatty servers send it: nothing but `choice` in it was written by the model. */
const chunk = (choice: object) =>
  event({
    id: 'chatcmpl-0123456789',
    object: 'chat.completion.chunk',
    model: 'served-model',
    system_fingerprint: 'fp_0123456789',
    choices: [
      {
        index: 0,
        ...choice,
        logprobs: { content: [{ token: ' token', bytes: [32], top_logprobs: [{ token: ' other' }] }] },
        content_filter_results: { hate: { filtered: false, severity: 'safe' } },
        finish_reason: 'stop',
      },
    ],
  })

const called = (fn: object) => ({
  delta: { tool_calls: [{ index: 0, id: 'call_0123', type: 'function', function: fn }] },
})

describe('what an estimate goes by', () => {
  it.each<[string, object, number]>([
    ['content', { delta: { role: 'assistant', content: 'four' } }, 4],
    ['reasoning', { delta: { reasoning_content: 'longer', content: '' } }, 6],
    ['a declined answer', { delta: { refusal: 'no' } }, 2],
    [
      'the arguments of a tool call, as text, without the escapes of JSON',
      called({ name: 'weather', arguments: '{"a":1}' }),
      7,
    ],
    ['reasoning under its shorter name', { delta: { reasoning: 'longer' } }, 6],
    [
      'reasoning that has two names, once',
      { delta: { reasoning: 'longer', reasoning_content: 'longer', content: 'four' } },
      10,
    ],
    [
      'reasoning in parts, once beside its whole',
      {
        delta: {
          reasoning: 'longer',
          reasoning_details: [
            { type: 'reasoning.summary', summary: 'lo', format: 'x' },
            { type: 'reasoning.text', text: 'nger', signature: 'AAAA' },
          ],
          content: 'four',
        },
      },
      10,
    ],
    ['reasoning in parts alone', { delta: { reasoning_details: [{ text: 'longer' }], content: 'four' } }, 10],
    ['nothing of a summary elsewhere', { delta: { content: 'four' }, summary: 'no' }, 4],
    ['nothing', { delta: { role: 'assistant' } }, 0],
  ])(
    'of a chunk of an OpenAI stream is %s, and nothing of what is said around it',
    (_what, choice, bytes) => {
      expect(written('openai', chunk(choice))).toBe(bytes)
    },
  )

  it.each<[string, object, number]>([
    ['text', { type: 'text_delta', text: 'four' }, 4],
    ['thinking', { type: 'thinking_delta', thinking: 'longer' }, 6],
    ['a part of what a tool is called with', { type: 'input_json_delta', partial_json: '{"a' }, 3],
    ['nothing of a signature', { type: 'signature_delta', signature: 'AAAAAAAAAAAA' }, 0],
  ])('of a delta of an Anthropic stream is %s', (_what, delta, bytes) => {
    expect(written('anthropic', event({ type: 'content_block_delta', index: 0, delta }))).toBe(bytes)
  })

  it('of an answer in JSON is the same', () => {
    const message = {
      role: 'assistant',
      content: 'four',
      tool_calls: [{ id: 'call_1', function: { name: 'f', arguments: '{}' } }],
    }
    expect(
      written('json', JSON.stringify({ id: 'x'.repeat(50), choices: [{ message, finish_reason: 'stop' }] })),
    ).toBe(6)
  })

  it('is text, not JSON: however a string is escaped, it counts its bytes of UTF-8', () => {
    const escaped = (text: string) =>
      JSON.stringify(text).replace(/[^\x20-\x7e]/g, unit => {
        const digits = unit.charCodeAt(0).toString(16).padStart(4, '0')
        return `\\u${digits.length % 2 === 0 ? digits.toUpperCase() : digits}`
      })
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.array(fc.nat(300), { maxLength: 4 }),
        (text, positions) => {
          const bytes = Buffer.byteLength(text)
          for (const json of [JSON.stringify(text), escaped(text)]) {
            const answer = `{"choices":[{"message":{"content":${json}}}]}`
            expect(written('json', answer, positions)).toBe(bytes)
            expect(written('openai', `data: ${answer}\n\n`, positions)).toBe(bytes)
          }
        },
      ),
    )
  })

  it('is text in a long string with short escapes, too', () => {
    const text = 'a'.repeat(40) + '\n'.repeat(100) + 'é"\\'.repeat(2_000)
    const answer = JSON.stringify({ choices: [{ message: { content: text } }] })
    expect(written('json', answer)).toBe(Buffer.byteLength(text))
    expect(written('openai', `data: ${answer}\n\n`, [100, 101, 4_000])).toBe(Buffer.byteLength(text))
  })

  it('counts what has come of a text that never ends', () => {
    const whole = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'a'.repeat(100) } }] })
    expect(written('json', whole.slice(0, whole.indexOf('aaa') + 40))).toBe(40)
  })

  it('is the same wherever an answer is cut into pieces, also inside a name', () => {
    const answer = JSON.stringify({
      model: 'content',
      choices: [
        {
          message: { content: 'x "content": "y', refusal: 'z' },
          contents: 'no',
          ['content'.repeat(60)]: 'no',
        },
      ],
    })
    const bytes = written('json', answer)
    expect(bytes).toBe('x "content": "y'.length + 1)
    const inLongName = answer.indexOf('contentcontent') + 'content'.length
    expect(written('json', answer, [inLongName])).toBe(bytes)
    fc.assert(
      fc.property(fc.array(fc.nat(answer.length), { maxLength: 8 }), positions => {
        expect(written('json', answer, positions)).toBe(bytes)
      }),
    )
  })
})
