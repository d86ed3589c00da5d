import { afterAll, expect, test } from 'vitest'
import { API_PREFIX } from '../../src/schema/api/operations.ts'
import type { PlaygroundEvent } from '../../src/services/playground.ts'
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

test('what is no name of a model is not in the audit', async () => {
  const body = { ...BODY, body: { model: 'm'.repeat(100_000) } }
  await call(body)
  const [line] = await scene.store.users.audit({ limit: 1 })
  expect(line).toMatchObject({ action: 'call_playground' })
  expect(line).not.toHaveProperty('target')
})

async function call(body: object): Promise<string> {
  const answer = await fetch(`${scene.url}${API_PREFIX}/playground/calls`, {
    method: 'POST',
    headers: { ...as.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return answer.text()
}
