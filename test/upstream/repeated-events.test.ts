import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AnswerFilter, FilterOptions } from '../../src/upstream/answer/filter.ts'
import { SseAnswer } from '../../src/upstream/answer/sse.ts'
import { cut, NAME, octets, optionsFor, SERVED } from './filtering.ts'

interface Passed {
  readonly bytes: string
  /** Of these, the ones that waited. */
  readonly withheld: string
  readonly seen: readonly (readonly [string, string])[]
  readonly textBytes: number
  readonly hasText: boolean
  readonly whole: boolean
  readonly failed: boolean
  readonly finished: boolean
  /** Bytes that passed as events like an earlier one. */
  readonly repeatedBytes: number
}

/** Passes pieces of a stream as they are read: as a whole if the filter knows their events, else by `push`. */
function passed(pieces: readonly Uint8Array[], more: Partial<FilterOptions>, usesPatterns: boolean): Passed {
  const seen: [string, string][] = []
  let textBytes = 0
  let hasText = false
  let repeatedBytes = 0
  const observer = {
    onMember: (name: string, json: Buffer) => void seen.push([name, json.toString('latin1')]),
    onText: (bytes: number) => {
      textBytes += bytes
      hasText = true
    },
  }
  const filter: AnswerFilter = new SseAnswer(optionsFor({ observer, ...more }))
  const out: Buffer[] = []
  const shared = Buffer.alloc(20_000)
  for (const piece of pieces) {
    shared.set(piece)
    const repeated = usesPatterns ? filter.repeated?.(shared.subarray(0, piece.length)) : undefined
    if (repeated) {
      const target = Buffer.alloc(repeated.length + 2, '#')
      repeated.copyTo(target, 1)
      expect([target[0], target.at(-1)]).toEqual([0x23, 0x23])
      out.push(target.subarray(1, -1))
      repeatedBytes += piece.length
    } else out.push(...filter.push(Buffer.from(piece)))
    shared.fill('"')
  }
  const whole = filter.end()
  const { failed, finished } = filter
  const last = Buffer.concat(filter.takeLast())
  const withheld = last.toString('latin1')
  const bytes = Buffer.concat([...out, last]).toString('latin1')
  return { bytes, withheld, seen, textBytes, hasText, whole, failed, finished, repeatedBytes }
}

const named = JSON.stringify(SERVED)
const DONE = 'data: [DONE]\n\n'

/** The events of a stream, each as a piece of its own. */
const oneByOne = (events: readonly string[]) => events.map(event => Buffer.from(event))

describe('events like an earlier one', () => {
  const chunk = (content: string, more = '') =>
    `data: {"id":"c","model":${named},"choices":[{"index":0,"delta":{"content":${content}},"finish_reason":null}]${more}}\n\n`
  const delta = (text: string) =>
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":${text}}}\n\n`
  const texts = ['" Hello"', '" you"', '""', '"\\"\\n\\\\"', '"é😀\\/"', named, '"\\\\\\""']

  it.each([
    ['chat', texts.map(text => chunk(text)), {}],
    ['chat without usage', texts.map(text => chunk(text, ',"usage":null')), { hideUsage: true }],
    ['chat with noise', texts.map(text => chunk(text, `,"obfuscation":${text}`)), {}],
    ['messages', texts.map(delta), { format: 'messages' }],
  ] as const)('pass without a scan from the second on: %s', (_title, events, more) => {
    const pieces = oneByOne([...events, events.join(''), DONE])
    const result = passed(pieces, more, true)
    const bytes = [...events.slice(1), events.join('')].reduce(
      (sum, event) => sum + Buffer.byteLength(event),
      0,
    )
    expect(result).toEqual({ ...passed(pieces, more, false), repeatedBytes: bytes })
    expect(result.bytes).toContain('Hello')
    expect(result.textBytes).toBeGreaterThan(0)
  })

  it.each([
    ['a unicode escape', chunk('"\\u0041"')],
    ['a finish reason', chunk('"x"').replace('"finish_reason":null', '"finish_reason":"stop"')],
    ['another name of the model', chunk('"x"').replace(SERVED, 'served-model-2')],
    ['usage', chunk('"x"', ',"usage":{"prompt_tokens":1}')],
    ['an error', chunk('"x"', ',"error":{"message":"served-model"}')],
    ['a second model', chunk('"x"', `,"model":${named}`)],
    ['a control character', chunk('"a\u0001"')],
    ['no text', chunk('null')],
    ['a string that does not end', chunk('"x').replace('"x}', '"x\\"}')],
    ['two lines of data', chunk('"x"').replace('"choices"', '\ndata: "choices"')],
    ['a part of the next event', `${chunk('"x"')}data: {`],
    ['a comment', `: ping\n\n`],
    ['the end', DONE],
  ])('are distinguished from %s', (_title, other) => {
    const pieces = oneByOne([chunk('"a"'), chunk('"b"'), other, chunk('"c"'), chunk('"d"'), `\n\n${DONE}`])
    const result = passed(pieces, {}, true)
    expect({ ...result, repeatedBytes: 0 }).toEqual(passed(pieces, {}, false))
    expect(result.repeatedBytes).toBeLessThan(3 * chunk('"a"').length + 1)
  })

  it('have reasoning under two names counted once', () => {
    const event = (text: string) =>
      `data: {"choices":[{"delta":{"reasoning":"${text}","reasoning_content":"${text}."}}]}\n\n`
    const pieces = oneByOne(['a', 'bc', 'def', '', 'gh'].map(event))
    expect({ ...passed(pieces, {}, true), repeatedBytes: 0 }).toEqual(passed(pieces, {}, false))
  })

  it('are distinguished from those with a message, which has usage', () => {
    const event = (text: string) =>
      `data: {"type":"x","delta":{"text":"${text}"},"message":{"usage":{"input_tokens":1}}}\n\n`
    const pieces = oneByOne(['a', 'bc', 'def'].map(event))
    const result = passed(pieces, { format: 'messages' }, true)
    expect(result).toEqual(passed(pieces, { format: 'messages' }, false))
    expect(result.seen).toHaveLength(3)
  })

  it('are distinguished from a first event behind a byte order mark', () => {
    const pieces = oneByOne([`\uFEFF${chunk('"a"')}`, `\uFEFF${chunk('"b"')}`, chunk('"c"'), DONE])
    expect({ ...passed(pieces, {}, true), repeatedBytes: 0 }).toEqual(passed(pieces, {}, false))
  })

  it('pass with the name of the publication', () => {
    const events = ['"a"', '"b"', '"c"'].map(text => chunk(text))
    const { bytes } = passed(oneByOne([...events, DONE]), {}, true)
    expect(bytes).toBe(octets([...events, DONE].join('').replaceAll(named, JSON.stringify(NAME))))
  })
})

