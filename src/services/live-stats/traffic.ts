import type { StoredCall, UsageRow } from '../../store/ledger/types.ts'
import { quantile, type Sample } from './exposition.ts'
import type { Flow, Rejection } from './types.ts'

/** Traffic by endpoint and by model. */
export interface Traffic {
  readonly endpoints: ReadonlyMap<string, Flow>
  readonly models: ReadonlyMap<string, Flow>
  readonly requestsPerSecond: number
  readonly tokensPerSecond: number
}

/** The metrics to read; other samples of a scrape are dropped. */
export const WANTED: ReadonlySet<string> = new Set([
  'gw_requests_total',
  'gw_rejections_total',
  'gw_tokens_total',
  'gw_upstream_attempts_total',
  'gw_endpoint_healthy',
  'gw_requests_in_flight',
  'gw_config_revision',
  'gen_ai_server_request_duration_seconds_bucket',
])
const DURATION = 'gen_ai_server_request_duration_seconds_bucket'

/** Computes the traffic from the growth of the counters of `/metrics`. */
export function trafficOfMetrics(grown: readonly Sample[], seconds: number): Traffic {
  const of = (name: string) => grown.filter(sample => sample.name === name)
  const [requests, tokens, attempts, durations] = [
    of('gw_requests_total'),
    of('gw_tokens_total'),
    of('gw_upstream_attempts_total'),
    of(DURATION),
  ]
  const flow = (name: string, label: string, durationLabel: string): Flow => {
    const own = (samples: readonly Sample[], by = label) =>
      samples.filter(({ labels }) => labels[by] === name)
    const ownRequests = own(requests)
    const results = label === 'endpoint' ? sums(own(attempts), 'result') : sums(ownRequests, 'outcome')
    const tried = results.reduce((sum, [, count]) => sum + count, 0)
    const fine = results.reduce((sum, [result, count]) => (isFine(result) ? sum + count : sum), 0)
    return {
      name,
      // A call rejected before dispatch is no load of an endpoint.
      requestsPerSecond: (label === 'endpoint' ? tried : total(ownRequests)) / seconds,
      tokensPerSecond: total(own(tokens)) / seconds,
      ...quantiles(own(durations, durationLabel)),
      failed: tried === 0 ? 0 : 1 - fine / tried,
      results,
    }
  }
  return {
    endpoints: flows(names([...requests, ...attempts], 'endpoint'), name =>
      flow(name, 'endpoint', 'endpoint'),
    ),
    models: flows(names(requests, 'model'), name => flow(name, 'model', 'gen_ai_request_model')),
    requestsPerSecond: total(requests) / seconds,
    tokensPerSecond: total(tokens) / seconds,
  }
}

export function rejectionsOf(
  grown: readonly Sample[],
  all: readonly Sample[],
  seconds: number,
): readonly Rejection[] {
  const perReason = new Map(
    sums(
      grown.filter(({ name }) => name === 'gw_rejections_total'),
      'reason',
    ),
  )
  const totals = sums(
    all.filter(({ name }) => name === 'gw_rejections_total'),
    'reason',
  )
  return totals.map(([reason, count]) => ({
    reason,
    perSecond: seconds === 0 ? 0 : (perReason.get(reason) ?? 0) / seconds,
    total: count,
  }))
}

/** Sums of the store by name, and the last calls, for the latency. */
export interface StoreTraffic {
  readonly byEndpoint: readonly UsageRow[]
  readonly byModel: readonly UsageRow[]
  readonly calls: readonly StoredCall[]
}

/** Computes the traffic from two samples of the store, which has charged or logged calls and no rejections. */
export function trafficOfStore(before: StoreTraffic, after: StoreTraffic, seconds: number): Traffic {
  const grownBy = (
    earlier: readonly UsageRow[],
    later: readonly UsageRow[],
    of: 'endpoint' | 'publication',
  ) => {
    const known = new Map(earlier.map(row => [row.label, row]))
    return new Map(
      later.map((row): [string, Flow] => {
        const was = known.get(row.label)
        const calls = after.calls.filter(call => call[of] === row.label)
        const failed = calls.filter(({ outcome }) => !isFine(outcome)).length
        return [
          row.label,
          {
            name: row.label,
            requestsPerSecond: (row.requests - (was?.requests ?? 0)) / seconds,
            tokensPerSecond: (tokensOf(row) - (was ? tokensOf(was) : 0)) / seconds,
            ...callQuantiles(calls),
            failed: calls.length === 0 ? 0 : failed / calls.length,
            results: [],
          },
        ]
      }),
    )
  }
  const endpoints = grownBy(before.byEndpoint, after.byEndpoint, 'endpoint')
  const models = grownBy(before.byModel, after.byModel, 'publication')
  const sum = (pick: (flow: Flow) => number) =>
    [...models.values()].reduce((all, flow) => all + pick(flow), 0)
  return {
    endpoints,
    models,
    requestsPerSecond: sum(flow => flow.requestsPerSecond),
    tokensPerSecond: sum(flow => flow.tokensPerSecond),
  }
}

export function tokensOf({ inputTokens, outputTokens }: UsageRow): number {
  return inputTokens + outputTokens
}

/** Results that are not a failure of the upstream. */
function isFine(result: string): boolean {
  return result === 'answered' || result === 'client_gone' || result === 'rejected'
}

function total(samples: readonly Sample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0)
}

/** Largest first, without zeros. */
function sums(samples: readonly Sample[], label: string): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const { labels, value } of samples) {
    const name = labels[label] ?? ''
    counts.set(name, (counts.get(name) ?? 0) + value)
  }
  return [...counts].filter(([, count]) => count > 0).toSorted(([, a], [, b]) => b - a)
}

function names(samples: readonly Sample[], label: string): readonly string[] {
  return [...new Set(samples.map(({ labels }) => labels[label] ?? ''))].filter(name => name !== '')
}

function flows(all: readonly string[], make: (name: string) => Flow): ReadonlyMap<string, Flow> {
  return new Map(all.map(name => [name, make(name)]))
}

function quantiles(buckets: readonly Sample[]): { p50Ms?: number; p95Ms?: number } {
  const [p50, p95] = [quantile(0.5, buckets), quantile(0.95, buckets)]
  return {
    ...(p50 !== undefined && { p50Ms: p50 * 1_000 }),
    ...(p95 !== undefined && { p95Ms: p95 * 1_000 }),
  }
}

function callQuantiles(calls: readonly StoredCall[]): { p50Ms?: number; p95Ms?: number } {
  const sorted = calls.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
  const [p50Ms, p95Ms] = [at(0.5), at(0.95)]
  return { ...(p50Ms !== undefined && { p50Ms }), ...(p95Ms !== undefined && { p95Ms }) }
}
