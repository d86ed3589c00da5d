import { iso } from '../../base/iso.ts'
import { pluralize } from '../../base/pluralize.ts'
import type { Json } from '../../schema/kinds.ts'
import { endpointToJson, gatewayToJson } from '../../services/live-stats/to-json.ts'
import type { Flow, LiveStats } from '../../services/live-stats/types.ts'
import { figure, latencyText } from './figures.ts'
import { printable } from './style.ts'

/** A sample as one line, for output without a screen. */
export function liveStatsLine({ atMs, gateways, endpoints, total, storeRevision }: LiveStats): string {
  const states = [...new Set(gateways.map(({ state }) => state))].join(',')
  const unhealthy = endpoints.filter(({ state }) => state === 'unhealthy').map(({ name }) => name)
  const { requestsPerSecond, tokensPerSecond, inFlight, rejectedPerSecond } = total
  const parts = [
    iso(atMs),
    `revision ${storeRevision ?? gateways[0]?.revision ?? '-'}`,
    states || 'no gateway',
    `${figure(requestsPerSecond)} req/s`,
    `${figure(tokensPerSecond)} tok/s`,
    `${figure(inFlight)} open`,
    ...(rejectedPerSecond === undefined ? [] : [`${figure(rejectedPerSecond)} rejected/s`]),
    ...slowest(endpoints),
    ...(unhealthy.length === 0 ? [] : [`unhealthy: ${unhealthy.join(', ')}`]),
  ]
  return `${printable(parts.join('  '))}\n`
}

function slowest(flows: readonly Flow[]): readonly string[] {
  const p95 = Math.max(0, ...flows.map(({ p95Ms }) => p95Ms ?? 0))
  return p95 === 0 ? [] : [`p95 ${latencyText(p95)}`]
}

export function liveStatsToJson(liveStats: LiveStats): { readonly [member: string]: Json } {
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

/** A hint about endpoints without any answer or failure yet; undefined if there are none. */
export function unansweredText(endpoints: number): string | undefined {
  if (endpoints === 0) return undefined
  const have = endpoints === 1 ? 'has' : 'have'
  return `${pluralize(endpoints, 'endpoint')} ${have} not answered yet: \`gw probe\` tests them.`
}
