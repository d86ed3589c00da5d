import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonScanner } from '../../src/base/json/scanner.ts'
import { measureContent } from '../../src/limits/content.ts'
import { estimate } from '../../src/limits/estimate.ts'
import type { MediaDialect } from '../../src/limits/media.ts'

const MESSAGES = { name: 'messages', form: 'messages' } as const
const OPENAI_IMAGE = 48_169
const ANTHROPIC_IMAGE = 4_784
const WINDOW = 1_048_576
const PIXELS = 'iVBORw0KGgo'.repeat(2_000)
const INSIDE = `data:image/png;base64,${PIXELS}`

/** A body around messages, in pieces of so many bytes. */
function body(messages: unknown, pieceBytes = Number.POSITIVE_INFINITY) {
  const json = typeof messages === 'string' ? messages : JSON.stringify(messages)
  const bytes = Buffer.from(`{"model":"m","messages":${json},"stream":true}`)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes))
  const scanner = new JsonScanner()
  scanner.push(bytes)
  return {
    pieces,
    lengthBytes: bytes.length,
    fields: Object.fromEntries(scanner.members.map(member => [member.name, member])),
  }
}

function weighed(messages: unknown, dialect: MediaDialect = 'openai') {
  const call = body(messages)
  const { textBytes, media } = measureContent(call, MESSAGES, dialect)
  return { bound: media.bound, likely: media.likely, insideBytes: call.lengthBytes - textBytes }
}

/** A message of one user, with these parts. */
function said(...content: unknown[]) {
  return [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, ...content] }]
}

