import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FilterOptions } from '../../src/upstream/answer/filter.ts'
import { RejectionAnswer } from '../../src/upstream/answer/rejection.ts'
import { cut, filtered, NAME, octets } from './filtering.ts'

const rejection = (
  body: string | Uint8Array,
  positions: readonly number[] = [],
  more: Partial<FilterOptions> = {},
) => filtered(options => new RejectionAnswer(options), cut(Buffer.from(body as string), positions), more)
const inside = JSON.stringify(NAME).slice(1, -1)
const message = (text: string) => JSON.stringify({ error: { message: text, type: 'invalid_request_error' } })

describe('a rejection of the upstream’s own', () => {
  it('arrives identical but for the served name, cut at every position', () => {
    const text = String.raw`{"error":{"message":"no \"served-model\", 'served-model' or ${'`served-model`'};\nserved-model is gone, \"served-model-2\" stays é","served-model" : "served-model"}}`
    const expected = octets(
      String.raw`{"error":{"message":"no \"${inside}\", '${inside}' or ${`\`${inside}\``};\n${inside} is gone, \"served-model-2\" stays é","served-model" : "${inside}"}}`,
    )
    for (let at = 0; at <= text.length; at++)
      expect(rejection(text, [at])).toMatchObject({ bytes: expected, whole: true })
  })

  it.each([
    ['unknown model m-up', 'unknown model ext'],
    ['m-up: not found', 'ext: not found'],
    ['The model m-up.', 'The model ext.'],
    ['models/m-up is not found (m-up)', 'models/ext is not found (ext)'],
    ['model=m-up, given m-up', 'model=ext, given ext'],
    [
      'No m-up-2024-08-06, m-up@20250219, m-up-0613, m-up:latest or m-up-001 here',
      'No ext, ext, ext, ext or ext here',
    ],
    ['x.m-up and <b>m-up</b>', 'x.ext and <b>ext</b>'],
    ['model "m-up": gone', 'model "ext": gone'],
  ])('shows the external name where it said: %s', (said, shown) => {
    const names = { servedModel: 'm-up', nameJson: Buffer.from('"ext"') }
    expect(rejection(message(said), [], names).bytes).toBe(message(shown))
    expect(rejection(said, [], names).bytes).toBe(shown)
  })

  it.each(['m-up-2 m-up2 m-up.5 m-up-turbo am-up a-m-up m-up_x m-up-0125-preview', 'M-UP mup'])(
    'leaves the names of other models alone: %s',
    said => {
      const names = { servedModel: 'm-up', nameJson: Buffer.from('"ext"') }
      expect(rejection(message(said), [], names).bytes).toBe(message(said))
    },
  )

  it('changes no prose where the served name is a letter or two, and no value that programs read', () => {
    const a = { servedModel: 'a', nameJson: Buffer.from('"ext"') }
    expect(rejection(message('a model a is a word, not `a`'), [], a).bytes).toBe(
      message('a model ext is a word, not `ext`'),
    )
    const error = { servedModel: 'error', nameJson: Buffer.from('"ext"') }
    expect(rejection('{"type":"error","error":{"message":"model error"}}', [], error).bytes).toBe(
      '{"type":"error","error":{"message":"model ext"}}',
    )
  })

  it('is not touched where both names are one, also where the upstream adds its version', () => {
    const text = message('gpt-4o-2024-08-06 and gpt-4o')
    const same = { servedModel: 'gpt-4o', nameJson: Buffer.from('"gpt-4o"') }
    expect(rejection(text, [], same).bytes).toBe(text)
  })

  it('is renamed where the served name needs escapes itself, however they are written', () => {
    const odd = { servedModel: 'a"$&/ö😀b', nameJson: Buffer.from('"$&$1"') }
    for (const spelling of [
      String.raw`a\"$&/ö😀b`,
      String.raw`a\"$&\/\u00f6\ud83d\ude00b`,
      String.raw`a\u0022$&\/\u00F6\uD83D\uDE00b`,
    ])
      expect(rejection(`{"model":"${spelling}","x":"no ${spelling}!"}`, [], odd).bytes).toBe(
        '{"model":"$&$1","x":"no $&$1!"}',
      )
  })

  it('of more than 1 MiB passes in parts, renamed wherever it is cut', () => {
    const filler = 'x '.repeat(550_000)
    const text = `{"a":"served-model ${filler}served-model","input":"no served-model-2, xserved-model or served-model-2024-01-02. ${filler}","served-model":"served-model"}`
    const expected = octets(
      `{"a":"${inside} ${filler}${inside}","input":"no served-model-2, xserved-model or ${inside}. ${filler}","served-model":"${inside}"}`,
    )
    const middle = text.indexOf('served-model","input')
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(text.length), fc.integer({ min: middle - 100, max: middle + 300 })), {
          maxLength: 12,
        }),
        positions => {
          const result = rejection(text, [1_050_000, ...positions])
          expect(result.bytes === expected).toBe(true)
          expect(result.withheld.length).toBeLessThan(1_200_000)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('keeps bytes that are no UTF-8', () => {
    expect(rejection(Buffer.from([0xff, 0x22, 0x80])).bytes).toBe('\xff"\x80')
  })
})

describe('the id of an error in Anthropic’s shape', () => {
  const body = (id: string) => `{"type":"error","error":{"type":"x","message":"m"},"request_id" : ${id}}`
  const anthropic = { format: 'messages' } as const

  it('is the gateway’s own, as its headers have it, cut at every position', () => {
    const text = body('"req_upstream"')
    for (let at = 0; at <= text.length; at++)
      expect(rejection(text, [at], anthropic).bytes).toBe(body('"req_ours"'))
    expect(rejection(body('null'), [], anthropic).bytes).toBe(body('"req_ours"'))
  })

  it('stays as it is elsewhere: below the root, on OpenAI’s paths, and where there is none', () => {
    expect(rejection(body('"req_upstream"')).bytes).toBe(body('"req_upstream"'))
    for (const text of ['{"error":{"request_id":"x"}}', '{"type":"error"}', 'request_id: 7', ''])
      expect(rejection(text, [], anthropic).bytes).toBe(text)
  })
})
