import type { Clock } from '../base/clock.ts'
import { digestOf, type MetricsPort } from '../gateway/metrics.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Metrics } from '../metering/metrics/metrics.ts'
import { type MeteredPath, OPERATIONS } from '../metering/metrics/series.ts'
import type { NodeEndpointFigures, NodeFigures } from '../metering/metrics/state.ts'
import type { RequestMeter } from '../metering/request-log.ts'
import { INFERENCE_PATHS, STORED_PREFIX } from '../schema/paths.ts'
import type { SnapshotHolder } from '../snapshot/holder.ts'
import type { Snapshot } from '../snapshot/types.ts'
import type { Ledger } from '../store/ledger/types.ts'
import type { EndpointHealth } from '../upstream/routing/endpoint-state.ts'

export interface MeasuredPorts {
  readonly clock: Clock
  readonly holder: SnapshotHolder
  readonly limiter: Limiter
  readonly ledger: Ledger
  /** Health of every endpoint that was used or probed. */
  readonly health: () => readonly { readonly endpoint: string; readonly state: string }[]
  readonly connections: () => number
  readonly nodes: () => Iterable<NodeFigures>
  /** Health of every endpoint on each of its nodes. */
  readonly nodeHealth: () => readonly EndpointHealth[]
}

/** The paths used as labels; every other path is `other`. */
const PATHS: readonly MeteredPath[] = [
  ...INFERENCE_PATHS.map(({ path, protocol, dialect }) => ({
    path,
    protocol,
    operation: dialect ? OPERATIONS[dialect] : 'count_tokens',
  })),
  { path: `${STORED_PREFIX.path}{id}`, protocol: '' },
  { path: '/v1/models', protocol: '' },
  { path: '/v1/models/{id}', protocol: '' },
  { path: '/metrics', protocol: '' },
]

/** The metrics of a gateway. */
export class Measured {
  readonly port: MetricsPort
  readonly #metrics: Metrics

  private constructor(metrics: Metrics, token: string) {
    this.#metrics = metrics
    this.port = { tokenDigest: digestOf(token), scrape: () => metrics.scrape() }
  }

  /** @returns undefined if the token is empty or blank: then scrapes are rejected, and nothing is measured. */
  static async open(
    { token, version }: { readonly token: string; readonly version: string },
    { clock, holder, limiter, ledger, health, connections, nodes, nodeHealth }: MeasuredPorts,
  ): Promise<Measured | undefined> {
    if (token.trim() === '') return undefined
    // Loaded only if enabled: the import takes some milliseconds of the start.
    const { Metrics } = await import('../metering/metrics/metrics.ts')
    const sources = {
      ledger,
      holds: () => limiter.held(),
      config: () => holder.report(),
      endpoints: () => healthOf(holder.current(), health()),
      connections,
      nodes,
      nodeEndpoints: () => nodeHealth().map(toFigures),
      version,
    }
    return new Measured(new Metrics({ paths: PATHS, clock, host: process, sources }), token.trim())
  }

  get requests(): RequestMeter {
    return this.#metrics.requests
  }

  /** Called when the snapshot is served. */
  adopt(snapshot: Snapshot): void {
    this.#metrics.retain(snapshot)
  }

  close(): void {
    this.#metrics.close()
  }
}

function toFigures({ endpoint, node = '', state, inFlight }: EndpointHealth): NodeEndpointFigures {
  return { endpoint, node, healthy: state === 'unknown' ? undefined : state === 'healthy', inFlight }
}

/** The enabled endpoints; without those that have neither answered nor failed. */
function healthOf(
  snapshot: Snapshot | undefined,
  known: ReturnType<MeasuredPorts['health']>,
): readonly (readonly [name: string, healthy: boolean])[] {
  return known.flatMap(({ endpoint, state }) =>
    state !== 'unknown' && snapshot?.endpoints.get(endpoint)?.enabled
      ? [[endpoint, state === 'healthy']]
      : [],
  )
}
