import { iso } from '../../base/iso.ts'
import { pluralize } from '../../base/pluralize.ts'
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

/** A hint about endpoints without any answer or failure yet; undefined if there are none. */
export function unansweredText(endpoints: number): string | undefined {
  if (endpoints === 0) return undefined
  const have = endpoints === 1 ? 'has' : 'have'
  return `${pluralize(endpoints, 'endpoint')} ${have} not answered yet: \`gw probe\` tests them.`
}
