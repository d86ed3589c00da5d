import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rawClient } from '../gateway/raw-client.ts'
import { type Answered, controlScene, type LoggedIn, PASSWORD } from './scene.ts'

const control = await controlScene(afterAll)
let as: LoggedIn

beforeAll(async () => {
  await control.addUser('ada', 'admin')
  as = await control.logIn('ada')
})

const JSON_TYPE = { 'content-type': 'application/json' }

/** A tenant is created, or would be. */
function post(
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = JSON_TYPE,
  path = '/tenants',
): Promise<Answered> {
  return control.send('POST', `/api/v1${path}`, { body, headers: { ...as.headers, ...headers } })
}

const shown = ({ status, body }: Answered) => [status, body.code, body.errors?.[0]]

test('a body in pieces is the same as in one, with objects in it', async () => {
  const text = '{"name":"in-pieces","limits":{"rpm":5}}'
  for (let cut = 1; cut < text.length; cut += 7) {
    const sent = request(`${control.url}/api/v1/tenants`, {
      method: 'POST',
      headers: { ...as.headers, ...JSON_TYPE, 'content-length': text.length },
    })
    const answer = once(sent, 'response')
    sent.write(text.slice(0, cut))
    // Until it has left: the rest would travel with it.
    await new Promise(resolve => setTimeout(resolve, 10))
    sent.end(text.slice(cut))
    const [{ statusCode }] = (await answer) as [IncomingMessage]
    expect([cut, statusCode]).toEqual([cut, cut === 1 ? 201 : 409])
  }
})

