import { ROOT_CONTEXT } from '@opentelemetry/api'
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { readTracing } from '../../src/metering/tracing/environment.ts'
import { OpenTelemetryTracer } from '../../src/metering/tracing/opentelemetry.ts'
import { json, silence, sse } from '../support/answers.ts'
import { collector } from '../support/collector.ts'
import { testGateway } from '../support/gateway.ts'
import { type Answer, scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, COUNT_TOKENS, post } from './calls.ts'

const USAGE = { prompt_tokens: 3, completion_tokens: 2 }
const GOOD = json({ model: 'served', choices: [], usage: USAGE })
const STREAM = sse([
  `data: {"model":"served","choices":[{"delta":{"content":"hi"}}],"usage":${JSON.stringify(USAGE)}}\n\n`,
  'data: [DONE]\n\n',
])

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const SPAN_ID = 'b7ad6b7169203331'
const SAMPLED = `00-${TRACE_ID}-${SPAN_ID}-01`
const UNSAMPLED = `00-${TRACE_ID}-${SPAN_ID}-00`
const PROMPT = 'a secret of the client'

const config = (urls: readonly string[]) => `
version: 1
endpoints:
${urls.map((url, index) => `  one-${index}: { protocol: openai, base_url: "${url}/v1", served_model: served }`).join('\n')}
  ant: { protocol: anthropic, base_url: "${urls[0]}/v1", served_model: served }
publications:
  m:
    price: { input: "1", output: "10" }
    bindings: [${urls.map((_, index) => `{ endpoint: one-${index}, priority: ${index} }`).join(', ')}, { endpoint: ant }]
tenants: { acme: {} }
keys:
  admin: { kind: platform }
  app: { kind: tenant, tenant: acme }
`

async function fixture(answers: readonly Answer[], environment: Readonly<Record<string, string>> = {}) {
  const collected = await collector(onTestFinished)
  const upstreams = await Promise.all(answers.map(() => scriptedUpstream(onTestFinished)))
  upstreams.forEach((upstream, index) => {
    upstream.answer(answers[index] as Answer)
  })
  const { options } = readTracing(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: collected.url,
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      ...environment,
    },
    '1.2.3',
  )
  if (!options) throw new Error('tracing is off')
  const lines: string[] = []
  const log = createLog({ write: line => lines.push(line) }, { level: 'info', pretty: false, colour: false })
  const tracer = new OpenTelemetryTracer(options, { clock: systemClock, random: systemRandom, log })
  onTestFinished(() => tracer.close(1_000))
  const gateway = await testGateway(onTestFinished, config(upstreams.map(({ url }) => url)), { tracer })
  return { collected, upstreams, gateway, lines, tracer }
}

const CALL = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: PROMPT }] }

