import { expect, onTestFinished, test } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, MESSAGES } from './calls.ts'

const IMAGE = 'data:image/png;base64,'

async function scene(quota: number) {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(
    json({ usage: { prompt_tokens: 1_100, completion_tokens: 10, input_tokens: 1_100, output_tokens: 10 } }),
  )
  const gateway = await testGateway(
    onTestFinished,
    `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: served }
publications:
  m: { bindings: [{ endpoint: oai }, { endpoint: ant }] }
  small: { max_input_tokens: 128000, bindings: [{ endpoint: oai }, { endpoint: ant }] }
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme, quota: ${quota} } }
`,
  )
  const call = (path: string, model: string, part: object, more: object = {}) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secretOf('app')}` },
      body: JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: [part] }], ...more }),
    })
  return { upstream, gateway, call }
}

test('an image that is only named is held for: it is rejected where the quota covers its URL, but not the image', async () => {
  const { upstream, gateway, call } = await scene(40_000)
  const rejected = await call(CHAT, 'm', {
    type: 'image_url',
    image_url: { url: 'https://example.com/a.png' },
  })
  expect(rejected.status).toBe(429)
  expect(await rejected.json()).toMatchObject({
    error: {
      code: 'quota_exceeded',
      message: expect.stringMatching(/limit 40000, spent 0, held 0, needed 482\d\d\./),
    },
  })
  const source = { type: 'url', url: 'https://example.com/a.png' }
  expect((await call(MESSAGES, 'm', { type: 'image', source })).status).toBe(200)
  expect(gateway.ledger.holds[0]?.tokens).toBeGreaterThan(4_784)
  expect(upstream.requests).toHaveLength(1)
})

test('20 MB of an image pass a quota that covers an image, and arrive byte for byte', async () => {
  const { upstream, gateway, call } = await scene(60_000)
  const url = IMAGE + 'A'.repeat(20_971_520)
  expect((await call(CHAT, 'm', { type: 'image_url', image_url: { url } })).status).toBe(200)
  expect(gateway.ledger.holds[0]?.tokens).toBeLessThan(48_400)
  const sent = upstream.requests[0]?.json() as { messages: [{ content: [{ image_url: { url: string } }] }] }
  expect(sent.messages[0].content[0].image_url.url === url).toBe(true)
  expect(gateway.limiter.openHolds).toBe(0)
})

test('a document holds a context window, that of its publication where it has one', async () => {
  const { gateway, call } = await scene(2_000_000)
  const part = {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: 'A'.repeat(4_000) },
  }
  for (const model of ['m', 'small']) expect((await call(MESSAGES, model, part)).status).toBe(200)
  const [whole, small] = gateway.ledger.holds
  expect(whole?.tokens).toBeGreaterThan(1_048_576)
  expect(small?.tokens).toBe(128_000 + 10)
})

test('an answer that reports nothing is billed for what an image likely is, not for its base64 and not for its bound', async () => {
  const { upstream, gateway, call } = await scene(2_000_000)
  upstream.answer(
    sse(['data: {"choices":[{"index":0,"delta":{"content":"A cat."}}]}\n\n', 'data: [DONE]\n\n']),
  )
  const url = IMAGE + 'A'.repeat(400_000)
  const answer = await call(CHAT, 'm', { type: 'image_url', image_url: { url } }, { stream: true })
  await answer.text()
  const end = await gateway.ledger.nextEnd()
  expect(end).toMatchObject({ kind: 'settle', flags: ['estimated', 'unpriced'] })
  // What surrounds the image is some hundred bytes of text.
  const inputTokens = end.kind === 'settle' ? end.usage.inputTokens : 0
  expect(inputTokens).toBeGreaterThan(765 + 10)
  expect(inputTokens).toBeLessThan(765 + 60)
})
