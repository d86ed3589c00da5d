import { afterAll, expect, onTestFinished, test } from 'vitest'
import { API_PREFIX } from '../../src/schema/api/operations.ts'
import type { PlaygroundEvent } from '../../src/services/playground.ts'
import { gate } from '../support/gate.ts'
import { bareGateway } from './bare-gateway.ts'
import { controlScene } from './scene.ts'

const scene = await controlScene(afterAll)
await scene.addUser('ada', 'admin')
const as = await scene.logIn('ada')
const BODY = { secret: 'gw_the-secret', path: '/v1/chat/completions', body: { model: 'chat' } }

test('without a gateway it says so, before any event', async () => {
  const { status, body } = await scene.call('call_playground', { as, body: BODY })
  expect([status, body.code]).toEqual([503, 'no_gateway'])
})

test('the answer of a gateway comes as events, and the call is in the audit without its secret', async () => {
  expect((await scene.call('get_session', { as })).body).not.toHaveProperty('gateway_url')
  await bareGateway(scene, afterAll)
  const [gateway] = await scene.store.gateways()
  expect((await scene.call('get_session', { as })).body['gateway_url']).toBe(gateway?.url)
  const events = (await call(BODY))
    .split('\n\n')
    .filter(Boolean)
    .map(block => JSON.parse(block.split('\ndata: ')[1] ?? '') as PlaygroundEvent)
  expect(events).toEqual([
    { event: 'head', status: 200, request_id: null, content_type: 'application/json' },
    { event: 'data', text: '{}' },
    { event: 'end', first_byte_ms: expect.any(Number), total_ms: expect.any(Number), call: null },
  ])
  const [line] = await scene.store.users.audit({ limit: 1 })
  expect(line).toMatchObject({ action: 'call_playground', target: 'publication/chat' })
  expect(JSON.stringify([line, scene.log])).not.toContain(BODY.secret)
})

test('only paths of the gateway are asked', async () => {
  for (const path of ['/metrics', 'http://127.0.0.1:9/v1/chat/completions', '/v1/../health']) {
    const { status } = await scene.call('call_playground', { as, body: { ...BODY, path } })
    expect(status, path).toBe(422)
  }
})

test.each(['', 'gw key', 'ключ', 'a\nb'])(
  'the secret %j, which no header can have, is invalid',
  async secret => {
    const { status, body } = await scene.call('call_playground', { as, body: { ...BODY, secret } })
    expect(status).toBe(422)
    expect(body.errors).toMatchObject([{ pointer: '/secret' }])
  },
)

test('what is no name of a model is not in the audit', async () => {
  const body = { ...BODY, body: { model: 'm'.repeat(100_000) } }
  await call(body)
  const [line] = await scene.store.users.audit({ limit: 1 })
  expect(line).toMatchObject({ action: 'call_playground' })
  expect(line).not.toHaveProperty('target')
})

test('a user has at most four calls open in all sessions, and gets a place back when one ends or is left', async () => {
  const other = await controlScene(onTestFinished)
  await other.addUser('eve', 'admin')
  const ends = gate()
  await bareGateway(other, onTestFinished, ends.opened)
  const sessions = [await other.logIn('eve'), await other.logIn('eve')]
  const leaving = new AbortController()
  const begin = (index: number, signal?: AbortSignal) =>
    fetch(`${other.url}${API_PREFIX}/playground/calls`, {
      method: 'POST',
      headers: { ...sessions[index % 2]?.headers, 'content-type': 'application/json' },
      body: JSON.stringify(BODY),
      ...(signal && { signal }),
    })
  const open = await Promise.all([begin(0, leaving.signal), begin(1), begin(2), begin(3)])
  expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const fifth = await begin(4)
  expect([fifth.status, await fifth.json()]).toMatchObject([429, { code: 'too_many_open_requests' }])
  leaving.abort()
  await expect.poll(async () => (await begin(5)).status).toBe(200)
  expect((await begin(6)).status).toBe(429)
  ends.open()
  for (const answer of open.slice(1)) expect(await answer.text()).toContain('event: end')
  expect((await begin(7)).status).toBe(200)
})

async function call(body: object): Promise<string> {
  const answer = await fetch(`${scene.url}${API_PREFIX}/playground/calls`, {
    method: 'POST',
    headers: { ...as.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return answer.text()
}
