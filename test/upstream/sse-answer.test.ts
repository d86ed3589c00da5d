import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FilterOptions } from '../../src/upstream/answer/filter.ts'
import { SseAnswer } from '../../src/upstream/answer/sse.ts'
import { cut, filtered, NAME, octets, optionsFor, SERVED } from './filtering.ts'

const sse = (text: string, positions: readonly number[] = [], more: Partial<FilterOptions> = {}) =>
  filtered(options => new SseAnswer(options), cut(Buffer.from(text), positions), more)

/** What the client should see of `text` where nothing but the name changes. */
const renamed = (text: string) => octets(text.replaceAll(JSON.stringify(SERVED), JSON.stringify(NAME)))

const named = JSON.stringify(SERVED)
const inside = JSON.stringify(NAME).slice(1, -1)
const OPENAI = [
  ': a comment\n\n',
  `data: {"id":"1","model":${named},"choices":[{"delta":{"content":"é😀\\u00e9 \\"model\\": x"}}]}\n\n`,
  `event: odd\r\nid: 7\r\nretry: 10\r\ndata:{"model" :\t${named} ,"big":12345678901234567890,"z":1e400}\r\n\r\n`,
  `data: {"model":${named},\rdata:  "deep":{"model":"other"},\rdata: "x":[1]}\r\r`,
  'data: not JSON, "model": "served-model-2"\n\n',
  'data\ndata:\nunknown\n\n\n\n',
  `data: {"choices":[],"model":${named},"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n`,
  'data: [DONE]\n\n',
].join('')
const ANTHROPIC = [
  `event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":${named},"usage":{"input_tokens":5}}}\n\n`,
  'event: ping\ndata: {"type": "ping"}\n\n',
  ': ping\r\n',
  'event: content_block_delta\r\ndata: {"type":"content_block_delta","delta":{"text":"ü\\u2028😀"}}\r\n\r\n',
  `event: message_start\rdata: {"type":"message_start",\rdata: "message":{"a":1,\rdata: "model":${named},"usage":{\rdata: "output_tokens":3}}}\r\r`,
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}\n\n',
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
].join('')

const RESPONSE_END = `event: response.completed\ndata: {"response":{"id":"resp_1","model":${named},"output":[{"id":"msg_1","content":[{"text":"hi"}]}],\ndata: "usage":{"input_tokens":5,"output_tokens":6}},"sequence_number":9,"type":"response.completed"}\n\n`
const RESPONSE = [
  `event: response.created\ndata: {"type":"response.created","response":{"model":${named},"usage":null,"id":"resp_1","metadata":{"model":"other","id":"x"}},"sequence_number":0}\n\n`,
  'event: response.output_item.added\r\ndata: {"item":{"content":[{"id":"other"}],"id":"msg_1"},"type":"response.output_item.added","sequence_number":1}\r\n\r\n',
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"msg_1","delta":"é😀 \\"model\\"","sequence_number":2}\n\n',
  'event: ping\ndata: {"type":"ping","error":null}\n\n',
  RESPONSE_END,
].join('')

const LAST_EVENTS = {
  chat: 'data: [DONE]\n\n',
  messages: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  responses: renamed(RESPONSE_END),
}

