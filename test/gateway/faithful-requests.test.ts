import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { json } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, COUNT_TOKENS, chunk, EMBEDDINGS, MESSAGES, post, RERANK, rawHead } from './calls.ts'
import { rawClient } from './raw-client.ts'

/** Names that need escapes in JSON, or more than one byte in UTF-8. */
const NAMES = ['a"b\\c', 'mödel/😀:latest', 'constructor', 'openai/gpt-4o']
const SERVED = 'sérved "\\name😀'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(
  afterAll,
  `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: ${JSON.stringify(SERVED)} }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: ${JSON.stringify(SERVED)} }
publications:
${NAMES.map(name => `  ${JSON.stringify(name)}: { bindings: [{ endpoint: oai }, { endpoint: ant }] }`).join('\n')}
keys:
  admin: { kind: platform }
`,
)
beforeEach(() => {
  upstream.forget()
  upstream.answer(json('{"model":"x"}'))
})

/** Stands for the model's name in a generated body. */
const HOLE = '\0model\0'

/** A JSON string of `text` in which some characters are escaped that need not be. */
const spelled = (text: string) =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map(escapes => {
    const plain = [...Array(text.length).keys()].map(index =>
      escapes[index] || /["\\]/.test(text.charAt(index))
        ? `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`
        : text.charAt(index),
    )
    // Half of a surrogate pair alone would be no UTF-8.
    const whole = plain.join('')
    return Buffer.from(whole).toString() === whole ? `"${whole}"` : JSON.stringify(text)
  })

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
const number = fc.constantFrom(
  '12345678901234567890',
  '-0',
  '1e400',
  '0.1000',
  '1E-7',
  '-12.50e+3',
  '9007199254740993',
)
const scalar = fc.oneof(
  number,
  fc.constantFrom('true', 'false', 'null', '""', '"\\/\\u0041\\ud800"'),
  fc.string({ unit: 'binary' }).map(text => JSON.stringify(text)),
)
const { value } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc
      .tuple(fc.array(tie('value'), { maxLength: 4 }), space)
      .map(([items, gap]) => `[${gap}${items.join(`,${gap}`)}${gap}]`),
    // Inside, names may repeat, be called `model`, or be dangerous.
    fc
      .tuple(
        fc.array(
          fc.tuple(fc.constantFrom('a', 'model', '__proto__', 'constructor', 'stream', 'é'), tie('value')),
          { maxLength: 4 },
        ),
        space,
      )
      .map(
        ([members, gap]) =>
          `{${gap}${members.map(([name, inner]) => `"${name}"${gap}:${inner}`).join(`,${gap}`)}}`,
      ),
  ),
}))

const READ = new Set(['model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n'])
const memberName = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom('__proto__', 'constructor', 'messages', 'max_tokens2', 'toString'),
  )
  .filter(name => !READ.has(name.normalize('NFKC').toLowerCase()))

/** A body with the name in it, as the client writes it, and what stands around it. */
const body = fc
  .tuple(
    fc.uniqueArray(fc.tuple(memberName, value), { selector: ([name]) => name, maxLength: 6 }),
    fc.nat(6),
    fc.constantFrom(...NAMES).chain(spelled),
    spelled('model'),
    space,
    space,
  )
  .map(([members, at, name, key, gap, edge]) => {
    const lines = members.map(([member, inner]) => `${JSON.stringify(member)}${gap}:${gap}${inner}`)
    lines.splice(at, 0, `${key}${gap}:${gap}${HOLE}`)
    const template = `${edge}{${gap}${lines.join(`${gap},${gap}`)}${gap}}${edge}`
    return {
      sent: template.replace(HOLE, () => name),
      expected: template.replace(HOLE, () => JSON.stringify(SERVED)),
    }
  })

