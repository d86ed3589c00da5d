import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { controlScene } from './scene.ts'

const control = await controlScene(afterAll)

/** Writes bytes as they are, and gives what came until the connection closed. */
async function raw(text: string): Promise<string> {
  const socket = connect(Number(new URL(control.url).port), '127.0.0.1')
  socket.write(text)
  let said = ''
  socket.setEncoding('latin1').on('data', piece => {
    said += piece
  })
  await once(socket, 'close')
  return said
}

test('answers /health without a key', async () => {
  expect(await control.send('GET', '/health')).toMatchObject({ status: 200, body: { status: 'ok' } })
})

describe('every answer', () => {
  test('has headers by which browsers do nothing with it, and no cache keeps it', async () => {
    const { headers } = await control.send('GET', '/api/v1/session')
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^req_[0-9a-f]{24}$/),
    })
  })

  test('grants nothing to other origins, also where they ask first', async () => {
    const ask = { headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' } }
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await control.send(method, '/api/v1/session', ask)
      expect([...headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
    }
  })

  test('that is a failure is a problem document with the request id of its header', async () => {
    const { status, headers, body } = await control.send('GET', '/api/v1/nothing')
    expect([status, headers.get('content-type')]).toEqual([404, 'application/problem+json'])
    expect(body).toEqual({
      type: 'urn:gw:problem:unknown_path',
      title: 'The control plane does not serve this path.',
      status: 404,
      code: 'unknown_path',
      detail: 'The control plane does not serve this path.',
      hint: expect.any(String),
      request_id: headers.get('x-request-id'),
    })
  })
})

test('says which methods a path has', async () => {
  const { status, headers, body } = await control.send('POST', '/api/v1/keys/a')
  expect([status, body.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, PATCH, DELETE'])
})

test('writes a line of log for each request, with its operation and its failure', async () => {
  await control.send('GET', '/api/v1/keys/a?cursor=secret')
  expect(control.log.at(-1)).toMatchObject({
    msg: 'control',
    operation: 'get_key',
    error_code: 'not_logged_in',
    status: 401,
    method: 'GET',
    address: '127.0.0.1',
  })
  expect(JSON.stringify(control.log)).not.toContain('cursor=secret')
})

describe('bytes that are no good request', () => {
  test('without a host are rejected, and the connection closes', async () => {
    const said = await raw('GET /health HTTP/1.1\r\n\r\n')
    expect(said).toMatch(/^HTTP\/1\.1 400 /)
    expect(said).toContain('"code":"bad_request"')
  })

  test('that no parser takes are rejected with a problem document', async () => {
    const said = await raw('GET /api/v1/session HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n')
    expect(said).toMatch(/^HTTP\/1\.1 400 /)
    expect(said.toLowerCase()).toContain('content-type: application/problem+json')
  })
})
