import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Connection } from '../../src/http/connection.ts'
import { OPERATION_IDS, operation } from '../../src/schema/api/operations.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { type ControlScene, controlScene, type LoggedIn } from './scene.ts'

const control = await controlScene(afterAll)
let as: LoggedIn

beforeAll(async () => {
  await control.addUser('ada', 'admin')
  as = await control.logIn('ada')
})

/** The answer to lines of a head, as they are. */
async function asked(...lines: readonly string[]) {
  const client = await rawClient(onTestFinished, control.url)
  await client.write(`${lines.join('\r\n')}\r\n\r\n`)
  return client.answer()
}

const HOST = 'host: localhost'

describe('the target of a request', () => {
  const bearer = () => `authorization: ${as.headers['authorization']}`

  test.each(['http://x/api/v1/tenants', '//x/api/v1/tenants', '*', '/api/v1/tenants#x', 'x'])(
    '%s is none of ours',
    async target => {
      expect((await asked(`GET ${target} HTTP/1.1`, HOST, bearer())).status).toBe(400)
    },
  )

  test.each([
    '/api/v1/%74enants',
    '/api/v1/tenants/',
    '/api/v1//tenants',
    '/api/v1/./tenants',
    '/api/v1/x/../tenants',
    '/api/v1/tenants/..',
    '/api/v1/tenants/%2e%2e',
    '/api/v1/tenants/acme%00',
    '/api/v1/tenants/acme%0d%0aset-cookie:x',
    '/api/v1/tenants/acme%2f..%2fother',
    '/api/v1/tenants/acme;x=1',
    '/api/v1/tenants/acme%ff',
    '/api/v1/tenants/acme%',
    '/api/v1/tenants/%u0061cme',
    '/api/v1/Tenants',
    '/API/v1/tenants',
    '/api/v1/tenants\\acme',
    '/api/v2/tenants',
    '/v1/models',
    '/metrics',
  ])('%s names nothing', async target => {
    const answer = await asked(`GET ${target} HTTP/1.1`, HOST, bearer())
    expect([answer.status, answer.values('set-cookie')]).toEqual([404, []])
  })
})

describe('a head', () => {
  const line = 'GET /api/v1/session HTTP/1.1'

  test.each([
    ['two hosts', 400, [line, HOST, 'host: y']],
    ['no host', 400, [line]],
    ['another version', 400, ['GET /api/v1/session HTTP/2.0', HOST]],
    ['two lengths', 400, [line, HOST, 'content-length: 1', 'content-length: 2']],
    ['a length and a coding', 400, [line, HOST, 'content-length: 1', 'transfer-encoding: chunked']],
    ['a coding of its own', 501, [line, HOST, 'transfer-encoding: gzip, chunked']],
    ['an expectation', 400, [line, HOST, 'expect: miracles']],
    ['a folded line', 400, [line, HOST, 'x-a: 1', ' 2']],
    ['a space in a name', 400, [line, HOST, 'x a: 1']],
    ['a NUL', 400, [line, HOST, 'x-a: \0']],
    ['too many lines', 431, [line, HOST, ...Array.from({ length: 200 }, (_, index) => `x-${index}: 1`)]],
    ['too many bytes', 431, [line, HOST, `x-a: ${'x'.repeat(20_000)}`]],
    ['a tunnel', 400, ['CONNECT x:1 HTTP/1.1', HOST]],
  ])('with %s is rejected with a problem document, and the connection closes', async (_, status, lines) => {
    const answer = await asked(...lines)
    expect([answer.status, answer.values('connection'), answer.values('content-type')]).toEqual([
      status,
      ['close'],
      ['application/problem+json'],
    ])
    expect(answer.json()).toMatchObject({ status, request_id: answer.values('x-request-id')[0] })
  })

  test('with two authorizations bears none', async () => {
    const bearer = `authorization: ${as.headers['authorization']}`
    expect((await asked(line, HOST, bearer)).status).toBe(200)
    expect((await asked(line, HOST, bearer, bearer)).status).toBe(401)
    expect((await asked(line, HOST, bearer, 'Authorization: Basic eDp5')).status).toBe(401)
  })

  test('of an upgrade is a request like every other', async () => {
    expect((await asked(line, HOST, 'connection: upgrade', 'upgrade: websocket')).status).toBe(401)
  })
})

