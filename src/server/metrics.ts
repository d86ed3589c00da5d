import { codeOfReason } from '../base/catalogue/health.ts'
import type { Clock } from '../base/clock.ts'
import { digestOf, type MetricsPort } from '../gateway/metrics.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Metrics } from '../metering/metrics/metrics.ts'
import { type MeteredPath, OPERATIONS } from '../metering/metrics/series.ts'
import type { NodeEndpointFigures, NodeFigures } from '../metering/metrics/state.ts'
import { Traffic } from '../metering/metrics/traffic.ts'
import type { RequestMeter } from '../metering/request-log.ts'
import { INFERENCE_PATHS, STORED_PREFIX } from '../schema/paths.ts'
import type { GatewayCounters } from '../services/live-stats/counters.ts'
import type { SnapshotHolder } from '../snapshot/holder.ts'
import type { Snapshot } from '../snapshot/types.ts'
import type { Ledger } from '../store/ledger/types.ts'
import type { EndpointHealth } from '../upstream/routing/endpoint-state.ts'
import type { ServeOptions } from './serving.ts'

export interface GatewayMetricsPorts {
  readonly clock: Clock
  readonly holder: SnapshotHolder
  readonly limiter: Limiter
  readonly ledger: Ledger
  /** Health of every endpoint that was used or probed. */
  readonly health: () => readonly { readonly endpoint: string; readonly state: string }[]
  readonly connections: () => number
  /** Of `/health`, each as `code: sentence`. */
  readonly reasons: () => readonly string[]
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

/** The counters of a gateway, and its `/metrics` if there is a token. */
export class GatewayMetrics {
  /** Absent: `/metrics` does not exist. */
  readonly port: MetricsPort | undefined
  readonly #traffic: Traffic
  readonly #metrics: Metrics | undefined
  readonly #endpoints: () => GatewayCounters['endpoints']

  private constructor(
    traffic: Traffic,
    endpoints: () => GatewayCounters['endpoints'],
    shown?: { readonly metrics: Metrics; readonly token: string },
  ) {
    this.#traffic = traffic
    this.#endpoints = endpoints
    this.#metrics = shown?.metrics
    this.port = shown && { tokenDigest: digestOf(shown.token), scrape: () => shown.metrics.scrape() }
  }

  /** @param options absent, or with an empty or blank token: scrapes are rejected. */
  static async open(
    options: ServeOptions['metrics'],
    { clock, holder, limiter, ledger, health, reasons, connections, nodes, nodeHealth }: GatewayMetricsPorts,
  ): Promise<GatewayMetrics> {
    const traffic = new Traffic(PATHS)
    const endpoints = () => healthOf(holder.current(), health())
    const token = options?.token.trim()
    if (!options || !token) return new GatewayMetrics(traffic, endpoints)
    // Loaded only if enabled: prom-client takes 30 ms of the start.
    const { Metrics } = await import('../metering/metrics/metrics.ts')
    const sources = {
      ledger,
      holds: () => limiter.held(),
      config: () => holder.report(),
      reasons: () => reasons().map(codeOfReason),
      endpoints,
      connections,
      nodes,
      nodeEndpoints: () => nodeHealth().map(toFigures),
      version: options.version,
    }
    const metrics = new Metrics({ traffic, clock, host: process, sources })
    return new GatewayMetrics(traffic, endpoints, { metrics, token })
  }

  get requests(): RequestMeter {
    return this.#traffic
  }

  /** The counters for live statistics. */
  counters(): GatewayCounters {
    return { ...this.#traffic.counters(), endpoints: this.#endpoints() }
  }

  /** Called when the snapshot is served. */
  adopt(snapshot: Snapshot): void {
    this.#traffic.retain(snapshot)
  }

  close(): void {
    this.#metrics?.close()
  }
}

function toFigures({ endpoint, node = '', state, inFlight }: EndpointHealth): NodeEndpointFigures {
  return { endpoint, node, healthy: state === 'unknown' ? undefined : state === 'healthy', inFlight }
}

/** The enabled endpoints; without those that have neither answered nor failed. */
function healthOf(
  snapshot: Snapshot | undefined,
  known: ReturnType<GatewayMetricsPorts['health']>,
): readonly (readonly [name: string, healthy: boolean])[] {
  return known.flatMap(({ endpoint, state }) =>
    state !== 'unknown' && snapshot?.endpoints.get(endpoint)?.enabled
      ? [[endpoint, state === 'healthy']]
      : [],
  )
}
