import { expect, it, onTestFinished } from 'vitest'
import { json } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT } from './calls.ts'

const HELLO = { model: 'm', messages: [{ role: 'user', content: 'Hello!' }] }

async function scene(settings: string) {
  const upstream = await scriptedUpstream(onTestFinished)
  const gateway = await testGateway(
    onTestFinished,
    `
version: 1
settings: ${settings}
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served }
publications:
  m: { max_output_tokens: 16384, bindings: [{ endpoint: oai }] }
keys:
  fresh: { kind: platform, quota: 10000 }
`,
  )
  const call = (more: object = {}) =>
    fetch(gateway.url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secretOf('fresh')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...HELLO, ...more }),
    })
  // An upstream that writes as much as it may.
  upstream.answer(async exchange => {
    const { max_tokens } = exchange.request.json() as { max_tokens?: number }
    await json({ choices: [], usage: { prompt_tokens: 20, completion_tokens: max_tokens ?? 50_000 } })(
      exchange,
    )
  })
  return { upstream, gateway, call }
}

it('a fresh key with a quota of 10,000 has its "Hello!" answered with output_cap, and never passes its quota', async () => {
  const { upstream, gateway, call } = await scene('{ output_cap: max_tokens }')
  const answer = await call()
  expect(answer.status).toBe(200)
  await answer.text()
  const inputTokens = Math.ceil(Buffer.byteLength(JSON.stringify(HELLO)) / 3)
  expect(upstream.lastRequest.json()).toEqual({
    ...HELLO,
    model: 'served',
    max_tokens: 10_000 - inputTokens,
  })
  const { quota } = gateway.limiter.limitStatus(gateway.entryOf('fresh'))
  expect(quota).toEqual({ limit: 10_000, spent: 20 + 10_000 - inputTokens, held: 0 })
  // Nothing of use is left: rejected, and nothing is dispatched.
  expect((await call()).status).toBe(429)
  expect(upstream.requests).toHaveLength(1)
})

it('a limit of the request stays as it came, and without output_cap nothing is written into it', async () => {
  const capped = await scene('{ output_cap: max_tokens }')
  await (await capped.call({ max_tokens: 300 })).text()
  expect(capped.upstream.lastRequest.json()).toMatchObject({ max_tokens: 300 })
  expect((await capped.call({ max_tokens: 9_990 })).status).toBe(429)
  const plain = await scene('{}')
  const rejected = await plain.call()
  expect(rejected.status).toBe(429)
  expect(await rejected.text()).toContain('limit 10000, spent 0, held 0, needed 164')
  expect(plain.upstream.requests).toEqual([])
})