describe.each([
  ['an OpenAI stream', OPENAI, 'chat', [['usage', '{"prompt_tokens":1,"completion_tokens":2}']]],
  [
    'an Anthropic stream',
    ANTHROPIC,
    'messages',
    [
      ['message.usage', '{"input_tokens":5}'],
      ['message.usage', '{"output_tokens":3}'],
      ['usage', '{"output_tokens":9}'],
    ],
  ],
  [
    'a response',
    RESPONSE,
    'responses',
    [
      ['response', 'resp_1'],
      ['item', 'msg_1'],
      ['response', 'resp_1'],
      ['usage', '{"input_tokens":5,"output_tokens":6}'],
    ],
  ],
] as const)('%s', (_title, text, format, seen) => {
  const size = Buffer.byteLength(text)
  const expected = { bytes: renamed(text), whole: true, seen }

  it('arrives identical but for the name, cut at every possible position', () => {
    for (let at = 0; at <= size; at++) expect(sse(text, [at], { format })).toMatchObject(expected)
  })

  it('arrives identical byte by byte, and in any pieces', () => {
    const every = Array.from({ length: size }, (_, at) => at)
    expect(sse(text, every, { format })).toMatchObject(expected)
    fc.assert(
      fc.property(fc.array(fc.nat(size), { maxLength: 40 }), positions => {
        expect(sse(text, positions, { format })).toMatchObject(expected)
      }),
      { numRuns: 300 },
    )
  })

  it('is not whole as long as its last event is missing', () => {
    const lastEvent = text.lastIndexOf('\n\n', text.length - 3) + 2
    const until = Buffer.byteLength(text.slice(0, text.indexOf('data: ', lastEvent) + 6))
    for (let at = 0; at <= until; at++) {
      const part = Buffer.from(text).subarray(0, at)
      expect(filtered(options => new SseAnswer(options), [part], { format }).whole).toBe(false)
    }
  })

  it('withholds its last event, and nothing before, until it is taken', () => {
    const last = LAST_EVENTS[format]
    for (let at = 0; at <= size; at++) expect(sse(text, [at], { format }).withheld).toBe(last)
  })
})

describe('the null usage that the client did not ask for', () => {
  it.each([
    [
      '{"usage":null,"choices":[{"delta":{"content":"x"}}],"a":1}',
      '{"choices":[{"delta":{"content":"x"}}],"a":1}',
    ],
    ['{"usage":null}', '{}'],
    ['{"a":{"b":1},"usage":null,"choices":[{"c":{}}]}', '{"a":{"b":1},"choices":[{"c":{}}]}'],
  ])('is taken out of %s, and nothing else is', (event, expected) => {
    const done = 'data: [DONE]\n\n'
    expect(sse(`data: ${event}\n\n${done}`, [], { hideUsage: true }).bytes).toBe(
      `data: ${expected}\n\n${done}`,
    )
  })

  it.each(['data:', 'data: '])(
    'is taken out behind a number that ends a line of `%s`, and nothing else is',
    field => {
      const event = `${field}{"a":1\n${field},"usage":null,"b":2}\n\n`
      expect(sse(`${event}data: [DONE]\n\n`, [], { hideUsage: true }).bytes).toBe(
        `${field}{"a":1,"b":2}\n\ndata: [DONE]\n\n`,
      )
    },
  )
})

/** Names that mean something in an event. */
const RESERVED = new Set(['model', 'usage', 'choices', 'error', '__proto__'])
/** Stands for the name that is to be restored. */
const HOLE = '\uE000'
/** Stands for the end of a line between two data lines of one JSON text. */
const BREAK = '\uE001'

describe('any stream', () => {
  const newline = fc.constantFrom('\n', '\r\n', '\r')
  const value = fc.jsonValue({ maxDepth: 3 }).map(json => JSON.stringify(json))
  const space = fc.constantFrom('', ' ', '  ', '\t', BREAK, ` ${BREAK} `)
  const object = fc
    .tuple(
      fc.dictionary(
        fc.string({ unit: 'grapheme' }).filter(name => !RESERVED.has(name)),
        value,
        { maxKeys: 4 },
      ),
      fc.nat(4),
      fc.boolean(),
      space,
    )
    .map(([members, at, hasModel, gap]) => {
      const lines = Object.entries(members).map(([name, json]) => `${JSON.stringify(name)}:${gap}${json}`)
      if (hasModel) lines.splice(at, 0, `"model"${gap}:${gap}${HOLE}`)
      return `{${lines.join(`,${gap}`)}}`
    })
  const field = fc.oneof(
    fc.string({ unit: 'grapheme' }).map(text => `:${text.replaceAll(/[\r\n\uE000\uE001]/g, '')}`),
    fc.constantFrom(
      'event: x',
      'id',
      'retry: 1',
      'datax: {"model":"served-model"}',
      ' data: {"model":"served-model"}',
    ),
  )
  const data = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(fc.constantFrom('data:', 'data: '), object).map(([name, json]) => [name + json]),
    },
    fc.constantFrom(['data'], ['data: nonsense'], ['data: "served-model"'], ['data:', 'data: x'], []),
  )
  const event = fc
    .tuple(fc.array(field, { maxLength: 2 }), data, fc.array(field, { maxLength: 2 }))
    .map(parts => parts.flat())
  // A stream keeps to one line end here: "\n" behind "\r" would be one end, not two.
  const stream = newline.chain(end =>
    fc
      .array(event)
      .map(events => [...events, ['data: [DONE]']])
      .map(events =>
        events
          .map(lines => lines.map(line => line.replaceAll(BREAK, `${end}data: `) + end).join('') + end)
          .join(''),
      ),
  )

  it('arrives identical but for the name, cut anywhere', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(600), { maxLength: 12 }), (text, positions) => {
        const result = sse(text.replaceAll(HOLE, named), positions)
        expect(result.whole).toBe(true)
        expect(result.bytes).toBe(octets(text.replaceAll(HOLE, () => JSON.stringify(NAME))))
      }),
      { numRuns: 1_500 },
    )
  })
})

