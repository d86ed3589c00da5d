import { describe, expect, it, onTestFinished } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { type TestGateway, testGateway } from '../support/gateway.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts'
import { DONE, textChunk, usageChunk } from './billing-scene.ts'
import { CHAT, COUNT_TOKENS, expectAnthropicError, expectOpenaiError, MESSAGES } from './calls.ts'

const TEN_AND_TEN = {
  usage: { prompt_tokens: 10, completion_tokens: 10, input_tokens: 10, output_tokens: 10 },
}

interface Scene {
  readonly upstream: ScriptedUpstream
  readonly gateway: TestGateway
  readonly reload: (key: string, tenant?: string) => Promise<void>
  readonly call: (path: string, body?: object) => Promise<Response>
}

/** A key and its tenant with the limits of the test, as YAML. */
async function scene(key: string, tenant = '', balanceNano = 0n): Promise<Scene> {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(json(TEN_AND_TEN))
  const yaml = (limits: string, tenantLimits: string) => `
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
  acme: { ${tenantLimits} }
keys:
  app: { kind: tenant, tenant: acme, ${limits} }
  other: { kind: tenant, tenant: acme }
`
  const gateway = await testGateway(onTestFinished, yaml(key, tenant), { balanceNano })
  return {
    upstream,
    gateway,
    reload: (limits, tenantLimits = tenant) => gateway.reload(yaml(limits, tenantLimits)),
    call: (path, body = {}) =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.secretOf('app')}` },
        body: JSON.stringify({ model: 'm', max_tokens: 100, ...body }),
      }),
  }
}

/** What a rejection must leave behind: nothing. */
function expectUntouched({ upstream, gateway }: Scene, answered: number): void {
  expect(upstream.requests).toHaveLength(answered)
  expect(gateway.ledger.holds).toHaveLength(answered)
  expect(gateway.ledger.calls).toHaveLength(answered)
  expect(gateway.limiter.openHolds).toBe(gateway.ledger.openHolds.length)
}

interface Limit {
  readonly title: string
  readonly key: string
  readonly tenant?: string
  readonly balanceNano?: bigint
  /** How many requests pass before one is rejected. */
  readonly passing: number
  readonly status?: number
  readonly type: string
  readonly code: string
  readonly anthropicType?: string
  readonly message: RegExp
  readonly waits: boolean
}

const LIMITS: readonly Limit[] = [
  {
    title: 'requests per minute',
    key: 'limits: { rpm: 2 }',
    passing: 2,
    type: 'requests',
    code: 'rate_limit_exceeded',
    message: /Requests per minute of key `app`: limit 2, remaining 0, needed 1; possible again in \d+ s\./,
    waits: true,
  },
  {
    title: 'tokens per minute',
    key: 'limits: { tpm: 115 }',
    passing: 1,
    type: 'tokens',
    code: 'rate_limit_exceeded',
    message:
      /Tokens per minute of key `app`: limit 115, remaining \d+, needed 11\d; possible again in \d+ s\./,
    waits: true,
  },
  {
    title: 'the requests per minute of the tenant',
    key: '',
    tenant: 'limits: { rpm: 1 }',
    passing: 1,
    type: 'requests',
    code: 'rate_limit_exceeded',
    message: /of tenant `acme`: limit 1, remaining 0, needed 1/,
    waits: true,
  },
  {
    title: 'the tokens per minute of the tenant',
    key: 'limits: { tpm: 100000 }',
    tenant: 'limits: { tpm: 115 }',
    passing: 1,
    type: 'tokens',
    code: 'rate_limit_exceeded',
    message: /of tenant `acme`: limit 115, remaining \d+, needed 11\d/,
    waits: true,
  },
  {
    title: 'the quota',
    key: 'quota: 149',
    passing: 2,
    type: 'insufficient_quota',
    code: 'quota_exceeded',
    message:
      /The token quota of key `app` does not cover this call: limit 149, spent 40, held 0, needed 11\d\./,
    waits: false,
  },
  {
    title: 'the budget',
    key: 'budget: { amount: "0.00115", per: total }',
    passing: 2,
    type: 'insufficient_quota',
    code: 'budget_exceeded',
    message:
      /The budget of key `app` in total does not cover this call, in USD: limit 0\.00115, spent 0\.00022, held 0, needed 0\.0010\d+\./,
    waits: false,
  },
  {
    title: 'the prepaid balance',
    key: '',
    tenant: 'billing: prepaid',
    balanceNano: 1_150_000n,
    passing: 2,
    status: 402,
    type: 'insufficient_quota',
    code: 'insufficient_balance',
    anthropicType: 'billing_error',
    message:
      /The prepaid balance of tenant `acme` does not cover this call, in USD: balance 0\.00093, held 0, needed 0\.0010\d+\./,
    waits: false,
  },
]

describe.each(LIMITS)('$title:', limit => {
  const { key, tenant, balanceNano, passing, status = 429, type, code, message, waits } = limit

  it.each([CHAT, MESSAGES])(
    'what is too much is rejected in the shape of %s, with the numbers, and reaches no endpoint',
    async path => {
      const world = await scene(key, tenant, balanceNano)
      for (let n = 0; n < passing; n++) {
        expect((await world.call(path)).status).toBe(200)
        await world.gateway.nextLogged()
      }
      for (let again = 0; again < 3; again++) {
        const answer = await world.call(path)
        expect(answer.headers.get('retry-after') === null).toBe(!waits)
        if (waits) expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60)
        expect(answer.headers.get('x-should-retry')).toBe(waits ? null : 'false')
        if (path === CHAT) await expectOpenaiError(answer, { status, type, code, message })
        else {
          const anthropicType = limit.anthropicType ?? 'rate_limit_error'
          await expectAnthropicError(answer, { status, type: anthropicType, message })
        }
        await world.gateway.nextLogged()
      }
      expectUntouched(world, passing)
    },
  )
})

it.each([
  ['one request a minute', 'limits: { rpm: 1 }', CHAT],
  ['one request a minute', 'limits: { rpm: 1 }', MESSAGES],
  ['two hundred tokens a minute', 'limits: { tpm: 200 }', CHAT],
])('a key with %s is asked to wait for less than 60 s (%s, %s)', async (_title, limits, path) => {
  const { call } = await scene(limits)
  const body = { messages: [{ role: 'user', content: 'x'.repeat(396) }] }
  expect((await call(path, body)).status).toBe(200)
  const rejected = await call(path, body)
  expect([rejected.status, Number(rejected.headers.get('retry-after'))]).toEqual([429, expect.any(Number)])
  expect(Number(rejected.headers.get('retry-after'))).toBeLessThanOrEqual(59)
})

describe('concurrency', () => {
  it.each([
    ['key', 'limits: { concurrency: 2 }', ''],
    ['tenant', '', 'limits: { concurrency: 2 }'],
  ])(
    'of a %s counts each answer to its last byte, and what it rejects comes back when one ends',
    async (whose, key, tenant) => {
      const world = await scene(key, tenant)
      const { upstream, gateway, call } = world
      const going = gate()
      upstream.answer(sse([textChunk('hi'), going, usageChunk(1, 1) + DONE]))
      const streams = await Promise.all([call(CHAT, { stream: true }), call(CHAT, { stream: true })])
      const rejected = await call(CHAT)
      expect(rejected.headers.get('retry-after')).toBe('1')
      await expectOpenaiError(rejected, {
        status: 429,
        type: 'concurrency',
        code: 'rate_limit_exceeded',
        message: new RegExp(`for ${whose} \`\\w+\`: limit 2, held 2, needed 1`),
      })
      await expectAnthropicError(await call(MESSAGES), { status: 429, type: 'rate_limit_error' })
      expect(upstream.requests).toHaveLength(2)
      going.open()
      await Promise.all(streams.map(stream => stream.text()))
      while (gateway.limiter.openReservations > 0) await gateway.nextLogged()
      upstream.answer(json(TEN_AND_TEN))
      expect((await call(CHAT)).status).toBe(200)
    },
  )
})

