import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { METRICS } from '../../src/metering/metrics/catalogue.ts'
import { gate } from '../support/gate.ts'
import { testClock } from '../support/test-clock.ts'
import { ANSWERED, CHAT, count, type Measuring, measuring, named, REJECTED, scraped } from './measuring.ts'
import { hasPromtool } from './promtool.ts'

/** Something of everything. */
function busy(): Measuring {
  const metrics = measuring(onTestFinished)
  count(metrics, { stream: true })
  count(metrics, {})
  count(metrics, { ...REJECTED })
  count(metrics, { shadowRejections: ['key_rpm'] })
  count(metrics, { attempts: [{ endpoint: 'down', errorCode: 'upstream_timeout' }, { endpoint: 'up' }] })
  count(metrics, { path: '/v1/messages', protocol: 'anthropic', outcome: 'client_gone', status: 200 })
  return metrics
}

describe('the metrics', () => {
  it('are those of the catalogue, each with its type and its labels', async () => {
    const { families } = await scraped(busy())
    expect([...families.keys()].sort()).toEqual(Object.keys(METRICS).sort())
    for (const [name, { type, samples }] of families) {
      expect(type, name).toBe(METRICS[name]?.type)
      const labels = new Set(samples.flatMap(sample => Object.keys(sample.labels)))
      labels.delete('le')
      if (samples.length > 0)
        expect([...labels].sort(), name).toEqual([...(METRICS[name]?.labels ?? [])].sort())
    }
  })

  it.runIf(hasPromtool())('are as promtool wants them', async () => {
    const { text } = await scraped(busy())
    expect(execFileSync('promtool', ['check', 'metrics'], { input: text, stdio: 'pipe' }).toString()).toBe('')
  })

  it('count a call once, in everything that it adds to', async () => {
    const metrics = measuring(onTestFinished)
    count(metrics, { stream: true })
    const { value } = await scraped(metrics)
    const call = { path: CHAT, model: 'm', endpoint: 'up' }
    const genAi = {
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: 'openai',
      gen_ai_request_model: 'm',
    }
    expect(value('gw_requests_total', { ...call, status: '200', outcome: 'answered' })).toBe(1)
    expect(value('gw_tokens_total', { ...call, class: 'input' })).toBe(30)
    expect(value('gw_tokens_total', { ...call, class: 'cached_input' })).toBe(60)
    expect(value('gw_tokens_total', { ...call, class: 'cache_write' })).toBe(10)
    expect(value('gw_tokens_total', { ...call, class: 'output' })).toBe(20)
    expect(value('gw_cost_total', call)).toBe(1.250000001)
    expect(value('gw_unpriced_calls_total', call)).toBe(0)
    expect(value('gw_overhead_seconds_sum', { path: CHAT })).toBe(0.0007)
    expect(value('gw_time_to_first_byte_seconds_sum', { ...call, stream: 'true' })).toBe(0.3)
    const whole = { ...genAi, endpoint: 'up', error_type: '' }
    expect(value('gen_ai_server_request_duration_seconds_sum', whole)).toBe(1.5)
    expect(value('gen_ai_server_request_duration_seconds_bucket', { ...whole, le: '1.28' })).toBe(0)
    expect(value('gen_ai_server_request_duration_seconds_bucket', { ...whole, le: '2.56' })).toBe(1)
    expect(value('gen_ai_server_request_duration_seconds_bucket', { ...whole, le: '+Inf' })).toBe(1)
    expect(value('gen_ai_client_token_usage_sum', { ...genAi, gen_ai_token_type: 'input' })).toBe(100)
    expect(value('gen_ai_client_token_usage_sum', { ...genAi, gen_ai_token_type: 'output' })).toBe(20)
    expect(value('gw_upstream_attempts_total', { endpoint: 'up', result: 'answered' })).toBe(1)
  })

  it('count flags, and a charge of nothing as unpriced only where there is no price', async () => {
    const metrics = measuring(onTestFinished)
    const charge = { ...ANSWERED.charge!, amountNano: 0n }
    count(metrics, { charge })
    count(metrics, { charge: { ...charge, flags: ['unpriced', 'estimated'] } })
    const { value } = await scraped(metrics)
    expect(value('gw_unpriced_calls_total')).toBe(1)
    expect(value('gw_estimated_calls_total')).toBe(1)
    expect(value('gw_cost_total')).toBe(0)
  })

  it('count a rejection by its code, and neither as a call nor as an attempt', async () => {
    const metrics = measuring(onTestFinished)
    count(metrics, { ...REJECTED })
    // It was meant for an endpoint, and never went there.
    count(metrics, { ...REJECTED, errorCode: 'rate_limit_requests', status: 429, model: 'm', endpoint: 'up' })
    const { value, samples } = await scraped(metrics)
    expect(value('gw_rejections_total', { path: CHAT, reason: 'model_not_found' })).toBe(1)
    expect(value('gw_rejections_total', { path: CHAT, reason: 'rate_limit_requests' })).toBe(1)
    expect(value('gw_requests_total', { model: '', endpoint: '', status: '404', outcome: 'rejected' })).toBe(
      1,
    )
    expect(
      samples.filter(({ name }) => /^gen_ai|first_byte|overhead|attempts|tokens_total/.test(name)),
    ).toEqual([])
  })

  it('count each attempt of a failover at the endpoint that failed', async () => {
    const metrics = measuring(onTestFinished)
    count(metrics, {
      attempts: [{ endpoint: 'down', errorCode: 'upstream_error' }, { endpoint: 'up' }],
    })
    const { value } = await scraped(metrics)
    expect(value('gw_upstream_attempts_total', { endpoint: 'down', result: 'upstream_error' })).toBe(1)
    expect(value('gw_upstream_attempts_total', { endpoint: 'up', result: 'answered' })).toBe(1)
  })

  it.each([
    ['broken', 200, 'upstream_error', 'upstream_error'],
    ['client_gone', 0, undefined, 'client_gone'],
    ['answered', 400, undefined, '400'],
  ] as const)(
    'tell a call that was %s with status %i from a whole one',
    async (outcome, status, errorCode, type) => {
      const metrics = measuring(onTestFinished)
      count(metrics, { outcome, status, ...(errorCode && { errorCode }) })
      const { value } = await scraped(metrics)
      expect(value('gen_ai_server_request_duration_seconds_count', { error_type: type })).toBe(1)
      expect(value('gw_time_to_first_byte_seconds_count')).toBeUndefined()
      expect(value('gw_requests_total', { outcome, status: String(status) })).toBe(1)
    },
  )

  it('show what is so at the moment', async () => {
    const metrics = measuring(onTestFinished)
    metrics.requests.began()
    metrics.requests.began()
    metrics.requests.passed()
    const { value } = await scraped(metrics)
    expect(value('gw_requests_in_flight')).toBe(1)
    expect(value('gw_connections_open')).toBe(9)
    expect(value('gw_endpoint_healthy', { endpoint: 'up' })).toBe(1)
    expect(value('gw_endpoint_healthy', { endpoint: 'down' })).toBe(0)
    expect(value('gw_node_connected', { node: 'gpu-1' })).toBe(1)
    expect(value('gw_node_connected', { node: 'gpu-2' })).toBe(0)
    const engine = { node: 'gpu-1', engine: 'vllm' }
    expect(value('gw_node_engine_up', engine)).toBe(1)
    expect(value('gw_node_engine_requests', { ...engine, state: 'waiting' })).toBe(2)
    expect(value('gw_node_engine_cache_usage', engine)).toBe(0.5)
    expect(value('gw_node_requests_in_flight', { endpoint: 'up', node: 'gpu-1' })).toBe(3)
    expect(value('gw_holds_open')).toBe(4)
    expect(value('gw_holds_cost')).toBe(1.5)
    expect(value('gw_ledger_queued_rows')).toBe(3)
    expect(value('gw_call_logs_dropped_total')).toBe(2)
    expect(value('gw_health_reason', { reason: 'drift' })).toBe(1)
    expect(value('gw_health_reason', { reason: 'files_rejected' })).toBe(0)
    expect(value('gw_config_revision')).toBe(7)
    expect(value('gw_config_last_reload_timestamp_seconds')).toBe(1_700_000_000)
    expect(value('gw_build_info', { version: '1.2.3', node: process.versions.node })).toBe(1)
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6)
    // A counter that is read elsewhere is read, not added up.
    expect((await scraped(metrics)).value('gw_call_logs_dropped_total')).toBe(2)
  })

  it('time the commits of the ledger, and show how long one has been waited for', async () => {
    const clock = testClock()
    const commit = gate()
    const metrics = measuring(
      onTestFinished,
      { ledger: { healthy: true, queued: 0, droppedLogs: 0, flush: () => commit.opened } },
      clock,
    )
    clock.advance(1_000)
    clock.advance(2_500)
    expect((await scraped(metrics)).value('gw_ledger_lag_seconds')).toBe(2.5)
    commit.open()
    await commit.opened
    const { value } = await scraped(metrics)
    expect(value('gw_ledger_lag_seconds')).toBe(0)
    expect(value('gw_ledger_commit_seconds_sum')).toBe(2.5)
  })
})