describe('media of OpenAI', () => {
  test('an image that is named by a URL is held for as the dearest image', () => {
    const named = { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'high' } }
    expect(weighed(said(named))).toMatchObject({ bound: OPENAI_IMAGE, insideBytes: 0 })
    expect(weighed(said(named, named, named))).toMatchObject({ bound: 3 * OPENAI_IMAGE })
  })

  test('an image inside the body weighs the same, and its base64 is no text', () => {
    const part = { type: 'image_url', image_url: { url: INSIDE } }
    expect(weighed(said(part))).toMatchObject({ bound: OPENAI_IMAGE, insideBytes: INSIDE.length })
  })

  test('20 MB of an image hold what one image can come to, not six million tokens', () => {
    const url = `data:image/png;base64,${'A'.repeat(20_971_520)}`
    const call = body(said({ type: 'image_url', image_url: { url } }), 65_536)
    const held = estimate(
      { produces: 'text', content: measureContent(call, MESSAGES, 'openai'), outputLimit: 1 },
      { price: undefined, maxOutputTokens: undefined },
    )
    expect(held.inputTokens).toBeLessThan(OPENAI_IMAGE + 100)
    expect(held.inputTokens).toBeGreaterThanOrEqual(OPENAI_IMAGE)
  })

  test('slashes may be escaped, as PHP does', () => {
    const part = JSON.stringify({ type: 'image_url', image_url: { url: `${INSIDE}/abc` } }).replaceAll(
      '/',
      '\\/',
    )
    expect(weighed(`[{"role":"user","content":[${part}]}]`)).toMatchObject({
      bound: OPENAI_IMAGE,
      insideBytes: INSIDE.length + 6,
    })
  })

  test('what a `data:` URI says it holds counts, not the field that it is in', () => {
    const pdf = { type: 'image_url', image_url: { url: `data:application/pdf;base64,${PIXELS}` } }
    expect(weighed(said(pdf)).bound).toBe(WINDOW)
  })

  test('sound is held for by its bytes, at the least that a second of it can weigh', () => {
    const sound = { type: 'input_audio', input_audio: { data: 'A'.repeat(400_000), format: 'mp3' } }
    // 300,000 bytes are 300 s at 8 kbit/s, of 32 tokens each.
    expect(weighed(said(sound))).toMatchObject({ bound: 1_000 + 9_600, insideBytes: 400_000 })
  })

  test.each([
    [
      'a document inside',
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PIXELS}` } },
    ],
    ['a document by its id', { type: 'file', file: { file_id: 'file-1' } }],
    ['a film', { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }],
    ['sound by its URL', { type: 'audio_url', audio_url: { url: 'https://example.com/a.mp3' } }],
  ])('%s is bounded by the window of a model alone', (_, part) => {
    const { bound, likely } = weighed(said(part))
    expect(bound).toBe(WINDOW)
    expect(likely).toBeGreaterThan(0)
    expect(likely).toBeLessThan(20_000)
  })

  test('an earlier answer in sound is counted', () => {
    const answer = { role: 'assistant', audio: { id: 'audio_1' } }
    expect(weighed([...said(), answer]).bound).toBe(16_384)
    expect(weighed([{ role: 'user', content: 'plain' }, answer]).bound).toBe(16_384)
    expect(weighed([...said(), { role: 'assistant', audio: null }]).bound).toBe(0)
  })

  test('fields that are null are no media', () => {
    const nulls = {
      image_url: null,
      input_audio: null,
      file: null,
      source: null,
      video_url: null,
      image: null,
    }
    expect(weighed(said({ type: 'text', text: 'a', ...nulls }))).toMatchObject({ bound: 0, insideBytes: 0 })
  })
})

describe('media of Anthropic', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXELS } }

  test('images inside, by URL and by file are held for as the largest image', () => {
    expect(weighed(said(image), 'anthropic')).toMatchObject({
      bound: ANTHROPIC_IMAGE,
      insideBytes: PIXELS.length,
    })
    const url = { type: 'image', source: { type: 'url', url: 'https://example.com/cat.png' } }
    const file = { type: 'image', source: { type: 'file', file_id: 'file_1' } }
    expect(weighed(said(url, file), 'anthropic')).toMatchObject({
      bound: 2 * ANTHROPIC_IMAGE,
      insideBytes: 0,
    })
  })

  test('images in what a tool has given back are found', () => {
    const result = {
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'text', text: 'a' }, image, image],
    }
    expect(weighed(said(result), 'anthropic')).toMatchObject({
      bound: 2 * ANTHROPIC_IMAGE,
      insideBytes: 2 * PIXELS.length,
    })
  })

  test('a document is bounded by the window; one of text is text, one of parts is its parts', () => {
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PIXELS } }
    expect(weighed(said(pdf), 'anthropic')).toMatchObject({ bound: WINDOW, insideBytes: PIXELS.length })
    const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: PIXELS } }
    expect(weighed(said(text), 'anthropic')).toMatchObject({ bound: 0, insideBytes: 0 })
    const parts = {
      type: 'document',
      source: { type: 'content', content: [{ type: 'text', text: 'a' }, image] },
    }
    expect(weighed(said(parts), 'anthropic')).toMatchObject({
      bound: ANTHROPIC_IMAGE,
      insideBytes: PIXELS.length,
    })
  })
})

describe('a client that would like to be held for less', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXELS } }
  const part = { type: 'image_url', image_url: { url: INSIDE } }

  test.each([
    ['in a text', said({ type: 'text', text: JSON.stringify(part) })],
    ['in a plain message', [{ role: 'user', content: JSON.stringify([part]) }, ...said()]],
    ['in the text of a text', said({ type: 'text', text: INSIDE })],
    ['in the arguments of a tool', said({ type: 'tool_use', id: 't', name: 'n', input: image })],
    ['in another member of a message', [...said(), { role: 'tool', content: 'a', extra: [part, image] }]],
    ['in an item that is no part', [[part], { content: part }, ...said()]],
    ['in a text that is called a source', said({ type: 'document', source: { type: 'text', data: PIXELS } })],
    [
      'in a source that is text as well, whichever a reader takes',
      `[{"role":"user","content":[{"type":"image","source":{"type":"base64","type":"text","data":"${PIXELS}"}}]}]`,
    ],
    [
      'in a source that spells text in another way',
      `[{"role":"user","content":[{"type":"document","source":{"type":"base64","typ\\u0065":"\\u0074ext","data":"${PIXELS}"}}]}]`,
    ],
  ])('gains nothing by what looks like an image %s', (_, messages) => {
    expect(weighed(messages, 'anthropic').insideBytes).toBe(0)
  })

  test.each([
    ['escapes', '{"type":"\\u0069mage_url","imag\\u0065_url":{"u\\u0072l":"https://example.com/a.png"}}'],
    ['capitals', '{"type":"image_url","Image_URL":{"url":"https://example.com/a.png"}}'],
    ['letters that fold into others', '{"type":"image_url","ima\u{ff47}e_url":"https://example.com/a.png"}'],
    ['white space', '\n{ "type" :\t"image_url" , "image_url" : { "url" : "https://example.com/a.png" } }'],
  ])('hides no image behind %s', (_, hidden) => {
    expect(weighed(`[ { "role":"user" , "content" : [ ${hidden} ] } ]`).bound).toBe(OPENAI_IMAGE)
  })

  test('hides no image among more values than are walked through', () => {
    const junk = Array.from({ length: 600_000 }, () => 0)
    expect(weighed([{ junk }, ...said(part)]).bound).toBeGreaterThanOrEqual(2_000_000)
  })

  test('an image is not made cheaper by giving its type twice', () => {
    const twice = `{"type":"image","type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}`
    expect(weighed(`[{"role":"user","content":[${twice}]}]`, 'anthropic').bound).toBe(WINDOW)
  })
})

