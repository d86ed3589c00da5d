import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { json } from '../support/answers.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, MESSAGES, post, rawPost } from './calls.ts'
import { rawClient } from './raw-client.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => {
  upstream.forget()
  upstream.answer(json('{"model":"x"}'))
})

const M = '"model":"ext-both"'
const nested = (depth: number) => `{${M},"x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

async function rejected(body: string | Uint8Array): Promise<{ code: string; param: string | null }> {
  const [openai, anthropic] = [await post(gateway, CHAT, body), await post(gateway, MESSAGES, body)]
  expect([openai.status, anthropic.status]).toEqual([400, 400])
  expect(upstream.requests).toEqual([])
  return ((await openai.json()) as { error: { code: string; param: string | null } }).error
}

describe('a body that two readers could read in two ways never reaches an upstream', () => {
  it.each<[string, string, string]>([
    ['model twice', `{${M},${M}}`, 'model'],
    ['model twice, once escaped', `{"m\\u006fdel":"x",${M}}`, 'model'],
    ['model twice, once with a hexadecimal digit in upper case', `{${M},"\\u006Dodel":"x"}`, 'model'],
    ['model in another letter case', '{"Model":"ext-both"}', 'model'],
    ['model beside MODEL', `{${M},"MODEL":"x"}`, 'model'],
    ['model beside one in full-width letters', `{${M},"ｍｏｄｅｌ":"x"}`, 'model'],
    ['stream twice', `{${M},"stream":false,"stream":true}`, 'stream'],
    ['stream with a long s, which Go folds', `{${M},"ſtream":true}`, 'stream'],
    ['stream in capitals, escaped', `{${M},"\\u0053TREAM":true}`, 'stream'],
    ['stream_options in another case', `{${M},"Stream_Options":{}}`, 'stream_options'],
    ['max_tokens in another case', `{${M},"MAX_TOKENS":1}`, 'max_tokens'],
    [
      'max_completion_tokens with a Kelvin sign',
      `{${M},"max_completion_to\u212Aens":1}`,
      'max_completion_tokens',
    ],
    ['n in upper case', `{${M},"N":1}`, 'n'],
    ['a field that is not read, twice', `{${M},"seed":1,"seed":2}`, 'seed'],
    ['__proto__ twice', `{"__proto__":{},${M},"__proto__":{}}`, '__proto__'],
    ['a field twice, once escaped', `{${M},"t\\u006fols":[],"tools":[]}`, 'tools'],
  ])('%s', async (_title, body, param) => {
    const error = await rejected(body)
    expect(error.param).toBe(param)
    expect(error.code).toBe(param === 'model' ? 'invalid_model' : 'invalid_parameter')
  })

  it.each([
    ['"model":1'],
    ['"model":null'],
    ['"model":["ext-both"]'],
    ['"model":{"name":"ext-both"}'],
    ['"model":true'],
    [`"model":"${'x'.repeat(4_000)}"`],
  ])('%.30s', async member => {
    expect(await rejected(`{${member}}`)).toMatchObject({ code: 'invalid_model', param: 'model' })
  })

  it.each([
    ['stream', '"true"'],
    ['stream', '1'],
    ['stream', '{}'],
    ['stream_options', '[]'],
    ['stream_options', 'true'],
    ['max_tokens', '-1'],
    ['max_tokens', '1.5'],
    ['max_tokens', '1e400'],
    ['max_tokens', '"5"'],
    ['max_tokens', '12345678901234567890'],
    ['max_completion_tokens', '[]'],
    ['max_completion_tokens', '0.1'],
    ['n', '-2'],
    ['n', 'true'],
  ])('%s of %s', async (field, value) => {
    expect(await rejected(`{${M},"${field}":${value}}`)).toMatchObject({
      code: 'invalid_parameter',
      param: field,
    })
  })

  it.each<[string, string | Uint8Array]>([
    ['a byte order mark', `\uFEFF{${M}}`],
    ['UTF-16', Buffer.from(`{${M}}`, 'utf16le')],
    ['invalid UTF-8 in a value', Buffer.from(`{${M},"x":"\xff"}`, 'latin1')],
    [
      'an overlong slash',
      Buffer.concat([Buffer.from(`{${M},"x":"`), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from(`{${M},"x":"`), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['UTF-8 cut at the end', Buffer.concat([Buffer.from(`{${M}}`), Buffer.from([0xe2, 0x82])])],
    ['a depth of 129', nested(129)],
    ['trailing garbage', `{${M}}{`],
    ['a second object', `{${M}}\n{${M}}`],
    ['a NUL behind it', `{${M}}\0`],
    ['a trailing comma', `{${M},}`],
    ['a comment', `{${M}/* */}`],
    ['single quotes', "{'model':'ext-both'}"],
    ['NaN', `{${M},"x":NaN}`],
    ['a leading zero', `{${M},"x":01}`],
    ['a raw newline in a string', `{${M},"x":"\n"}`],
    ['an unknown escape', `{${M},"x":"\\x41"}`],
    ['a string', '"ext-both"'],
    ['a number', '5'],
    ['null', 'null'],
    ['white space', ' \n'],
    ['half an object', `{${M}`],
    [
      'more fields than a request has',
      `{${M},${Array.from({ length: 1_100 }, (_, index) => `"f${index}":1`).join(',')}}`,
    ],
  ])('%s', async (_title, body) => {
    expect(await rejected(body)).toMatchObject({ code: 'invalid_json', param: null })
  })

  it('is rejected although its name of 20 MB comes in small pieces, without stalling', async () => {
    const client = await rawClient(onTestFinished, gateway.url)
    const started = performance.now()
    await client.write(rawPost(gateway, CHAT, `{"${'n'.repeat(20_000_000)}":1}`))
    expect((await client.answer()).status).toBe(400)
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})

describe('what is only odd goes through', () => {
  it.each([
    ['a depth of 128', nested(128)],
    [
      'null for every field that is read',
      `{${M},"stream":null,"stream_options":null,"max_tokens":null,"n":null}`,
    ],
    ['a whole number with an exponent', `{${M},"max_tokens":1e2,"n":1.0}`],
    [
      'fields named like those of objects',
      `{"__proto__":{"model":"evil"},"constructor":{},"hasOwnProperty":1,${M}}`,
    ],
    ['names that only look alike', `{"model ":"x","models":"x","modеl":"cyrillic","_model":1,${M}}`],
    ['a lone surrogate, escaped', `{${M},"x":"\\ud800"}`],
  ])('%s', async (_title, body) => {
    for (const path of [CHAT, MESSAGES]) expect((await post(gateway, path, body)).status).toBe(200)
    expect(upstream.requests.map(request => request.text())).toEqual([
      body.replace(M, '"model":"served-oai"'),
      body.replace(M, '"model":"served-ant"'),
    ])
    expect(Object.hasOwn(Object.prototype, 'model')).toBe(false)
  })
})

describe('framing', () => {
  it('cannot hide a second request in the body of the first', async () => {
    const inner = rawPost(gateway, MESSAGES, '{"model":"ext-claude"}').toString('latin1')
    const client = await rawClient(onTestFinished, gateway.url)
    await client.write(rawPost(gateway, CHAT, JSON.stringify({ model: 'ext-both', x: inner })))
    expect((await client.answer()).status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
    expect(upstream.lastRequest.json()).toEqual({ model: 'served-oai', x: inner })
  })
})
