import { iso } from '../../base/iso.ts'
import type { OperationOf } from '../../schema/api/operations.ts'
import type { AnswerOf } from '../../schema/api/types.ts'
import type { EndpointLiveStats, Flow, GatewayLiveStats, LiveStats } from './types.ts'

/** The document of live statistics. */
export type LiveStatsShown = AnswerOf<OperationOf<'get_pulse'>>

export function gatewayToJson(gateway: GatewayLiveStats) {
  const { name, url, version, startedAtMs, state, revision, isBehind, inFlight, reasons } = gateway
  return {
    name,
    url: url ?? null,
    version: version ?? null,
    started_at: startedAtMs === undefined ? null : iso(startedAtMs),
    state,
    revision,
    behind: isBehind,
    in_flight: inFlight,
    reasons: [...reasons],
  }
}

export function endpointToJson({ name, state, sinceMs, reason }: EndpointLiveStats) {
  return { name, state, since: sinceMs === undefined ? null : iso(sinceMs), reason: reason ?? null }
}

export function liveStatsToJson(liveStats: LiveStats): LiveStatsShown {
  const { atMs, seconds, storeRevision, gateways, endpoints, models, rejections, keys, total, notes } =
    liveStats
  return {
    at: iso(atMs),
    seconds: rounded(seconds),
    store_revision: storeRevision ?? null,
    total: {
      requests_per_second: rounded(total.requestsPerSecond),
      tokens_per_second: rounded(total.tokensPerSecond),
      in_flight: total.inFlight,
      rejected_per_second: total.rejectedPerSecond === undefined ? null : rounded(total.rejectedPerSecond),
    },
    gateways: gateways.map(gatewayToJson),
    endpoints: endpoints.map(endpoint => ({ ...endpointToJson(endpoint), ...flowToJson(endpoint) })),
    unanswered: liveStats.unanswered,
    models: models.map(flowToJson),
    rejections:
      rejections?.map(({ reason, perSecond, total: count }) => ({
        reason,
        per_second: rounded(perSecond),
        total: count,
      })) ?? null,
    keys: keys.map(({ name, tenant, requestsPerSecond, tokensPerSecond, limits }) => ({
      name,
      tenant: tenant ?? null,
      requests_per_second: rounded(requestsPerSecond),
      tokens_per_second: rounded(tokensPerSecond),
      limits: limits.map(({ limit, used, of, share }) => ({ limit, used, of, share: rounded(share) })),
    })),
    notes: [...notes],
  }
}

function flowToJson({ name, requestsPerSecond, tokensPerSecond, p50Ms, p95Ms, failed, results }: Flow) {
  return {
    name,
    requests_per_second: rounded(requestsPerSecond),
    tokens_per_second: rounded(tokensPerSecond),
    p50_ms: p50Ms === undefined ? null : rounded(p50Ms),
    p95_ms: p95Ms === undefined ? null : rounded(p95Ms),
    failed: rounded(failed),
    results: Object.fromEntries(results),
  }
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
