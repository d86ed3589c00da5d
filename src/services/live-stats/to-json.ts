import { iso } from '../../base/iso.ts'
import type { EndpointLiveStats, GatewayLiveStats } from './types.ts'

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
