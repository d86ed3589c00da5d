import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { WIRE_ERRORS } from '../../../src/base/catalogue/wire.ts'
import { CALL_PATHS, INFERENCE_PATHS, type InferencePath } from '../../../src/schema/paths.ts'
import { decide, type View } from '../../../src/services/why/decide.ts'
import { callerOf } from '../../../src/services/why/explain-calls.ts'
import { UpstreamFailure } from '../../../src/upstream/classify.ts'
import { post } from '../../gateway/calls.ts'
import { json } from '../../support/answers.ts'
import { type TestGateway, testGateway } from '../../support/gateway.ts'
import { scriptedUpstream } from '../../support/scripted-upstream.ts'
import { testClock } from '../../support/test-clock.ts'

/** What is asked about is then done, and comes out as predicted: status, error and endpoint. */

const upstream = await scriptedUpstream(afterAll)
upstream.answer(
  json({
    id: 'x',
    model: 'served',
    usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, input_tokens: 5, output_tokens: 7 },
  }),
)

const NAMES = ['a/one', 'a/two', 'three'] as const
const ENDPOINTS = ['oai', 'oai-2', 'ant'] as const
const KEYS = ['k0', 'k1', 'k2'] as const

/** Most of the time as it should be: a call has many checks to pass before the last one. */
const mostly = <T>(usual: T, ...unusual: readonly T[]) =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(usual, ...unusual) },
  )
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 })
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
const patterns = fc.oneof(
  { weight: 3, arbitrary: fc.constant(['*']) },
  { weight: 2, arbitrary: fc.constantFrom(['a/*'], ['three'], ['a/one', 't*'], ['nothing']) },
)
const limits = fc.record(
  {
    rpm: fc.integer({ min: 1, max: 3 }),
    tpm: fc.integer({ min: 10, max: 3_000 }),
    concurrency: fc.constant(1),
  },
  { requiredKeys: [] },
)

const configs = fc.record({
  maintenance: mostly(false, true),
  endpoints: fc.record({
    enabled: fc.tuple(mostly(true, false), mostly(true, false), mostly(true, false)),
    max: maybe(fc.constant(1)),
    paths: maybe(fc.constantFrom(['/v1/chat/completions'], ['/v1/embeddings', '/v1/rerank'])),
  }),
  publications: fc.tuple(
    ...NAMES.map(() =>
      fc.record({
        status: mostly('listed', 'unlisted', 'draft', 'banned'),
        bound: fc.shuffledSubarray([...ENDPOINTS], { minLength: 1 }),
        weight: mostly(1, 0),
        priced: fc.boolean(),
      }),
    ),
  ),
  tenant: fc.record({
    status: mostly('active', 'disabled', 'banned'),
    models: patterns,
    banned: mostly<readonly string[]>([], ['a/two'], ['t*']),
    limits,
    billing: fc.constantFrom('postpaid', 'prepaid'),
  }),
  keys: fc.tuple(
    ...KEYS.map(() =>
      fc.record({
        ofTenant: fc.boolean(),
        models: patterns,
        enabled: mostly(true, false),
        expired: mostly(false, true),
        limits,
        quota: maybe(fc.integer({ min: 1, max: 6_000 })),
        budget: maybe(fc.constantFrom('0.000001', '0.01', '5')),
      }),
    ),
  ),
})
type Config = typeof configs extends fc.Arbitrary<infer Value> ? Value : never

const calls = fc.record({
  key: fc.constantFrom<(typeof KEYS)[number] | 'foreign'>(...KEYS, ...KEYS, ...KEYS, 'foreign'),
  model: fc.constantFrom(...NAMES, ...NAMES, ...NAMES, 'four'),
  path: fc.constantFrom(...INFERENCE_PATHS),
  maxTokens: maybe(fc.constantFrom(1, 100, 5_000)),
  before: rarely(
    fc.record({ endpoint: fc.constantFrom(...ENDPOINTS), what: fc.constantFrom('ill', 'rests', 'time') }),
  ),
})