describe('usage that the client did not ask for', () => {
  const hide = { hideUsage: true }

  it('leaves nothing of a hidden event behind, wherever its CRLF is cut', () => {
    const hidden = 'data: {"choices":[],"usage":{}}\r\n\r\n'
    for (const next of ['data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n', `${hidden}data: [DONE]\r\n\r\n`, ''])
      for (let cut = 1; cut <= hidden.length; cut++)
        expect(sse(hidden + next, [cut], hide).bytes).toBe(next.replace(hidden, ''))
  })
  const chunk = (usage: string) => `data: {"model":${named},"choices":[{"index":0}]${usage}}\n\n`
  const only = `data: {"id":"u","choices":[ ],"model":${named},"usage":{"prompt_tokens":3}}\n\n`

  it('leaves the event before it whole, wherever the CRLF of that event is cut', () => {
    const kept = 'data: {"choices":[1]}\r\n\r\n'
    const hidden = 'data: {"choices":[],"usage":{}}\r\n\r\n'
    const text = `${kept}${hidden}${kept}${hidden}${hidden}data: [DONE]\r\n\r\n`
    for (let at = 0; at <= text.length; at++)
      for (let next = at; next <= at + 2; next++)
        expect(sse(text, [at, next], { hideUsage: true }).bytes).toBe(`${kept}${kept}data: [DONE]\r\n\r\n`)
  })

  it('is taken out with its chunk, and out of the others where it is null, cut anywhere', () => {
    const text = `${chunk(',"usage":null')}${chunk(', "usage" : null ,"z":1')}data: {"usage":null,"model":${named},"choices":[]}\n\n${only}data: [DONE]\n\n`
    const expected = renamed(
      `${chunk('')}${chunk(' ,"z":1')}data: {"model":${named},"choices":[]}\n\ndata: [DONE]\n\n`,
    )
    for (let at = 0; at <= text.length; at++) {
      const result = sse(text, [at], hide)
      expect(result).toMatchObject({ bytes: expected, whole: true, seen: [['usage', '{"prompt_tokens":3}']] })
    }
  })

  it('stays where the client asked', () => {
    const text = `${chunk(',"usage":null')}${only}data: [DONE]\n\n`
    expect(sse(text).bytes).toBe(renamed(text))
  })

  it('stays on a chunk that has choices', () => {
    const text = `${chunk(',"usage":{"prompt_tokens":4}')}data: [DONE]\n\n`
    expect(sse(text, [], hide)).toMatchObject({
      bytes: renamed(text),
      seen: [['usage', '{"prompt_tokens":4}']],
    })
  })

  it('is taken out as the only member, and over several data lines', () => {
    expect(sse('data: {"usage":null}\n\ndata: [DONE]\n\n', [], hide).bytes).toBe(
      'data: {}\n\ndata: [DONE]\n\n',
    )
    const spread = 'data: {"choices":[\ndata: ],"usage":{\ndata: "prompt_tokens":5}}\n\ndata: [DONE]\n\n'
    expect(sse(spread, [], hide)).toMatchObject({
      bytes: 'data: [DONE]\n\n',
      seen: [['usage', '{"prompt_tokens":5}']],
    })
  })
})