describe('rate headers', () => {
  const both = 'limits: { rpm: 100, tpm: 60000 }'

  it('tell an OpenAI client of its requests and tokens, on answers, streams and rejections', async () => {
    const { call, upstream } = await scene('limits: { rpm: 3, tpm: 60000 }')
    const first = await call(CHAT)
    expect(headersOf(first, /^x-ratelimit/)).toMatchObject({
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '2',
      'x-ratelimit-reset-requests': expect.stringMatching(/^(20|19\.\d+)s$/),
      'x-ratelimit-limit-tokens': '60000',
      'x-ratelimit-remaining-tokens': expect.stringMatching(/^59\d\d\d$/),
      'x-ratelimit-reset-tokens': expect.stringMatching(/^\d+ms$/),
    })
    upstream.answer(sse(usageChunk(1, 1) + DONE))
    const stream = await call(CHAT, { stream: true })
    await stream.text()
    expect(stream.headers.get('x-ratelimit-remaining-requests')).toBe('1')
    await (await call(CHAT, { stream: true })).text()
    const rejected = await call(CHAT)
    expect(rejected.status).toBe(429)
    expect(headersOf(rejected, /^x-ratelimit/)).toMatchObject({
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '0',
    })
    expect(headersOf(rejected, /^anthropic/)).toEqual({})
  })

  it('tell an Anthropic client the same in its own words', async () => {
    const { call } = await scene(both)
    const answer = await call(MESSAGES)
    expect(headersOf(answer, /ratelimit/)).toEqual({
      'anthropic-ratelimit-requests-limit': '100',
      'anthropic-ratelimit-requests-remaining': '99',
      'anthropic-ratelimit-requests-reset': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      'anthropic-ratelimit-tokens-limit': '60000',
      'anthropic-ratelimit-tokens-remaining': expect.stringMatching(/^59\d\d\d$/),
      'anthropic-ratelimit-tokens-reset': expect.stringMatching(/Z$/),
    })
    const rejected = await call(MESSAGES, { model: 'none' })
    expect(rejected.status).toBe(404)
    expect(rejected.headers.get('anthropic-ratelimit-requests-remaining')).toBe('99')
  })

  it('are ours, never those of the account at the upstream', async () => {
    const { call, upstream } = await scene(both)
    const theirs = {
      'x-ratelimit-limit-requests': '9999',
      'x-ratelimit-remaining-tokens': '1',
      'anthropic-ratelimit-requests-limit': '9999',
      'retry-after': '7',
    }
    upstream.answer(json(TEN_AND_TEN, { headers: theirs }))
    const answer = await call(CHAT)
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('100')
    expect(headersOf(answer, /^anthropic/)).toEqual({})
  })

  it('are absent where there is no limit', async () => {
    const { call } = await scene('')
    expect(headersOf(await call(CHAT), /ratelimit/)).toEqual({})
  })
})