describe('a method that a path does not have', () => {
  test.each(['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'PROPFIND'])(
    '%s is a 405 that says which it has',
    async method => {
      const answer = await asked(
        `${method} /api/v1/tenants HTTP/1.1`,
        HOST,
        'origin: https://evil.example',
        // Behind the answer to HEAD there is no body to wait for.
        'connection: close',
      )
      expect([answer.status, answer.values('allow')]).toEqual([405, ['GET, POST']])
      expect(answer.headerLines.filter(([name]) => /^access-control/i.test(name))).toEqual([])
    },
  )

  test('cannot be had by a header or a field that names another one', async () => {
    const override = { 'x-http-method-override': 'DELETE', 'x-method-override': 'DELETE' }
    const headers = { ...as.headers, ...override }
    expect((await control.send('GET', '/api/v1/tenants/acme?_method=DELETE', { headers })).status).toBe(422)
    expect((await control.send('GET', '/api/v1/tenants/acme', { headers })).status).toBe(200)
    expect((await control.call('get_tenant', { as, params: { name: 'acme' } })).status).toBe(200)
  })
})

describe('a client that is slow', () => {
  /** Sends a part of a body, and gives what it is answered and how long that took by the clock of the server. */
  async function late(path: string, credential: (scene: ControlScene) => Promise<string[]>) {
    const scene = await controlScene(onTestFinished)
    await scene.addUser('ada', 'admin')
    const more = await credential(scene)
    const reading = vi.spyOn(Connection.prototype, 'limitBody')
    const client = await rawClient(onTestFinished, scene.url)
    const head = [
      `POST ${path} HTTP/1.1`,
      HOST,
      'content-type: application/json',
      'content-length: 6000',
      ...more,
    ]
    await client.write(`${head.join('\r\n')}\r\n\r\n{"`)
    const answered = new AbortController()
    const answer = client.answer().finally(() => answered.abort())
    if (more.length === 0) await vi.waitFor(() => expect(reading).toHaveBeenCalled())
    const startMs = scene.clock.nowMs()
    while (!answered.signal.aborted) {
      scene.clock.advance(500)
      // A byte now and then is no way to stay.
      client.socket.write(' ')
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    expect((await answer).json()).toMatchObject({ status: 408, code: 'request_timeout' })
    await client.closed
    return scene.clock.nowMs() - startMs
  }

  test('with its body gets its answer after five seconds without a session, and the connection closes', async () => {
    const tookMs = await late('/api/v1/session', async () => [])
    expect(tookMs).toBeGreaterThanOrEqual(5_000)
    expect(tookMs).toBeLessThan(10_000)
  })

  test('with its body has half a minute where it has a session', async () => {
    const tookMs = await late('/api/v1/tenants', async scene => {
      const { headers } = await scene.logIn('ada')
      return [`authorization: ${headers['authorization']}`]
    })
    expect(tookMs).toBeGreaterThanOrEqual(28_000)
  })

  test('does not hold up others', async () => {
    const slow = await Promise.all(Array.from({ length: 50 }, () => rawClient(onTestFinished, control.url)))
    for (const client of slow) await client.write('POST /api/v1/session HTTP/1.1\r\nhost: localhost\r\n')
    expect((await control.call('get_session', { as })).status).toBe(200)
  })
})

describe('every answer', () => {
  const SECURE = {
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^req_[0-9a-f]{24}$/),
  }

  test('of every operation, with and without a session, is not cached and shows no stack', async () => {
    const params = { name: 'none', publication: 'none', endpoint: 'none', id: '9' }
    for (const id of OPERATION_IDS.filter(id => id !== 'log_out' && id !== 'log_out_everywhere')) {
      const { method, answer } = operation(id)
      const nonsense = method === 'GET' ? {} : { body: { x: 1 } }
      const query = answer.isStream ? { query: { limit: '1' } } : {}
      for (const session of [{}, { as }]) {
        const answered = await control.call(id, { params, ...nonsense, ...query, ...session })
        expect(Object.fromEntries(answered.headers), id).toMatchObject(SECURE)
        expect(JSON.stringify(answered.body) ?? '').not.toMatch(/node_modules|\.[jt]s:\d|\bat [A-Za-z.]+ \(/)
      }
    }
  })

  test.each([
    ['health', 200, ['GET /health HTTP/1.1', HOST]],
    ['an unknown path', 404, ['GET /nowhere HTTP/1.1', HOST]],
    ['an unknown method', 405, ['PUT /api/v1/session HTTP/1.1', HOST]],
    ['bytes that no parser takes', 400, ['GET /api/v1/session HTTP/1.1', 'bad header']],
    ['a request that is rejected', 400, ['GET /api/v1/session HTTP/1.1']],
  ])('to %s has the same headers', async (_, status, lines) => {
    const answer = await asked(...lines)
    expect(answer.status).toBe(status)
    const headers = Object.fromEntries(answer.headerLines.map(([name, value]) => [name.toLowerCase(), value]))
    expect(headers).toMatchObject(SECURE)
  })

  test('without a session is the same, whatever is missing or wrong', async () => {
    const wrong = [
      '',
      'Bearer',
      'Bearer x',
      `Bearer gws_${'A'.repeat(43)}`,
      'Basic YWRhOmFkYQ==',
      'Bearer gw_x',
    ]
    const answers = await Promise.all([
      control.send('GET', '/api/v1/users'),
      control.send('GET', '/api/v1/users/absent'),
      ...wrong.map(authorization => control.send('GET', '/api/v1/keys', { headers: { authorization } })),
      control.send('GET', '/api/v1/keys', { headers: { cookie: `gw_session=gws_${'A'.repeat(43)}` } }),
    ])
    const shown = answers.map(({ status, headers, body: { request_id: _id, ...body } }) => {
      return { status, body, challenge: headers.get('www-authenticate') }
    })
    expect(new Set(shown.map(answer => JSON.stringify(answer))).size).toBe(1)
    expect(shown[0]).toMatchObject({ status: 401, challenge: 'Bearer', body: { code: 'not_logged_in' } })
  })
})

test('requests behind one another on one connection are answered in their order', async () => {
  const url = new URL('/api/v1/session', control.url)
  const statuses = await Promise.all(
    ['', as.headers['authorization'] ?? '', ''].map(
      authorization =>
        new Promise(resolve => {
          request(url, { headers: authorization === '' ? {} : { authorization } }, answer => {
            answer.resume()
            resolve(answer.statusCode)
          }).end()
        }),
    ),
  )
  expect(statuses).toEqual([401, 200, 401])
})