describe('the trace of a call', () => {
  it('has a span with children for hold, attempt and settle, in the names of OpenTelemetry', async () => {
    const { collected, gateway, upstreams } = await fixture([STREAM], {
      OTEL_SERVICE_NAME: 'gw-east',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector',
    })
    const answer = await post(gateway, CHAT, { ...CALL, stream: true })
    await answer.text()
    const logged = await gateway.nextLogged()
    const spans = await collected.call(logged['request_id'])
    const root = spans.find(({ kind }) => kind === 2)
    expect(root).toMatchObject({
      name: 'chat m',
      isError: false,
      resource: {
        'service.name': 'gw-east',
        'deployment.environment.name': 'test',
        'service.version': '1.2.3',
      },
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'm',
        'gen_ai.usage.input_tokens': 3,
        'gen_ai.usage.output_tokens': 2,
        'http.request.method': 'POST',
        'http.response.status_code': 200,
        'url.path': CHAT,
        'gw.request_id': answer.headers.get('x-request-id'),
        'gw.key': 'admin',
        'gw.endpoint': 'one-0',
        'gw.revision': 1,
        'gw.stream': true,
        'gw.outcome': 'answered',
        'gw.cost': '0.000023',
      },
    })
    expect(root?.parentSpanId).toBeUndefined()
    expect(logged).toMatchObject({ trace_id: root?.traceId, span_id: root?.spanId })
    const children = spans.filter(({ parentSpanId }) => parentSpanId === root?.spanId)
    expect(children.map(({ name, kind }) => `${name} ${kind}`).sort()).toEqual([
      'attempt one-0 3',
      'hold 1',
      'settle 1',
    ])
    expect(spans).toHaveLength(4)
    const attempt = children.find(({ kind }) => kind === 3)
    expect(attempt?.attributes).toEqual({
      'gw.endpoint': 'one-0',
      'gw.attempt': 1,
      'server.address': '127.0.0.1',
      'server.port': upstreams[0]?.port,
      'http.response.status_code': 200,
    })
    for (const { startNs, endNs } of children) {
      expect(startNs >= (root?.startNs ?? 0n)).toBe(true)
      expect(endNs >= startNs).toBe(true)
    }
    expect(upstreams[0]?.lastRequest.header('traceparent')).toBe(`00-${root?.traceId}-${attempt?.spanId}-01`)
    const [sent] = collected.exports
    expect(sent).toMatchObject({ path: '/v1/traces', headers: { authorization: 'Bearer collector' } })
    const texts = collected.exports.map(({ text }) => text).join('')
    for (const secret of [PROMPT, gateway.secretOf('admin'), 'collector']) expect(texts).not.toContain(secret)
  })

  it('continues the trace of the client, and keeps its tracestate for the upstream', async () => {
    const { collected, gateway, upstreams } = await fixture([GOOD], {
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    })
    await (await post(gateway, CHAT, CALL, { traceparent: SAMPLED, tracestate: 'vendor=1' })).text()
    const logged = await gateway.nextLogged()
    const spans = await collected.call(logged['request_id'])
    const root = spans.find(({ kind }) => kind === 2)
    expect(root).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID })
    expect(logged).toMatchObject({ trace_id: TRACE_ID, span_id: root?.spanId })
    const attempt = spans.find(({ kind }) => kind === 3)
    const request = upstreams[0]?.lastRequest
    expect(request?.header('traceparent')).toBe(`00-${TRACE_ID}-${attempt?.spanId}-01`)
    expect(request?.header('tracestate')).toBe('vendor=1')
  })

  it('has an attempt for each endpoint that was tried', async () => {
    const { collected, gateway, upstreams } = await fixture([json({}, { status: 503 }), GOOD])
    await (await post(gateway, CHAT, CALL)).text()
    const spans = await collected.call((await gateway.nextLogged())['request_id'])
    const attempts = spans.filter(({ kind }) => kind === 3)
    expect(attempts).toMatchObject([
      {
        name: 'attempt one-0',
        isError: true,
        attributes: { 'gw.attempt': 1, 'http.response.status_code': 503, 'error.type': 'unavailable' },
      },
      {
        name: 'attempt one-1',
        isError: false,
        attributes: { 'gw.attempt': 2, 'http.response.status_code': 200 },
      },
    ])
    const contexts = upstreams.map(({ lastRequest }) => lastRequest.header('traceparent'))
    expect(contexts).toEqual(attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`))
    expect(spans.filter(({ name }) => name === 'settle')).toHaveLength(1)
  })

  it('has no attempt if the call is rejected, and is not an error of the gateway', async () => {
    const { collected, gateway } = await fixture([GOOD])
    expect((await post(gateway, CHAT, { ...CALL, model: 'unknown' })).status).toBe(404)
    const spans = await collected.call((await gateway.nextLogged())['request_id'])
    expect(spans).toMatchObject([
      {
        name: 'chat',
        isError: false,
        attributes: {
          'http.response.status_code': 404,
          'error.type': 'model_not_found',
          'gw.outcome': 'rejected',
        },
      },
    ])
    expect(Object.keys(spans[0]?.attributes ?? {})).not.toContain('gen_ai.request.model')
  })

  it('ends if the client leaves before the answer', async () => {
    const { collected, gateway, upstreams } = await fixture([silence])
    const leaving = new AbortController()
    const answer = fetch(gateway.url + CHAT, {
      method: 'POST',
      body: JSON.stringify(CALL),
      headers: { authorization: `Bearer ${gateway.secretOf('admin')}` },
      signal: leaving.signal,
    })
    await upstreams[0]?.nextRequest()
    leaving.abort()
    await expect(answer).rejects.toThrow()
    const spans = await collected.call((await gateway.nextLogged())['request_id'])
    expect(spans.find(({ kind }) => kind === 2)).toMatchObject({
      attributes: { 'gw.outcome': 'client_gone' },
    })
    // It is no error of the endpoint.
    const attempt = spans.find(({ kind }) => kind === 3)
    expect(attempt?.isError).toBe(false)
    expect(attempt?.attributes).not.toHaveProperty('error.type')
    expect(spans.map(({ name }) => name)).toContain('settle')
  })

  it('names the node of an attempt, or the server without brackets', async () => {
    const { collected, gateway, tracer } = await fixture([GOOD])
    const trace = tracer.begin({}, 'count_tokens')
    const ends = [
      { name: 'near', origin: 'http://localhost', node: 'gpu-7' },
      { name: 'far', origin: 'https://[2001:db8::1]', node: undefined },
    ].map(endpoint => trace?.attempt(endpoint))
    for (const attempt of ends) attempt?.end(200)
    await (await post(gateway, CHAT, CALL)).text()
    await collected.call((await gateway.nextLogged())['request_id'])
    const attributes = (name: string) => collected.spans.find(span => span.name === name)?.attributes
    expect(attributes('attempt near')).toMatchObject({ 'gw.node': 'gpu-7' })
    expect(attributes('attempt near')).not.toHaveProperty('server.address')
    expect(attributes('attempt far')).toMatchObject({ 'server.address': '2001:db8::1', 'server.port': 443 })
  })

  it('has neither hold nor settle if the call is free of charge', async () => {
    const { collected, gateway } = await fixture([json({ input_tokens: 3 })])
    await (await post(gateway, COUNT_TOKENS, CALL)).text()
    const spans = await collected.call((await gateway.nextLogged())['request_id'])
    expect(spans.map(({ name }) => name).sort()).toEqual(['attempt ant', 'count_tokens m'])
  })
})

describe('a call that is not sampled', () => {
  it.each([
    ['by the client’s decision', 'parentbased_always_on', UNSAMPLED],
    ['by the gateway’s own', 'always_off', SAMPLED],
  ])('%s has no span, and its headers pass unchanged', async (_name, sampler, traceparent) => {
    const { collected, gateway, upstreams, tracer } = await fixture([GOOD], { OTEL_TRACES_SAMPLER: sampler })
    await (await post(gateway, CHAT, CALL, { traceparent, tracestate: 'vendor=1' })).text()
    const request = upstreams[0]?.lastRequest
    expect(request?.header('traceparent')).toBe(traceparent)
    expect(request?.header('tracestate')).toBe('vendor=1')
    expect(Object.keys(await gateway.nextLogged())).not.toContain('trace_id')
    await tracer.close(1_000)
    expect(collected.exports).toEqual([])
  })

  it('is the rule by default: one in a hundred has a trace', async () => {
    const { options } = readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, '')
    expect(options).toMatchObject({ sampler: 'traceidratio', ratio: 0.01 })
    const log = createLog({ write: () => undefined }, { level: 'info', pretty: false, colour: false })
    const tracer = new OpenTelemetryTracer(options ?? expect.fail(), {
      clock: systemClock,
      random: systemRandom,
      log,
    })
    onTestFinished(() => tracer.close(0))
    let sampled = 0
    for (let call = 0; call < 10_000; call++) if (tracer.begin({}, 'openai_chat')) sampled++
    // Ten standard deviations.
    expect(Math.abs(sampled - 100)).toBeLessThan(100)
  })
})

describe('a client', () => {
  const SAMPLED_IDS = Array.from({ length: 2_000 }, (_, at) => at.toString(16).padStart(32, '0'))
  const tracerOf = (environment: Readonly<Record<string, string>>) => {
    const { options } = readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', ...environment }, '')
    const log = createLog({ write: () => undefined }, { level: 'info', pretty: false, colour: false })
    const ports = { clock: systemClock, random: systemRandom, log }
    const tracer = new OpenTelemetryTracer(options ?? expect.fail(), ports)
    onTestFinished(() => tracer.close(0))
    return tracer
  }
  const traced = (tracer: OpenTelemetryTracer, flags: string) =>
    SAMPLED_IDS.slice(1).filter(id =>
      tracer.begin({ traceparent: `00-${id}-${SPAN_ID}-${flags}` }, 'openai_chat'),
    ).length

  it('cannot have its calls traced by default, neither by its flag nor by an id that a ratio accepts', () => {
    expect(traced(tracerOf({}), '01')).toBeLessThan(100)
    const half = tracerOf({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' })
    // These ids are all far below the half; ten standard deviations.
    expect(Math.abs(traced(half, '01') - 1_000)).toBeLessThan(230)
    expect(Math.abs(traced(half, '00') - 1_000)).toBeLessThan(230)
  })

  it('decides where the operator chose a sampler that follows it', () => {
    const tracer = tracerOf({
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.5',
    })
    expect([traced(tracer, '01'), traced(tracer, '00')]).toEqual([1_999, 0])
  })

  it('without a trace gets an id that the sampler of OpenTelemetry accepts', () => {
    const tracer = tracerOf({ OTEL_TRACES_SAMPLER_ARG: '0.2' })
    const sampler = new TraceIdRatioBasedSampler(0.2)
    for (let call = 0; call < 1_000; call++) {
      const ids = tracer.begin({}, 'openai_chat')?.ids
      if (ids)
        expect(sampler.shouldSample(ROOT_CONTEXT, ids.traceId).decision).toBe(
          SamplingDecision.RECORD_AND_SAMPLED,
        )
    }
  })
})

describe('a collector that does not answer', () => {
  it('harms no call, and is reported once for each outage', async () => {
    const { collected, gateway, lines } = await fixture([GOOD], { OTEL_EXPORTER_OTLP_TIMEOUT: '200' })
    collected.answer(500)
    const exported = async () => {
      const before = collected.exports.length
      expect((await post(gateway, CHAT, CALL)).status).toBe(200)
      await expect.poll(() => collected.exports.length).toBeGreaterThan(before)
    }
    const logged = () => lines.map(line => (JSON.parse(line) as { msg: string }).msg)
    await exported()
    await expect.poll(logged).toEqual(['traces were not exported'])
    await exported()
    await exported()
    collected.answer(200)
    await exported()
    await expect.poll(logged).toEqual(['traces were not exported', 'traces are exported again'])
  })

  it('delays the end by no more than the limit', async () => {
    const { collected, gateway, tracer } = await fixture([GOOD], { OTEL_BSP_SCHEDULE_DELAY: '60000' })
    collected.answer('silent')
    await (await post(gateway, CHAT, CALL)).text()
    await gateway.nextLogged()
    const startedMs = performance.now()
    await tracer.close(100)
    expect(performance.now() - startedMs).toBeLessThan(2_000)
    expect(collected.exports).toHaveLength(1)
  })
})