describe('the end of a stream', () => {
  it.each(['data: [DONE]', 'data: [DONE]\n', 'data: [DONE]\r\n', 'data: [DONE]\r', 'data:[DONE]'])(
    'is whole although its last event lacks its empty line: %j',
    last => {
      const text = `data: {"model":${named}}\n\n${last}`
      expect(sse(text)).toMatchObject({ bytes: renamed(text), whole: true, withheld: last })
    },
  )

  it('is whole although message_stop lacks its empty line', () => {
    const text = 'event: message_stop\ndata: {"type":"message_stop"}\n'
    expect(sse(text, [], { format: 'messages' })).toMatchObject({ bytes: text, whole: true })
  })

  it('is not whole where the last event is cut inside its JSON', () => {
    expect(sse('data: {"type":"message_stop"', [], { format: 'messages' }).whole).toBe(false)
  })

  it('is whole behind an error of the upstream’s own', () => {
    const openai = 'data: {"error":{"message":"overloaded"}}\n\n'
    expect(sse(openai)).toMatchObject({ bytes: openai, whole: true })
    const anthropic = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'
    expect(sse(anthropic, [], { format: 'messages' })).toMatchObject({ bytes: anthropic, whole: true })
  })

  it.each([
    'data: {"error":{"message":"overloaded"}}\n',
    'data: {"error":{"message":"overloaded"}}',
    'data: {"error":"overloaded"}\n\n',
  ])('has failed if its last event is an error, also without the end of its line: %j', text => {
    for (let at = 0; at <= text.length; at++) {
      const filter = new SseAnswer(optionsFor())
      for (const piece of cut(Buffer.from(text), [at])) filter.push(Buffer.from(piece))
      expect([filter.end(), filter.failed]).toEqual([true, true])
    }
  })

  it('passes what comes behind the last event, after it', () => {
    const text = `data: [DONE]\n\n: bye\n\ndata: {"model":${named}}\n\n`
    for (let at = 0; at <= text.length; at++) expect(sse(text, [at]).bytes).toBe(renamed(text))
  })
})

