import type { Clock } from '../base/clock.ts'
import { environmentProxies } from '../base/proxies.ts'
import type { ProbeOrder } from '../services/changes/types.ts'
import type { ProbeVerdict } from '../services/endpoints.ts'
import { type ProbeRow, probeRound } from '../services/probe-round.ts'
import { findSecret, type SecretPorts } from '../services/secrets.ts'
import type { Store } from '../store/types.ts'
import { httpProbe } from '../upstream/probe/http-probe.ts'

const PROBE_TIMEOUT_MS = 10_000

export interface EndpointProbePorts extends SecretPorts {
  readonly clock: Clock
  readonly store: Store
  readonly signal: AbortSignal
}

/**
 * Probes each model of the orders.
 * @param credential the credential set in this request, if the endpoint uses a stored one.
 */
export function probeEndpoints(
  orders: readonly ProbeOrder[],
  credential: string | undefined,
  ports: EndpointProbePorts,
): Promise<ProbeRow[]> {
  return probeRound(orders, {
    secretOf: async source => {
      if (!('kept' in source)) return findSecret(source, [], ports)
      return credential ?? findSecret(source, await ports.store.kept(), ports)
    },
    signal: ports.signal,
    proxies: environmentProxies(ports.environment),
    probe: httpProbe({ clock: ports.clock }),
    timeoutMs: PROBE_TIMEOUT_MS,
    onProgress: () => undefined,
  })
}

/** Probes one endpoint. Returns the first failure, or the latency of the first model. */
export async function probeEndpoint(
  order: ProbeOrder,
  credential: string | undefined,
  ports: EndpointProbePorts,
): Promise<ProbeVerdict> {
  const rows = await probeEndpoints([order], credential, ports)
  const failed = rows.find(row => row.state === 'failed')
  if (failed) {
    const { cause, hint } = failed.diagnosis
    return { ok: false, cause, hint, ...latencyOf(failed) }
  }
  const [first] = rows
  return { ok: true, ...(first && latencyOf(first)) }
}

function latencyOf(row: ProbeRow): { latencyMs?: number } {
  return 'latencyMs' in row && row.latencyMs !== undefined ? { latencyMs: row.latencyMs } : {}
}