function yamlOf({ maintenance, endpoints, publications, tenant, keys }: Config): string {
  const endpoint = (protocol: string, index: number) =>
    JSON.stringify({
      protocol,
      base_url: `${upstream.url}/v1`,
      served_model: 'served',
      enabled: endpoints.enabled[index],
      // Only of the second endpoint: the others serve all paths of their protocol.
      ...(index === 1 && endpoints.paths && { paths: endpoints.paths }),
      ...(endpoints.max && { max_concurrency: endpoints.max }),
    })
  return JSON.stringify({
    version: 1,
    settings: { maintenance: { enabled: maintenance, message: 'closed' } },
    endpoints: Object.fromEntries(
      ENDPOINTS.map((name, index) => [
        name,
        JSON.parse(endpoint(name === 'ant' ? 'anthropic' : 'openai', index)),
      ]),
    ),
    publications: Object.fromEntries(
      publications.map(({ status, bound, weight, priced }, index) => [
        NAMES[index],
        {
          status,
          ...(priced && { price: { input: '10', output: '20' } }),
          bindings: bound.map((name, at) => ({
            endpoint: name,
            weight: at === 0 ? weight : 1,
            priority: at,
          })),
        },
      ]),
    ),
    tenants: {
      acme: {
        status: tenant.status,
        models: tenant.models,
        banned_models: tenant.banned,
        limits: tenant.limits,
        billing: tenant.billing,
      },
    },
    keys: Object.fromEntries(
      keys.map(({ ofTenant, models, enabled, expired, limits, quota, budget }, index) => [
        KEYS[index],
        {
          ...(ofTenant ? { kind: 'tenant', tenant: 'acme' } : { kind: 'platform' }),
          models,
          enabled,
          limits,
          ...(expired && { expires_at: '2020-01-01T00:00:00Z' }),
          ...(quota && { quota }),
          ...(budget && { budget: { amount: budget, per: 'day' } }),
        },
      ]),
    ),
  })
}

/** What the gateway's own parts would say now. */
function viewOf(gateway: TestGateway, clock: View['clock']): View {
  const { limiter, upstreams } = gateway
  const { health, routing } = upstreams
  return { snapshot: gateway.snapshot(), limiter, health, clock, nodes: routing.nodes, ledgerHealthy: true }
}

describe('gw why', () => {
  it('knows each path of inference', () => {
    expect(INFERENCE_PATHS.map(({ path }) => path).toSorted()).toEqual([...CALL_PATHS].toSorted())
  })

  it('tells what the gateway then does, and takes nothing by telling', { timeout: 60_000 }, async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(configs, fc.array(calls, { minLength: 4, maxLength: 10 }), async (config, made) => {
        const ends: (() => unknown)[] = []
        const clock = testClock()
        const gateway = await testGateway(end => ends.push(end), yamlOf(config), {
          clock,
          balanceNano: 20_000_000n,
        })
        try {
          for (const { key, model, path, maxTokens, before } of made) {
            if (before?.what === 'time') clock.advance(20_000)
            else if (before) ail(gateway, before.endpoint, before.what)
            const secret = key === 'foreign' ? 'gw_absent' : gateway.secretOf(key)
            const { body, contentType, textBytes } = bodyOf(path, model, maxTokens)
            const wish = {
              model,
              path,
              inputTokens: Math.ceil(textBytes / 3),
              ...(maxTokens !== undefined && { maxTokens }),
            }
            const view = viewOf(gateway, clock)
            const ask = () => decide(callerOf(secret, view), wish, view)
            const shown = ask()
            for (let again = 0; again < 3; again++) expect(ask().rejected?.check).toBe(shown.rejected?.check)

            const headers = { authorization: `Bearer ${secret}`, 'content-type': contentType }
            const answer = await post(gateway, path.path, body, headers)
            await answer.arrayBuffer()
            const line = await gateway.nextLogged()
            const code = shown.rejected?.rejection.code
            seen.set(code ?? 'served', (seen.get(code ?? 'served') ?? 0) + 1)
            expect([answer.status, line['error_code']]).toEqual([
              code === undefined ? 200 : WIRE_ERRORS[code].status,
              code,
            ])
            const nexts = shown.candidates.filter(({ share }) => share > 0)
            if (code === undefined)
              expect(nexts.map(({ target }) => target.endpoint.name)).toContain(line['endpoint'])
          }
        } finally {
          for (const end of ends) await end()
        }
      }),
      { numRuns: 40 },
    )
    // The cases came up that the test is about.
    expect(seen.get('served')).toBeGreaterThan(10)
    expect(seen.size).toBeGreaterThan(8)
  })
})

/** A body of the path, with the output limit that it has; and the bytes of it that count as text. */
function bodyOf({ upload, fields }: InferencePath, model: string, maxTokens: number | undefined) {
  if (upload) {
    const part = `--x\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n--x--\r\n`
    return { body: part, contentType: 'multipart/form-data; boundary=x', textBytes: model.length }
  }
  const [limit] = fields.outputLimits ?? []
  const body = JSON.stringify({ model, ...(limit && maxTokens && { [limit]: maxTokens }) })
  return { body, contentType: 'application/json', textBytes: body.length }
}

function ail(gateway: TestGateway, name: string, what: 'ill' | 'rests' | 'time'): void {
  const endpoint = gateway.snapshot().endpoints.get(name)
  if (!endpoint) return
  const state = gateway.upstreams.health.of(endpoint)
  if (what === 'rests') {
    state.failed(new UpstreamFailure('upstream_rate_limited', undefined, { cooldownMs: 15_000 }), 'key k')
    return
  }
  for (let failures = 0; failures < 3; failures++)
    state.failed(
      {
        countsAsFailure: true,
        wasSent: false,
        hasAnswered: false,
        cooldownMs: undefined,
        reason: 'rejected',
      },
      'key k',
    )
}
