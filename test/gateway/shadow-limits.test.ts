import { describe, expect, it, onTestFinished } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { CHAT as CHAT_SERIES, measuring, named, scraped } from '../metering/measuring.ts'
import { json } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, COUNT_TOKENS } from './calls.ts'

const TEN_AND_TEN = {
  usage: { prompt_tokens: 10, completion_tokens: 10, input_tokens: 10, output_tokens: 10 },
}

/** A key and its tenant with the limits of the test, as YAML. */
async function scene(key: string, tenant: string) {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(json(TEN_AND_TEN))
  const metrics = measuring(onTestFinished)
  const gateway = await testGateway(
    onTestFinished,
    `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: served }
publications:
  m:
    price: { input: "1", output: "10" }
    max_output_tokens: 100
    bindings: [{ endpoint: oai }, { endpoint: ant }]
tenants:
  acme: { ${tenant} }
keys:
  app: { kind: tenant, tenant: acme, ${key} }
`,
    { requests: metrics.requests },
  )
  metrics.retain(named(['m'], ['oai', 'ant']))
  return {
    upstream,
    gateway,
    metrics,
    /** The status of a call, and its line in the request log. */
    call: async (path = CHAT) => {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.secretOf('app')}` },
        body: JSON.stringify({ model: 'm', max_tokens: 100, messages: [] }),
      })
      await response.arrayBuffer()
      return { status: response.status, line: await gateway.nextLogged(), headers: response.headers }
    },
  }
}

/** One call passes, the second is over the limit. */
const LIMITS: readonly [check: string, key: string, tenant: string][] = [
  ['key_rpm', 'limits: { rpm: { limit: 1, mode: MODE } }', ''],
  ['key_tpm', 'limits: { tpm: { limit: 115, mode: MODE } }', ''],
  ['key_quota', 'quota: { tokens: 125, mode: MODE }', ''],
  ['key_budget', 'budget: { amount: "0.0011", per: total, mode: MODE }', ''],
  ['tenant_rpm', '', 'limits: { rpm: { limit: 1, mode: MODE } }'],
  ['tenant_tpm', '', 'limits: { tpm: { limit: 115, mode: MODE } }'],
]

describe.each(LIMITS)('%s', (check, key, tenant) => {
  const inMode = (mode: string) => scene(key.replace('MODE', mode), tenant.replace('MODE', mode))

  it('rejects the second call if it is enforced', async () => {
    const { call, upstream } = await inMode('enforce')
    expect((await call()).status).toBe(200)
    const { status, line } = await call()
    expect(status).toBe(429)
    expect(line).not.toHaveProperty('shadow_rejections')
    expect(upstream.requests).toHaveLength(1)
  })

  it('in shadow mode answers it, and has it in the log and in the metrics', async () => {
    const { call, upstream, gateway, metrics } = await inMode('shadow')
    const first = await call()
    expect(first.status).toBe(200)
    expect(first.line).not.toHaveProperty('shadow_rejections')
    const { status, line, headers } = await call()
    expect(status).toBe(200)
    expect(line).toMatchObject({
      outcome: 'answered',
      key: 'app',
      tenant: 'acme',
      shadow_rejections: [check],
    })
    expect([...headers.keys()].filter(name => name.startsWith('x-ratelimit'))).toEqual([])
    expect(upstream.requests).toHaveLength(2)
    expect(gateway.ledger.calls).toHaveLength(2)
    expect(gateway.limiter.openHolds).toBe(0)
    const { value } = await scraped(metrics)
    expect(value('gw_shadow_rejections_total', { path: CHAT_SERIES, limit: check })).toBe(1)
  })
})

it('a shadow limit counts calls of count_tokens too', async () => {
  const { call } = await scene('limits: { rpm: { limit: 1, mode: shadow } }', '')
  expect((await call(COUNT_TOKENS)).line).not.toHaveProperty('shadow_rejections')
  const { status, line } = await call(COUNT_TOKENS)
  expect([status, line['shadow_rejections']]).toEqual([200, ['key_rpm']])
})

it('a call that cannot be billed is not one that a shadow limit would reject', async () => {
  const { call, gateway } = await scene('limits: { rpm: { limit: 1, mode: shadow } }', '')
  await call()
  gateway.ledger.beforeOpen = () => Promise.reject(new GwError('unavailable'))
  const { status, line } = await call()
  expect(status).toBe(503)
  expect(line).not.toHaveProperty('shadow_rejections')
})
