import { afterAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { json } from '../support/answers.ts'
import { freePort } from '../support/free-port.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, post } from './calls.ts'

const upstream = await scriptedUpstream(afterAll)
const config = (url: string, more = '') => `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${url}", served_model: s }
  other: { protocol: openai, base_url: "${upstream.url}", served_model: s }
publications:
  m: { bindings: [{ endpoint: oai }${more}] }
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme, limits: { rpm: 1 } }, admin: { kind: platform } }
`
beforeEach(() => upstream.forget())

it('a rejected call is logged with the model that was asked for, the reason and its numbers; never in the call log', async () => {
  const gateway = await testGateway(onTestFinished, config(upstream.url))
  upstream.answer(json({ model: 's' }))
  const app = { authorization: `Bearer ${gateway.secretOf('app')}` }
  await post(gateway, CHAT, { model: 'm' }, app)
  await post(gateway, CHAT, { model: 'm' }, app)
  await post(gateway, CHAT, { model: `x${'🙂'.repeat(200)}` })
  await fetch(gateway.url + CHAT, { method: 'POST', body: '{}' })
  expect(gateway.ledger.calls).toHaveLength(1)
  const [rate, model, key] = gateway.ledger.rejected
  expect(rate).toMatchObject({
    key: 'app',
    tenant: 'acme',
    askedModel: 'm',
    status: 429,
    errorCode: 'rate_limit_requests',
    message: expect.stringContaining('limit 1, remaining 0, needed 1'),
    path: CHAT,
    count: 1,
  })
  expect(model).toMatchObject({ key: 'admin', status: 404, errorCode: 'model_not_found' })
  expect(model?.askedModel).toBe(`x${'🙂'.repeat(49)}…`)
  expect(key).toMatchObject({
    status: 401,
    errorCode: 'invalid_api_key',
    key: undefined,
    askedModel: undefined,
  })
})

it('a key that was sent as the name of a model is kept nowhere', async () => {
  const gateway = await testGateway(onTestFinished, config(upstream.url))
  await post(gateway, CHAT, { model: 'sk-proj-abcdefgh12345678' })
  expect(gateway.ledger.rejected).toMatchObject([{ errorCode: 'model_not_found', askedModel: '…' }])
  expect(JSON.stringify(gateway.ledger.rejected)).not.toContain('abcdefgh')
})

it('a failed call has its cause, and each failed attempt with the cause of its own', async () => {
  const port = await freePort()
  const gateway = await testGateway(
    onTestFinished,
    config(`http://127.0.0.1:${port}`, ', { endpoint: other, priority: 2 }'),
  )
  upstream.answerNext(json({}, { status: 500 }), json({ model: 's' }))
  expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(502)
  expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(200)
  expect(gateway.ledger.rejected).toEqual([])
  expect(gateway.ledger.calls).toMatchObject([
    {
      status: 502,
      attempts: 2,
      reason: 'other answered 500',
      failedAttempts: ['oai: upstream_error (ECONNREFUSED)', 'other: upstream_error (answered 500)'],
    },
    { status: 200, reason: undefined, failedAttempts: ['oai: upstream_error (ECONNREFUSED)'] },
  ])
})
