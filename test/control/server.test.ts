import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { startControl } from '../../src/control/server.ts'
import { sendJson } from '../../src/http/json.ts'

const control = await startControl(
  { host: '127.0.0.1', port: 0 },
  {
    clock: systemClock,
    log: createLog({ write: () => undefined }, { level: 'silent', pretty: false, colour: false }),
    health: res => sendJson(res, 200, '{"status":"ok"}'),
  },
)
afterAll(() => control.close(0))

test('answers /health without a key', async () => {
  const answer = await fetch(`${control.url}/health`)
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }])
})

test('answers everything else with a problem document', async () => {
  const answer = await fetch(`${control.url}/api/v1/nothing`)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(await answer.json()).toEqual({ type: 'about:blank', title: 'Not found', status: 404 })
})

test('refuses a request without a host, and closes', async () => {
  const socket = connect(Number(new URL(control.url).port), '127.0.0.1')
  socket.write('GET /health HTTP/1.1\r\n\r\n')
  let said = ''
  socket.setEncoding('latin1').on('data', text => {
    said += text
  })
  await once(socket, 'close')
  expect(said).toMatch(/^HTTP\/1\.1 400 /)
})