/** Texts of JSON strings, hostile ones among them. */
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 8 }).map(each => JSON.stringify(each)) },
  fc.string({ unit: 'grapheme', maxLength: 8 }).map(each => JSON.stringify(each)),
  fc.constantFrom(
    '""',
    '"\\u0041"',
    '"\\ud83d\\ude00"',
    '"\\\\"',
    '"\\"',
    '"\\x"',
    '"a\tb"',
    '"\\n\\r\\/"',
    named,
  ),
  fc.constantFrom(
    '"[DONE]"',
    '"message_stop"',
    '"}],\\"model\\":\\"x\\""',
    '"data: x"',
    '"stop"',
    'null',
    '7',
  ),
)
/** Members of an object, of which few are unlike those of the other events. */
const often = (usual: string, ...others: string[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, fc.constantFrom(...others))
const framed = (json: string) =>
  fc
    .tuple(
      often('', 'event: x\n', ': c\n', 'id: 1\n', '\n'),
      often('data: ', 'data:', 'data'),
      often('\n', '\r\n', '\r'),
    )
    .map(([before, field, end]) => `${before}${field}${json}\n\n`.replaceAll('\n', end))

const chatEvent = fc
  .tuple(
    often('"id":"c"', '"id":"d"', '"i\\u0064":"c"'),
    often(
      `"model":${named}`,
      '"model":"served-model-2"',
      '"mod\\u0065l":"x"',
      '"model":null',
      '"x":{"model":"y"}',
    ),
    often('content', 'reasoning', 'reasoning_content', 'refusal', 'x', 'finish_reason', 'cont\\u0065nt'),
    text,
    often(
      '',
      ',"reasoning":"abc"',
      ',"reasoning_content":"ab"',
      ',"role":"assistant"',
      ',"tool_calls":[{"arguments":"{}"}]',
    ),
    often('null', '"stop"', '""'),
    often(
      '',
      ',"usage":null',
      ',"usage":{"prompt_tokens":3}',
      ',"error":null',
      ',"error":{"message":"served-model"}',
      ',"x":"y"',
      `,"model":${named}`,
    ),
  )
  .map(
    ([id, model, name, json, more, reason, rest]) =>
      `{${id},${model},"choices":[{"index":0,"delta":{"${name}":${json}${more}},"finish_reason":${reason}}]${rest}}`,
  )
const messagesEvent = fc
  .tuple(
    often('content_block_delta', 'ping', 'message_stop', 'content_block_start'),
    often('text', 'thinking', 'partial_json', 'stop_reason', 'x'),
    text,
    often(
      '',
      ',"delta":{"text":"x"}',
      ',"usage":{"output_tokens":3}',
      `,"model":${named}`,
      `,"message":{"model":${named}}`,
      ',"message":"x"',
      ',"message":{"usage":{"input_tokens":1}}',
      ',"error":{"type":"x"}',
      ',"delta":"x"',
    ),
  )
  .map(
    ([type, name, json, more]) =>
      `{"type":"${type}","index":0,"delta":{"type":"text_delta","${name}":${json}}${more}}`,
  )

describe.each([
  ['chat', chatEvent],
  ['messages', messagesEvent],
] as const)('any stream of %s', (format, json) => {
  const events = fc.array(json.chain(framed), { maxLength: 12 })

  it('is filtered and metered as by a scan of all of it, event by event or cut anywhere', () => {
    let repeatedBytes = 0
    const cuts = fc.array(fc.nat(2_000), { maxLength: 4 })
    fc.assert(
      fc.property(events, cuts, fc.nat(3), fc.boolean(), (given, at, together, hideUsage) => {
        const stream = [...given, DONE]
        const ends = stream.map((_, index) => Buffer.byteLength(stream.slice(0, index + 1).join('')))
        const between = ends.filter((_, index) => together === 0 || index % together === 0)
        const pieces = cut(Buffer.from(stream.join('')), [...between, ...at])
        const result = passed(pieces, { format, hideUsage }, true)
        expect({ ...result, repeatedBytes: 0 }).toEqual(passed(pieces, { format, hideUsage }, false))
        repeatedBytes += result.repeatedBytes
      }),
      { numRuns: 2_500 },
    )
    expect(repeatedBytes).toBeGreaterThan(30_000)
  })
})