describe('count_tokens', () => {
  it('has as many requests per minute as inference, of its own, and takes nothing else', async () => {
    const world = await scene('limits: { rpm: 3, tpm: 100000 }')
    const { call, upstream, gateway } = world
    upstream.answer(json({ input_tokens: 5 }))
    for (let n = 0; n < 3; n++) {
      const answer = await call(COUNT_TOKENS)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('anthropic-ratelimit-requests-remaining')).toBe(String(2 - n))
      expect(answer.headers.get('anthropic-ratelimit-tokens-remaining')).toBe(null)
    }
    await expectAnthropicError(await call(COUNT_TOKENS), {
      status: 429,
      type: 'rate_limit_error',
      message: /Calls of count_tokens per minute of key `app`: limit 3, remaining 0, needed 1/,
    })
    expect(upstream.requests).toHaveLength(3)
    expect(gateway.ledger).toMatchObject({ holds: [], ends: [], calls: [] })
    upstream.answer(json(TEN_AND_TEN))
    for (let n = 0; n < 3; n++) expect((await call(MESSAGES)).status).toBe(200)
    expect((await call(MESSAGES)).status).toBe(429)
  })
})

describe('a reload', () => {
  it('keeps what was used of a rate, and applies a changed limit to it at once', async () => {
    const { call, reload } = await scene('limits: { rpm: 4 }')
    for (let n = 0; n < 4; n++) expect((await call(CHAT)).status).toBe(200)
    await reload('limits: { rpm: 4 }')
    expect((await call(CHAT)).status).toBe(429)
    await reload('limits: { rpm: 8 }')
    // As empty as it was: raising a limit is no way to a burst.
    const rejected = await call(CHAT)
    expect(rejected.status).toBe(429)
    expect(rejected.headers.get('x-ratelimit-limit-requests')).toBe('8')
    await reload('')
    expect((await call(CHAT)).status).toBe(200)
  })

  it('keeps what was spent of a quota, and what a request at hand holds of it', async () => {
    const { call, reload, upstream, gateway } = await scene('quota: 270')
    expect((await call(CHAT)).status).toBe(200)
    const held = gate()
    upstream.answer(async exchange => {
      await held.opened
      await json(TEN_AND_TEN)(exchange)
    })
    const first = call(CHAT)
    const second = call(CHAT)
    while (upstream.requests.length < 3) await upstream.nextRequest()
    await reload('quota: 270')
    expect(gateway.limiter.limitStatus(gateway.entryOf('app')).quota).toMatchObject({ limit: 270, spent: 20 })
    const rejected = await call(CHAT)
    expect(await rejected.text()).toMatch(/limit 270, spent 20, held 2\d\d, needed 1\d\d/)
    held.open()
    expect((await first).status).toBe(200)
    expect((await second).status).toBe(200)
    while (gateway.limiter.openHolds > 0) await gateway.nextLogged()
    expect(gateway.limiter.limitStatus(gateway.entryOf('app')).quota).toEqual({
      limit: 270,
      spent: 60,
      held: 0,
    })
  })
})

describe('what rejects first', () => {
  it('takes nothing of the limits before it', async () => {
    const world = await scene('limits: { rpm: 10, tpm: 100000 }, quota: 10')
    for (let n = 0; n < 20; n++) expect(await (await world.call(CHAT)).text()).toContain('quota_exceeded')
    const last = await world.call(CHAT)
    expect(last.headers.get('x-ratelimit-remaining-requests')).toBe('10')
    expect(last.headers.get('x-ratelimit-remaining-tokens')).toBe('100000')
    expectUntouched(world, 0)
  })
})

function headersOf(answer: Response, names: RegExp): Record<string, string> {
  return Object.fromEntries([...answer.headers].filter(([name]) => names.test(name)))
}