test('a body weighs the same wherever it is cut', () => {
  const text = fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'grapheme' }) })
  const url = fc.string({ unit: 'grapheme' }).map(tail => `data:image/png;base64,${tail}`)
  const part = fc.oneof(
    text,
    url.map(inside => ({ type: 'image_url', image_url: { url: inside } })),
    url.map(data => ({ type: 'image', source: { type: 'base64', data } })),
    fc.array(text).map(content => ({ type: 'tool_result', content })),
  )
  const messages = fc.array(
    fc.record({ role: fc.constant('user'), content: fc.oneof(fc.string(), fc.array(part)) }),
  )
  fc.assert(
    fc.property(messages, fc.integer({ min: 1, max: 40 }), (all, pieceBytes) => {
      const whole = measureContent(body(all), MESSAGES, 'openai')
      expect(measureContent(body(all, pieceBytes), MESSAGES, 'openai')).toEqual(whole)
      // And as a reader of the whole tree would have it.
      const parts = all.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
      const insides = parts.flatMap(found =>
        'image_url' in found ? [found.image_url.url] : 'source' in found ? [found.source.data] : [],
      )
      const insideBytes = insides.reduce(
        (sum, inside) => sum + Buffer.byteLength(JSON.stringify(inside)) - 2,
        0,
      )
      expect(body(all).lengthBytes - whole.textBytes).toBe(insideBytes)
      expect(whole.media.bound).toBe(insides.length * OPENAI_IMAGE)
    }),
    { numRuns: 500 },
  )
})

test('a conversation of plain texts is not walked through, whatever they say', () => {
  const none = body([{ role: 'user', content: 'no part [' }])
  expect(measureContent(none, MESSAGES, 'openai')).toEqual({
    textBytes: none.lengthBytes,
    media: { bound: 0, likely: 0 },
  })
  // More quotes than a walk would pass over.
  const code = '"a"[0] = {};'.repeat(600_000)
  expect(weighed([{ role: 'user', content: code }])).toEqual({ bound: 0, likely: 0, insideBytes: 0 })
})

describe('prompts of a completion and inputs of embeddings', () => {
  test.each<[string, unknown, number, number | undefined]>([
    ['a text', 'Say hi', 0, undefined],
    ['texts', ['Say hi', 'Say bye', ''], 0, 3],
    ['token ids of one digit, which have less than three bytes each', [1, 2, 3, 4, 5, 6, 7], 7, 1],
    ['lists of token ids', [[1, 2, 3], [4]], 4, 2],
    ['an empty list', [], 0, 1],
    ['an object', { id: 1 }, 0, undefined],
  ])('%s', (_title, prompt, tokens, prompts) => {
    const pieces = [Buffer.from(`{"model":"m","prompt":${JSON.stringify(prompt)}}`)]
    const scanner = new JsonScanner()
    scanner.push(pieces[0] as Buffer, 0)
    const fields = Object.fromEntries(scanner.members.map(member => [member.name, member]))
    const lengthBytes = pieces[0]?.length ?? 0
    const content = measureContent(
      { pieces, lengthBytes, fields },
      { name: 'prompt', form: 'prompts' },
      'openai',
    )
    const valueBytes = JSON.stringify(prompt).length
    const isText = tokens === 0 && (!Array.isArray(prompt) || prompt.length > 0)
    expect(content).toEqual({
      textBytes: isText ? lengthBytes : lengthBytes - valueBytes,
      media: { bound: tokens, likely: tokens },
      ...(prompts !== undefined && { prompts }),
    })
  })

  test('more token ids than can be counted in time are bounded by the window', () => {
    const pieces = [Buffer.from(`{"input":[${'1,'.repeat(400_000)}1]}`)]
    const scanner = new JsonScanner()
    scanner.push(pieces[0] as Buffer, 0)
    const fields = Object.fromEntries(scanner.members.map(member => [member.name, member]))
    const content = measureContent(
      { pieces, lengthBytes: 800_012, fields },
      { name: 'input', form: 'prompts' },
      'openai',
    )
    expect(content.media.bound).toBe(Number.MAX_SAFE_INTEGER)
    // As many as would fit: what was not counted may be prompts.
    expect(content.prompts).toBe(Math.ceil(800_003 / 3))
  })
})