describe('a chat without [DONE]', () => {
  const delta = `data: {"model":${named},"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n`
  const finish = `data: {"model":${named},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`
  const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
  const noChoices = 'data: {"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
  const both = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}\n\n`
  const bothTurned = `data: {"usage":{"prompt_tokens":1},"choices":[{"finish_reason":"stop","delta":{},"index":0}]}\n\n`
  const interim = 'data: {"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"prompt_tokens":1}}\n\n'

  it.each([
    ['usage in an event of its own', [delta, finish, usage], 1],
    ['usage without choices', [delta, finish, noChoices], 1],
    ['usage beside the finish reason', [delta, delta, both], 1],
    ['the same in another order', [interim, bothTurned], 1],
    ['several answers', [delta, finish, finish, usage], 2],
  ])('is complete with %s, and not before', (_title, events, answers) => {
    const text = events.join('')
    for (let length = 0; length <= text.length; length++) {
      const filter = new SseAnswer(optionsFor({ answers }))
      filter.push(Buffer.from(text.slice(0, length)))
      expect(filter.end()).toBe(length === text.length)
      expect(filter.failed).toBe(false)
    }
  })

  it.each([
    ['no usage', [delta, finish], 1],
    ['no finish reason', [delta, usage], 1],
    ['usage only of an interim kind', [delta, interim], 1],
    ['usage beside one of two finish reasons', [delta, both], 2],
    ['text after its usage', [delta, finish, usage, delta], 1],
    ['the begin of another event after its usage', [delta, finish, usage, 'data: [DO'], 1],
  ])('is broken with %s', (_title, events, answers) => {
    const filter = new SseAnswer(optionsFor({ answers }))
    for (const event of events) {
      const bytes = Buffer.from(event)
      if (!filter.repeated(bytes)) filter.push(bytes)
    }
    expect(filter.end()).toBe(false)
  })
})

describe('odd streams', () => {
  it('are renamed behind a byte order mark, cut anywhere', () => {
    const text = `\uFEFFdata: {"model":${named}}\n\ndata: [DONE]\n\n`
    for (let at = 0; at <= Buffer.byteLength(text); at++) expect(sse(text, [at]).bytes).toBe(renamed(text))
  })

  it('are renamed behind values nested 1,000 levels deep', () => {
    const text = `data: {"deep":${'['.repeat(1_000)}${']'.repeat(1_000)},"model":${named}}\n\ndata: [DONE]\n\n`
    expect(sse(text).bytes).toBe(renamed(text))
  })

  it('pass an event of 3 MB in parts, renamed, without holding it', () => {
    const text = `data: {"model":${named},"image":"${'x'.repeat(3_000_000)}"}\n\ndata: {"model":${named}}\n\ndata: [DONE]\n\n`
    const positions = Array.from({ length: 60 }, (_, index) => index * 65_536)
    const result = sse(text, positions)
    expect(result.whole).toBe(true)
    expect(result.bytes === renamed(text)).toBe(true)
  })

  it('have their data lines joined by a newline, not by nothing', () => {
    const text = 'data: {"x":1\ndata: 2,"model":"served-model"}\n\ndata: [DONE]\n\n'
    expect(sse(text).bytes).toBe(text)
  })

  it('keep bytes that are no UTF-8', () => {
    const bytes = Buffer.from('data: {"model":"served-model","x":"\xff\xfe"}\n\ndata: [DONE]\n\n', 'latin1')
    const result = filtered(options => new SseAnswer(options), [bytes])
    expect(result.bytes).toBe(
      bytes.toString('latin1').replace('"served-model"', octets(JSON.stringify(NAME))),
    )
  })
})

describe('an event of more than 1 MiB', () => {
  const image = `"${'x'.repeat(1_100_000)}"`
  const usage = '{"prompt_tokens":7,\ndata: "completion_tokens":9}'
  const OPENAI_LONG = `data: {"image":${image},"n":1\ndata: ,"model"\ndata: : ${named} ,"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":${usage}}\r\nid: 7\ndata:\n\ndata: {"model":${named}}\n\ndata: [DONE]\n\n`
  const ANTHROPIC_LONG = `event: message_start\ndata: {"type":"message_start","message":{"content":[{"model":"other","x":${image}}],"id":\ndata: "m","model":${named},"usage":{"input_tokens":5}},"model":${named}}\n\ndata: {"type":"message_stop"}\n\n`
  const RESPONSE_LONG = `event: response.output_item.done\ndata: {"type":"response.output_item.done","item":{"result":${image},"id":"ig_1"}}\n\nevent: response.completed\ndata: {"response":{"output":[{"model":"other","id":"x","result":${image}}],"model":${named},\ndata: "id":"resp_1","usage":{"input_tokens":5,"output_tokens":6}},"type":"response.completed"}\n\n`
  const cuts = (text: string) => {
    const behind = text.indexOf('",') - 3
    return fc.array(
      fc.oneof(
        fc.integer({ min: behind, max: Math.min(behind + 400, text.length) }),
        fc.nat(text.length),
        fc.constant(text.indexOf(named) + 3),
      ),
      { maxLength: 30 },
    )
  }

  it.each([
    ['OpenAI', OPENAI_LONG, 'chat', [['usage', '{"prompt_tokens":7,"completion_tokens":9}']]],
    ['Anthropic', ANTHROPIC_LONG, 'messages', [['message.usage', '{"input_tokens":5}']]],
    [
      'response',
      RESPONSE_LONG,
      'responses',
      [
        ['item', 'ig_1'],
        ['response', 'resp_1'],
        ['usage', '{"input_tokens":5,"output_tokens":6}'],
      ],
    ],
  ] as const)(
    'has its name restored wherever it stands, behind whatever, cut anywhere (%s)',
    { timeout: 60_000 },
    (_title, text, format, seen) => {
      const expected = renamed(text)
      fc.assert(
        fc.property(cuts(text), positions => {
          const result = sse(text, [1_050_000, ...positions], { format })
          expect(result.whole).toBe(true)
          expect(result.bytes === expected).toBe(true)
          const shown = result.seen.map(([name, value]) => [name, value.replaceAll(/\s/g, '')])
          expect(shown).toEqual(seen)
        }),
        { numRuns: 150 },
      )
    },
  )

  it('shows nothing of a name in which it breaks off', () => {
    const upTo = OPENAI_LONG.indexOf(named)
    for (const length of [1, 5, named.length - 1, named.length]) {
      const result = sse(OPENAI_LONG.slice(0, upTo + length), [1_050_000, upTo - 4, upTo + 1])
      expect(result.whole).toBe(false)
      expect(result.bytes).not.toMatch(/"s(erved)?/)
      expect(result.bytes.length).toBeGreaterThan(1_100_000)
    }
  })

  it('passes without being held, though it is of 50 MB', () => {
    const filter = new SseAnswer(optionsFor())
    filter.push(Buffer.from('data: {"image":"'))
    let passed = 0
    const piece = Buffer.alloc(65_536, 'x')
    for (let count = 0; count < 800; count++) for (const bytes of filter.push(piece)) passed += bytes.length
    expect(passed).toBeGreaterThan(799 * 65_536)
    const rest = [
      ...filter.push(Buffer.from(`","model":${named}}\n\ndata: [DONE]\n\n`)),
      ...filter.takeLast(),
    ]
    expect(Buffer.concat(rest).toString()).toBe(`","model":${JSON.stringify(NAME)}}\n\ndata: [DONE]\n\n`)
  })

  it('that tells of an error tells it by the external name', () => {
    const error = (name: string) => `{"message":"no ${name}, \\"${name}\\"","code":1}`
    const text = (name: string) => `data: {"x":${image},"error":${error(name)}}\n\n`
    const filter = new SseAnswer(optionsFor())
    const passed = [...filter.push(Buffer.from(text(SERVED)).subarray(0, 1_100_100))]
    passed.push(...filter.push(Buffer.from(text(SERVED)).subarray(1_100_100)))
    expect(filter.failed).toBe(true)
    expect(Buffer.concat(passed).toString() === text(JSON.stringify(NAME).slice(1, -1))).toBe(true)
  })

  it('whose error is itself of more than 1 MiB ends the stream before anything of it is shown', () => {
    const filter = new SseAnswer(optionsFor())
    filter.push(Buffer.from(`data: {"x":${image},"error":{"message":"no served-model, `))
    expect(() => {
      for (let count = 0; count < 20; count++) filter.push(Buffer.alloc(65_536, 'y'))
    }).toThrow(expect.objectContaining({ code: 'upstream_error' }))
  })
})

describe('an error inside a stream', () => {
  it('has the external name, in quotes or without, and the gateway’s id', () => {
    const openai = (name: string) => `data: {"error":{"message":"no ${name}-2024-08-06 or '${name}'"}}\n\n`
    expect(sse(openai(SERVED), [], {}).bytes).toBe(
      octets(`data: {"error":{"message":"no ${inside} or '${inside}'"}}\n\n`),
    )
    expect(sse(`data: {"error":"${SERVED} broke"}\n\n`, [], {}).bytes).toBe(
      octets(`data: {"error":"${inside} broke"}\n\n`),
    )
    const anthropic = (name: string, id: string) =>
      `event: error\ndata: {"type":"error","error":{"type":"x","message":"${name}: no"},"request_id":"${id}"}\n\n`
    expect(sse(anthropic(SERVED, 'req_upstream'), [], { format: 'messages' }).bytes).toBe(
      octets(anthropic(inside, 'req_ours')),
    )
  })
})
