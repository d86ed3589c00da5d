import { figure, latencyText } from '../app/pulse/figures.ts'
import type { EndpointPulse, Flow, Pulse } from '../app/pulse/types.ts'
import type { Json } from '../schema/kinds.ts'
import { printable } from './style.ts'

/** A look as one line, for where no screen is. */
export function pulseLine({ atMs, gateways, endpoints, total, storeRevision }: Pulse): string {
  const states = [...new Set(gateways.map(({ state }) => state))].join(',')
  const ill = endpoints.filter(({ state }) => state === 'unhealthy').map(({ name }) => name)
  const { requestsPerSecond, tokensPerSecond, inFlight, refusedPerSecond } = total
  const parts = [
    new Date(atMs).toISOString(),
    `revision ${storeRevision ?? gateways[0]?.revision ?? '-'}`,
    states || 'no gateway',
    `${figure(requestsPerSecond)} req/s`,
    `${figure(tokensPerSecond)} tok/s`,
    `${figure(inFlight)} open`,
    ...(refusedPerSecond === undefined ? [] : [`${figure(refusedPerSecond)} refused/s`]),
    ...slowest(endpoints),
    ...(ill.length === 0 ? [] : [`unhealthy: ${ill.join(', ')}`]),
  ]
  return `${printable(parts.join('  '))}\n`
}

function slowest(flows: readonly Flow[]): readonly string[] {
  const p95 = Math.max(0, ...flows.map(({ p95Ms }) => p95Ms ?? 0))
  return p95 === 0 ? [] : [`p95 ${latencyText(p95)}`]
}

export function pulseToJson(pulse: Pulse): { readonly [member: string]: Json } {
  const { atMs, seconds, storeRevision, gateways, endpoints, models, refusals, keys, total, remarks } = pulse
  return {
    at: new Date(atMs).toISOString(),
    seconds: rounded(seconds),
    store_revision: storeRevision ?? null,
    total: {
      requests_per_second: rounded(total.requestsPerSecond),
      tokens_per_second: rounded(total.tokensPerSecond),
      in_flight: total.inFlight,
      refused_per_second: total.refusedPerSecond === undefined ? null : rounded(total.refusedPerSecond),
    },
    gateways: gateways.map(
      ({ name, url, version, state, revision, isBehind, inFlight, reasons, startedAtMs }) => ({
        name,
        url: url ?? null,
        version: version ?? null,
        started_at: startedAtMs === undefined ? null : new Date(startedAtMs).toISOString(),
        state,
        revision,
        behind: isBehind,
        in_flight: inFlight,
        reasons: [...reasons],
      }),
    ),
    endpoints: endpoints.map(endpoint => ({ ...endpointToJson(endpoint), ...flowToJson(endpoint) })),
    unanswered: pulse.unanswered,
    models: models.map(flowToJson),
    refusals:
      refusals?.map(({ reason, perSecond, total: count }) => ({
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
    remarks: [...remarks],
  }
}

export function endpointToJson({ name, state, sinceMs, reason }: EndpointPulse) {
  return {
    name,
    state,
    since: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
    reason: reason ?? null,
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