it('the lag of a ledger that has failed ends with its recovery', async () => {
  const clock = testClock()
  let isFailing = true
  const flush = async () => {
    if (isFailing) throw new Error('the server is away')
  }
  const metrics = measuring(
    onTestFinished,
    { ledger: { healthy: true, queued: 0, droppedLogs: 0, flush } },
    clock,
  )
  const passSecond = async () => {
    clock.advance(1_000)
    await Promise.resolve()
    await Promise.resolve()
  }
  for (let second = 0; second < 3; second++) await passSecond()
  expect((await scraped(metrics)).value('gw_ledger_lag_seconds')).toBe(2)
  isFailing = false
  await passSecond()
  const { value } = await scraped(metrics)
  expect(value('gw_ledger_lag_seconds')).toBe(0)
  expect(value('gw_ledger_commit_seconds_sum')).toBe(3)
})

describe('the number of series', () => {
  it('does not grow with 100,000 random names of models, paths and keys', async () => {
    const metrics = measuring(onTestFinished)
    const grow = (salt: number) => {
      count(metrics, {})
      count(metrics, { ...REJECTED, path: `/v1/${salt}` })
      count(metrics, { ...REJECTED, path: `/v1/models/${salt}` })
      count(metrics, { ...REJECTED, key: `key-${salt}`, requestId: `req_${salt}` })
      // No code lets this happen; a request that outlives its configuration comes near.
      count(metrics, { model: `model-${salt}`, endpoint: `endpoint-${salt}`, key: `key-${salt}` })
    }
    grow(0)
    const before = await scraped(metrics)
    for (let salt = 1; salt <= 100_000; salt++) grow(salt)
    const after = await scraped(metrics)
    expect(after.samples.length).toBe(before.samples.length)
    expect(after.text).not.toMatch(/\b(model|endpoint|key)-\d/)
    expect(after.value('gw_requests_total', { path: '/v1/models/{id}' })).toBe(100_001)
    expect(after.value('gw_requests_total', { path: 'other' })).toBe(100_001)
  })

  it('falls when the configuration no longer names a model or an endpoint', async () => {
    const metrics = busy()
    metrics.retain(named(['other'], ['up']))
    const { samples } = await scraped(metrics)
    const labels = samples.flatMap(sample => Object.values(sample.labels))
    expect(labels).not.toContain('m')
    expect(
      samples.some(({ name, labels: { endpoint } }) => name !== 'gw_endpoint_healthy' && endpoint === 'down'),
    ).toBe(false)
    count(metrics, { model: 'other' })
    expect((await scraped(metrics)).value('gw_requests_total', { model: 'other' })).toBe(1)
  })
})