describe('a body', () => {
  test.each([
    ['nothing but a list', '[]'],
    ['nothing but a word', '"tenant"'],
    ['null', 'null'],
    ['cut short', '{"name":"a"'],
    ['two of them', '{"name":"a"}{"name":"b"}'],
    ['in single quotes', "{'name':'a'}"],
    ['with a comma too many', '{"name":"a",}'],
    ['with a comment', '{"name":"a"/* */}'],
    ['behind a byte order mark', '\ufeff{"name":"a"}'],
    ['with a control character', '{"name":"a\u0001"}'],
    ['with NaN', '{"name":"a","limits":{"rpm":NaN}}'],
    ['with Infinity', '{"name":"a","limits":{"rpm":Infinity}}'],
    ['too deep', `{"name":${'['.repeat(40)}${']'.repeat(40)}}`],
    ['very deep', `{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('%s is no JSON object', async (_, text) => {
    expect(await post(text)).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
  })

  test.each([
    ['a stray byte', [0xff]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['half a surrogate', [0xed, 0xa0, 0x80]],
    ['a character cut short', [0xe2, 0x82]],
  ])('that is no UTF-8 for %s is none, either', async (_, bytes) => {
    const body = Buffer.concat([Buffer.from('{"name":"a'), Buffer.from(bytes), Buffer.from('"}')])
    expect(await post(body)).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
  })

  test.each([
    ['at its root', '{"name":"a","name":"b"}', '/name', 'duplicate member'],
    ['spelled in two ways', '{"name":"a","n\\u0061me":"b"}', '/name', 'duplicate member'],
    [
      'inside a member',
      '{"name":"a","limits":{"rpm":1,"\\u0072pm":2}}',
      '/limits',
      'contains a duplicate member',
    ],
    [
      'beside strings that look like members',
      '{"name":"a","limits":{"x":"\\":","rpm":1,"rpm":1}}',
      '/limits',
      'contains a duplicate member',
    ],
    [
      'that is a prototype',
      '{"name":"a","__proto__":{"billing":"prepaid"}}',
      '/__proto__',
      'invalid member name',
    ],
    [
      'that is a prototype further down',
      '{"name":"a","limits":{"__proto__":{"rpm":1}}}',
      '/limits/__proto__',
      'invalid member name',
    ],
  ])('with one name too many %s is rejected', async (_, text, pointer, detail) => {
    expect(shown(await post(text))).toEqual([422, 'invalid_request', { pointer, detail }])
  })

  test('may hold texts that look like names, and names that every object has', async () => {
    const answered = await post('{"name":"colons","display_name":"{\\"a\\":1,\\"a\\":2} \\\\"}')
    expect(answered).toMatchObject({ status: 201, body: { display_name: '{"a":1,"a":2} \\' } })
    expect(shown(await post('{"name":"x","constructor":1,"toString":2}'))).toEqual([
      422,
      'invalid_request',
      { pointer: '/constructor', detail: 'unknown field' },
    ])
  })

  test.each([
    ['no type', {}],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['plain text', { 'content-type': 'text/plain' }],
    ['several parts', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['JSON of another charset', { 'content-type': 'application/json; charset=utf-16' }],
    ['a JSON that is not ours', { 'content-type': 'application/merge-patch+json' }],
    ['a suffix', { 'content-type': 'application/jsonp' }],
  ])('as %s is rejected', async (_, headers: Record<string, string>) => {
    // A buffer: fetch would name a type for a text.
    expect(await post(Buffer.from('{"name":"a"}'), headers)).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    })
  })

  test.each([JSON_TYPE, { 'content-type': 'Application/JSON; charset="UTF-8"' }])(
    'as %o is read',
    async type => {
      expect((await post('{}', type)).status).toBe(422)
    },
  )

  test.each(['gzip', 'deflate', 'br', 'identity'])('compressed as %s is never inflated', async encoding => {
    const body = gzipSync('{"name":"a"}')
    expect(await post(body, { ...JSON_TYPE, 'content-encoding': encoding })).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    })
  })

  test('of an operation that has none is rejected, as is nonsense for one', async () => {
    const path = '/keys/none/issue'
    expect(shown(await post('{"a/b~":1}', JSON_TYPE, path))).toEqual([
      422,
      'invalid_request',
      { pointer: '/a~1b~0', detail: 'this operation has no body' },
    ])
    expect(await post('nonsense', JSON_TYPE, path)).toMatchObject({
      status: 400,
      body: { code: 'invalid_json' },
    })
    expect((await post('{}', JSON_TYPE, path)).status).toBe(404)
  })
})

describe('a large body', () => {
  test('is rejected by what it says of itself, before a byte of it is read', async () => {
    const client = await rawClient(afterAll, control.url)
    const head = `POST /api/v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: ${as.headers['authorization']}\r\n`
    await client.write(`${head}content-type: application/json\r\ncontent-length: 1000000000000\r\n\r\n`)
    expect(await client.answer()).toMatchObject({ status: 413 })
  })

  test('is rejected by what has come of it where it says nothing', async () => {
    const client = await rawClient(afterAll, control.url)
    const head = `POST /api/v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: ${as.headers['authorization']}\r\n`
    await client.write(`${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`)
    const piece = `10000\r\n${'x'.repeat(0x1_00_00)}\r\n`
    await client.write(`7\r\n{"name"\r\n2\r\n:"\r\n${piece.repeat(5)}`)
    expect((await client.answer()).json()).toMatchObject({ status: 413, code: 'request_too_large' })
  })

  test('without a session is rejected at far less', async () => {
    const body = JSON.stringify({ username: 'ada', password: 'x'.repeat(20_000) })
    expect(await control.send('POST', '/api/v1/session', { body, headers: JSON_TYPE })).toMatchObject({
      status: 413,
      body: { code: 'request_too_large' },
    })
  })

  test('of a configuration may be larger', async () => {
    const yaml = `version: 1\n${'# padding\n'.repeat(60_000)}tenants: { big: {} }\n`
    const answered = await control.call('validate_config', { as, body: { yaml } })
    expect(answered).toMatchObject({ status: 200, body: { resources: 1 } })
    expect(
      await control.call('validate_config', { as, body: { yaml: 'x'.repeat(9_000_000) } }),
    ).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/yaml' }] },
    })
  })
})

describe('fields that are wrong', () => {
  test('are all reported, each with its place, and never with what stood there', async () => {
    const body = { name: 'a b', limits: { rpm: 0, concurency: 1 }, billing: 'sometimes', is_admin: true }
    const answered = await control.call('create_tenant', { as, body })
    expect([answered.status, new Set(answered.body.errors.map(({ pointer }) => pointer))]).toEqual([
      422,
      new Set(['/billing', '/is_admin', '/limits/concurency', '/limits/rpm', '/name']),
    ])
    const misspelt = answered.body.errors.find(({ pointer }) => pointer === '/limits/concurency')
    expect(misspelt?.detail).toBe('unknown field; did you mean concurrency?')
    const secret = await control.call('create_endpoint', {
      as,
      body: { name: 'x', upstream_key: 'sk\u00fc-canary' },
    })
    expect([secret.status, JSON.stringify(secret.body).includes('canary')]).toEqual([422, false])
  })

  test('in great number are answered at once, with a few of them', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`nme${index}`, 1]))
    const startMs = performance.now()
    const answered = await control.call('create_tenant', { as, body: many })
    expect([answered.status, answered.body.errors.length]).toEqual([422, 32])
    // Comparing each name with each other one took seconds, in which no other request was served.
    expect(performance.now() - startMs).toBeLessThan(1_500)
  })

  test('cannot ride along: what a user is, is not for the user to say', async () => {
    await control.addUser('tom', 'tenant', 'acme')
    const tom = await control.logIn('tom')
    const body = { current_password: PASSWORD, new_password: PASSWORD, role: 'admin', is_admin: true }
    const answered = await control.call('change_password', { as: tom, body })
    expect([answered.status, answered.body.errors.map(({ pointer }) => pointer)]).toEqual([
      422,
      ['/role', '/is_admin'],
    ])
    const logIn = { username: 'tom', password: PASSWORD, role: 'admin' }
    expect((await control.call('log_in', { body: logIn })).status).toBe(422)
    expect((await control.call('get_session', { as: tom })).body).toMatchObject({
      user: { role: 'tenant', tenant: 'acme' },
    })
  })
})

describe('an operation that needs a body', () => {
  test('does nothing without one: a rotation leaves the old secret', async () => {
    const params = { name: 'k' }
    await control.call('create_key', { as, body: { name: 'k', kind: 'platform' } })
    await control.call('issue_key', { as, params })
    const before = (await control.store.find({ kind: 'key', name: 'k' })).secrets
    const rejected = await control.call('rotate_key', { as, params })
    expect([rejected.status, rejected.body.code]).toEqual([400, 'invalid_json'])
    expect((await control.store.find({ kind: 'key', name: 'k' })).secrets).toEqual(before)
    expect((await control.call('rotate_key', { as, params, body: {} })).status).toBe(201)
  })
})