describe('any body', () => {
  it('arrives identical but for the name, over any path, in any chunks', async () => {
    const client = await rawClient(onTestFinished, gateway.url)
    await fc.assert(
      fc.asyncProperty(
        body,
        fc.constantFrom(CHAT, MESSAGES, COUNT_TOKENS, EMBEDDINGS, RERANK),
        fc.array(fc.nat(300), { maxLength: 6 }),
        fc.boolean(),
        async ({ sent, expected }, path, cuts, chunked) => {
          const bytes = Buffer.from(sent)
          const at = [0, ...cuts.map(cut => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
          const pieces = at.slice(1).map((to, index) => bytes.subarray(at[index], to))
          await client.write(
            rawHead(gateway, path, [
              chunked ? 'transfer-encoding: chunked' : `content-length: ${bytes.length}`,
            ]),
          )
          for (const piece of pieces) {
            if (piece.length === 0) continue
            await client.write(chunked ? chunk(piece) : piece)
            // Another turn of the event loop: else the pieces would come as one.
            await new Promise(resolve => void setImmediate(resolve))
          }
          if (chunked) await client.write('0\r\n\r\n')
          const answer = await client.answer()
          expect(answer.status, answer.text()).toBe(200)
          expect(upstream.lastRequest.body.toString('latin1')).toBe(Buffer.from(expected).toString('latin1'))
          expect(upstream.lastRequest.framing).toBe('length')
        },
      ),
      { numRuns: 500 },
    )
  })

  it('of 30 MB arrives identical, in many chunks', async () => {
    const client = await rawClient(onTestFinished, gateway.url)
    const before = '{"messages":[{"content":"'
    const piece = Buffer.from('0123456789abcdef'.repeat(4_096))
    const after = '"}],"model":"openai/gpt-4o"}'
    await client.write(rawHead(gateway, CHAT, ['transfer-encoding: chunked']))
    const send = (bytes: Uint8Array) => client.write(chunk(bytes))
    await send(Buffer.from(before))
    for (let count = 0; count < 460; count++) await send(piece)
    await send(Buffer.from(after))
    await client.write('0\r\n\r\n')
    expect((await client.answer()).status).toBe(200)
    const got = upstream.lastRequest.body
    const expected = Buffer.concat([
      Buffer.from(before),
      ...Array<Buffer>(460).fill(piece),
      Buffer.from(after.replace('"openai/gpt-4o"', () => JSON.stringify(SERVED))),
    ])
    expect(got.equals(expected)).toBe(true)
  })
})

describe('stream_options of a chat stream', () => {
  const sent = async (path: string, members: string) => {
    await post(gateway, path, `{"model":"openai/gpt-4o",${members}}`)
    return upstream.lastRequest.text().replace(`"model":${JSON.stringify(SERVED)},`, '')
  }

  it.each([
    ['"stream":true', '{"stream_options":{"include_usage":true},"stream":true}'],
    ['"stream":true,"stream_options":null', '{"stream":true,"stream_options":{"include_usage":true}}'],
    ['"stream":true,"stream_options":{}', '{"stream":true,"stream_options":{"include_usage":true}}'],
    [
      '"stream":true,"stream_options":{"include_usage":false}',
      '{"stream":true,"stream_options":{"include_usage":true}}',
    ],
    [
      '"stream":true,"stream_options":{"include_usage":true}',
      '{"stream":true,"stream_options":{"include_usage":true}}',
    ],
    [
      '"stream_options": { "include_obfuscation" : false } ,"stream":true',
      '{"stream_options": {"include_usage":true, "include_obfuscation" : false } ,"stream":true}',
    ],
    ['"stream":false', '{"stream":false}'],
    ['"stream":null,"stream_options":{}', '{"stream":null,"stream_options":{}}'],
    ['"stream_options":{"include_usage":false}', '{"stream_options":{"include_usage":false}}'],
  ])('%s arrives as %s', async (members, expected) => {
    expect(await sent(CHAT, members)).toBe(expected)
  })

  it('stays as it is on every other path', async () => {
    for (const path of [MESSAGES, COUNT_TOKENS, EMBEDDINGS, RERANK])
      expect(await sent(path, '"stream":true')).toBe('{"stream":true}')
  })
})
