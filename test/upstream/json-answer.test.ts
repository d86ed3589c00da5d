import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AnswerFormat } from '../../src/schema/paths.ts'
import { JsonAnswer } from '../../src/upstream/answer/json.ts'
import { cut, filtered, NAME, octets, optionsFor, SERVED } from './filtering.ts'

const json = (text: string, positions: readonly number[] = []) =>
  filtered(options => new JsonAnswer(options), cut(Buffer.from(text), positions))

const named = JSON.stringify(SERVED)
const renamed = (text: string) => octets(text.replaceAll(named, () => JSON.stringify(NAME)))

const ANSWER = ` {"id" : "é😀\\ud83d", "big":12345678901234567890,\r\n"mo\\u0064el"\t:\t${named} ,
"deep":{"model":"other","usage":{"prompt_tokens":99}},"list":[{"model":"x"},[[]],1e-5,-0,null,true],"":"model",
"usage":{"prompt_tokens":3 , "x":"\\"}"},"meta":{"billed_units":{"search_units":1}},"model_version":"served-model-2"}\n `

describe('an answer in JSON', () => {
  it('arrives identical but for the name, cut at every two positions', () => {
    const size = Buffer.byteLength(ANSWER)
    const expected = {
      bytes: renamed(ANSWER),
      whole: true,
      seen: [
        ['usage', '{"prompt_tokens":3 , "x":"\\"}"}'],
        ['meta', '{"billed_units":{"search_units":1}}'],
      ],
    }
    for (let first = 0; first <= size; first++) {
      for (let second = first; second <= size; second += 7)
        expect(json(ANSWER, [first, second])).toMatchObject(expected)
    }
  })

  it('is not whole before its last brace', () => {
    const bytes = Buffer.from(ANSWER.trimEnd())
    for (let at = 0; at < bytes.length; at++)
      expect(filtered(options => new JsonAnswer(options), [bytes.subarray(0, at)]).whole).toBe(false)
  })

  it.each<[AnswerFormat, string, boolean]>([
    ['chat', `{"error":{"message":"no ${SERVED}"},"model":${named}}`, true],
    ['chat', `{"model":${named},"choices":[],"error":{"message":"no ${SERVED}","x":[{"a":"}"}]}}`, true],
    ['messages', `{"type":"error","error":{"type":"overloaded_error","message":"no ${SERVED}"}}`, true],
    ['chat', `{"error":null,"model":${named}}`, false],
    ['chat', `{"error":"none","model":${named}}`, false],
  ])(
    'of %s that is an error with a status of success has failed, with the name restored: %s',
    (format, text, failed) => {
      const external = JSON.stringify(NAME)
      const expected = octets(
        text.replaceAll(named, () => external).replace(`no ${SERVED}`, () => `no ${external.slice(1, -1)}`),
      )
      for (let at = 0; at <= text.length; at++) {
        const filter = new JsonAnswer(optionsFor({ format }))
        const out = cut(Buffer.from(text), [at]).flatMap(piece => [...filter.push(Buffer.from(piece))])
        expect(filter.end()).toBe(true)
        expect(Buffer.concat([...out, ...filter.takeLast()]).toString('latin1')).toBe(expected)
        expect(filter.failed).toBe(failed)
      }
    },
  )

  it('is withheld whole while it is small, so that a failure can still become a status', () => {
    const result = json(ANSWER, [10, 50, 100])
    expect(result.withheld).toBe(result.bytes)
  })

  it('is renamed wherever the name stands, whatever else there is, cut anywhere', () => {
    const value = fc.jsonValue().map(inner => JSON.stringify(inner))
    const member = fc.tuple(
      fc.string({ unit: 'grapheme' }).filter(name => !['model', 'usage', 'meta'].includes(name)),
      value,
    )
    fc.assert(
      fc.property(fc.array(member), fc.nat(), fc.array(fc.nat(2_000)), (members, at, positions) => {
        const lines = members.map(([name, text]) => `${JSON.stringify(name)}:${text}`)
        const make = (model: string) =>
          `{${lines.toSpliced(at % (lines.length + 1), 0, `"model":${model}`).join(',')}}`
        const result = json(make(named), positions)
        expect(result).toMatchObject({ bytes: octets(make(JSON.stringify(NAME))), whole: true })
      }),
      { numRuns: 1_000 },
    )
  })

  it('keeps a model that is no string as it is', () => {
    for (const text of ['{"model":null}', '{"model":{"model":"served-model"}}', '{"model":[1]}', '{}'])
      expect(json(text)).toMatchObject({ bytes: text, whole: true })
  })

  it('passes nested values 1,000 levels deep', () => {
    const text = `{"deep":${'['.repeat(1_000)}${']'.repeat(1_000)},"model":${named}}`
    expect(json(text)).toMatchObject({ bytes: renamed(text), whole: true })
  })

  it('keeps bytes that are no UTF-8', () => {
    const bytes = Buffer.from('{"x":"\xff\xfe\x80","model":"served-model"}', 'latin1')
    const result = filtered(options => new JsonAnswer(options), [bytes])
    expect(result.bytes).toBe(bytes.toString('latin1').replace(named, octets(JSON.stringify(NAME))))
  })
})

describe('a large answer in JSON', () => {
  const filler = `"data":[${'0.123456,'.repeat(200_000)}0]`
  const kilobytes = (text: string, size: number) =>
    Array.from({ length: Math.ceil(text.length / size) }, (_, index) => index * size)

  it.each([
    ['at its end', `{${filler},"model":${named},"usage":{"prompt_tokens":7}}`],
    ['at its beginning', `{"model":${named},"usage":{"prompt_tokens":7},${filler}}`],
    ['on both sides of what is large', `{"model":${named},${filler},"usage":{"prompt_tokens":7}}`],
  ])('passes in parts, renamed and metered, with the name %s', (_title, text) => {
    for (const size of [1_000, 16_384, 65_536, 300_001]) {
      const result = json(text, kilobytes(text, size))
      expect(result.whole).toBe(true)
      expect(result.bytes === renamed(text)).toBe(true)
      expect(result.seen).toEqual([['usage', '{"prompt_tokens":7}']])
      expect(result.withheld.length).toBeGreaterThan(0)
      expect(result.withheld.length).toBeLessThanOrEqual(262_144 + size)
    }
  })

  it('is renamed and metered where a cut goes through the name or the usage', () => {
    const text = `{"x":"${'x'.repeat(300_000)}","model":${named},"usage":{"prompt_tokens":7},"y":1}`
    const from = text.indexOf('","model"')
    for (let at = from; at < text.length; at++) {
      const result = json(text, [at, at + 3])
      expect(result.bytes === renamed(text)).toBe(true)
      expect(result.seen).toEqual([['usage', '{"prompt_tokens":7}']])
    }
  })

  it('lets go of a usage of 5 MB unread rather than hold it', () => {
    const text = `{"usage":{"x":"${'x'.repeat(5_000_000)}"},"model":${named}}`
    const result = json(text, kilobytes(text, 65_536))
    expect(result.bytes === renamed(text)).toBe(true)
    expect(result.seen).toEqual([])
  })
})
