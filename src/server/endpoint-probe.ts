import type { Clock } from '../base/clock.ts'
import { environmentProxies } from '../base/proxies.ts'
import type { ProbeOrder } from '../services/changes/types.ts'
import type { EndpointContext } from '../services/endpoints.ts'
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
 * @param options `credential`: the credential set in this request, if the endpoint uses a stored one.
 */
export function probeEndpoints(
  orders: readonly ProbeOrder[],
  { credential, findsPaths = false, listsModels = false }: Parameters<EndpointContext['probe']>[1],
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
    findsPaths,
    listsModels,
    timeoutMs: PROBE_TIMEOUT_MS,
    onProgress: () => undefined,
  })
}
