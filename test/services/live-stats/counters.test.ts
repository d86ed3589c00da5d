import { describe, expect, it, onTestFinished } from 'vitest'
import { countersIn, growth, quantile } from '../../../src/services/live-stats/counters.ts'
import { rejectionsOf, trafficOfCounters } from '../../../src/services/live-stats/traffic.ts'
import { count, measuring, named, REJECTED, scraped } from '../../metering/measuring.ts'

describe('growth', () => {
  const counted = (requests: number, tokens = 0, durations = {}) => ({
    series: [{ id: 'a', model: 'm', endpoint: 'e', outcomes: { answered: requests }, tokens, durations }],
    attempts: [{ endpoint: 'e', results: { answered: requests } }],
    rejections: { busy: requests },
  })

  it('is what each counter has grown by', () => {
    expect(growth(counted(5, 10, { '+Inf': 5 }), counted(8, 30, { '1': 1, '+Inf': 8 }))).toEqual(
      counted(3, 20, { '1': 1, '+Inf': 3 }),
    )
  })

  it('is all of a counter that began anew, or is new', () => {
    expect(growth(counted(500), counted(8))).toEqual(counted(8))
    expect(growth({ series: [], attempts: [], rejections: {} }, counted(8))).toEqual(counted(8))
  })
})

describe('a quantile', () => {
  const buckets = (...counts: readonly (readonly [le: string, count: number])[]) => new Map(counts)

  it('lies inside its bucket, as Prometheus has it', () => {
    const even = buckets(['1', 50], ['2', 100], ['+Inf', 100])
    expect(quantile(0.5, even)).toBe(1)
    expect(quantile(0.75, even)).toBe(1.5)
    expect(quantile(0.95, even)).toBeCloseTo(1.9)
  })

  it('of what lies beyond all bounds is the last bound', () => {
    expect(quantile(0.95, buckets(['1', 1], ['+Inf', 100]))).toBe(1)
  })

  it('of nothing is none', () => {
    expect(quantile(0.5, buckets(['1', 0], ['+Inf', 0]))).toBeUndefined()
    expect(quantile(0.5, buckets())).toBeUndefined()
  })
})

describe('what a gateway tells its own process', () => {
  it('gives the same traffic and rejections as the text of its metrics', async () => {
    const metrics = measuring(onTestFinished)
    const both = async () => ({ shown: metrics.counters(), read: countersIn((await scraped(metrics)).text) })
    count(metrics, {})
    const before = await both()
    metrics.retain(named(['m', 'other'], ['up', 'down']))
    count(metrics, { stream: true, latencyMs: 30 })
    count(metrics, { model: 'other', latencyMs: 900 })
    count(metrics, { path: '/v1/messages', protocol: 'anthropic', endpoint: 'down', latencyMs: 70 })
    count(metrics, { ...REJECTED })
    count(metrics, { outcome: 'failed', status: 502, errorCode: 'upstream_error', endpoint: 'down' })
    count(metrics, { attempts: [{ endpoint: 'down', errorCode: 'upstream_timeout' }, { endpoint: 'up' }] })
    const after = await both()
    const [shown, read] = [growth(before.shown, after.shown), growth(before.read, after.read)]
    const traffic = trafficOfCounters([shown], 2)
    expect(traffic.requestsPerSecond).toBe(3)
    expect(traffic.models.get('other')).toMatchObject({ requestsPerSecond: 0.5, failed: 0 })
    expect(traffic.endpoints.get('down')).toMatchObject({
      requestsPerSecond: 1.5,
      failed: expect.closeTo(2 / 3) as number,
    })
    expect(traffic).toEqual(trafficOfCounters([read], 2))
    expect(rejectionsOf([shown], [after.shown], 2)).toEqual(rejectionsOf([read], [after.read], 2))
    expect(rejectionsOf([shown], [after.shown], 2)).toContainEqual({
      reason: 'model_not_found',
      perSecond: 0.5,
      total: 1,
    })
  })
})