/** What the text format or a reader of it could stumble over. */
const ODD = fc.constantFrom('"', '\\', '\n', '{', '}', ',', '=', ' ', '#', 'é', '😀', '\u2028')

it('any name of a model comes back out of the text as it went in', async () => {
  const metrics = measuring(onTestFinished)
  const unit = fc.oneof(ODD, ODD, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }))
  await fc.assert(
    fc.asyncProperty(fc.string({ unit, minLength: 1 }), async model => {
      metrics.retain(named([model], ['up']))
      count(metrics, { model })
      const { value } = await scraped(metrics)
      expect(value('gw_requests_total', { model, endpoint: 'up' })).toBeGreaterThan(0)
    }),
    { numRuns: 50 },
  )
})

describe('a scrape of 1,000 models at three endpoints', () => {
  const models = Array.from({ length: 1_000 }, (_, index) => `vendor/model-${index}`)
  const endpoints = ['one', 'two', 'three']
  function large(): Measuring {
    const metrics = measuring(onTestFinished)
    metrics.retain(named(models, endpoints))
    for (const model of models)
      for (const endpoint of endpoints) {
        for (const status of [200, 400]) count(metrics, { model, endpoint, status })
        count(metrics, { model, endpoint, status: 502, outcome: 'failed', errorCode: 'upstream_error' })
      }
    return metrics
  }

  it('lets everything else have its turn between its pieces', async () => {
    const metrics = large()
    let turns = 0
    const turn = () => {
      turns++
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    const { pieces } = await metrics.scrape()
    clearImmediate(next)
    const largest = Math.max(...pieces.map(({ length }) => length))
    expect(largest).toBeLessThan(150_000)
    expect(pieces.length).toBeGreaterThan(100)
    expect(turns).toBeGreaterThanOrEqual(pieces.length - 2)
  })

  it('is written once for all who ask meanwhile', async () => {
    const metrics = large()
    const [one, other] = await Promise.all([metrics.scrape(), metrics.scrape()])
    // Compared here: megabytes in a message are of no use.
    expect(other === one).toBe(true)
    expect((await metrics.scrape()) === one).toBe(false)
  })
})

it('nothing of it outlives its end: neither timers nor observers', async () => {
  const clock = testClock()
  const metrics = measuring(onTestFinished, {}, clock)
  metrics.close()
  expect(clock.pending).toBe(0)
})
