import { healthReason } from '../../base/catalogue/health.ts'
import type { Clock } from '../../base/clock.ts'
import { protocolOfPath } from '../../schema/paths.ts'
import { PROTOCOLS } from '../../schema/protocol.ts'
import type {
  EndpointEntry,
  HealthSettings,
  PublicationEntry,
  Snapshot,
  Target,
} from '../../snapshot/types.ts'
import { type EndpointHealth, EndpointState } from './endpoint-state.ts'

const DEFAULTS: HealthSettings = { unhealthyAfter: 3, probeMinMs: 5_000, probeMaxMs: 120_000 }

/** Numbers of enabled endpoints by state. */
export interface EndpointCounts {
  readonly healthy: number
  readonly unhealthy: number
  /** Not used yet. */
  readonly unknown: number
}

/**
 * The health of every endpoint. It is outside of the snapshot, so that a reload keeps the state of an endpoint, unless
 * its address, model or headers change.
 */
export class HealthRegistry {
  readonly #clock: Clock
  readonly #states = new Map<string, EndpointState>()
  #settings = DEFAULTS
  /** Called when an endpoint has become unhealthy or healthy. */
  onTurn: (state: EndpointState) => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get settings(): HealthSettings {
    return this.#settings
  }

  /** The state of an endpoint of the current snapshot, or of the snapshot of an older request. */
  of(endpoint: EndpointEntry): EndpointState {
    const known = this.#states.get(endpoint.name)
    if (known) return known
    const state = new EndpointState(endpoint, {
      clock: this.#clock,
      settings: () => this.#settings,
      onTurn: turned => this.onTurn(turned),
    })
    this.#states.set(endpoint.name, state)
    return state
  }

  /** @returns the discarded states: their endpoints were removed or changed. */
  adopt(snapshot: Snapshot): readonly EndpointState[] {
    this.#settings = snapshot.health
    const forgotten: EndpointState[] = []
    for (const state of this.#states.values()) {
      const now = snapshot.endpoints.get(state.endpoint.name)
      if (now && isSameUpstream(now, state.endpoint)) continue
      this.#states.delete(state.endpoint.name)
      forgotten.push(state)
    }
    for (const endpoint of snapshot.endpoints.values()) this.of(endpoint)
    return forgotten
  }

  counts(): EndpointCounts {
    const counts = { healthy: 0, unhealthy: 0, unknown: 0 }
    for (const state of this.#states.values()) if (state.endpoint.enabled) counts[state.state]++
    return counts
  }

  /** The health of every endpoint, sorted by name. */
  report(): readonly EndpointHealth[] {
    return [...this.#states.values()]
      .map(state => state.report())
      .sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1))
  }
}

/** Whether two entries send equal requests to the same upstream, so that the health of one is valid for the other. */
function isSameUpstream(a: EndpointEntry, b: EndpointEntry): boolean {
  return (
    a.protocol === b.protocol &&
    a.origin === b.origin &&
    a.basePath === b.basePath &&
    a.servedModel === b.servedModel &&
    a.enabled === b.enabled &&
    a.proxy === b.proxy &&
    a.tls?.id === b.tls?.id &&
    a.headers.length === b.headers.length &&
    a.headers.every((text, index) => text === b.headers[index])
  )
}

/** Limit of named models; the others are counted. */
const MAX_NAMED = 10

/**
 * The listed models whose endpoints are all unhealthy, each as `code: sentence`. A model that is available on one
 * protocol only is listed with the other, and one that is available on other paths with the path.
 */
export function unserved(snapshot: Snapshot, health: HealthRegistry): readonly string[] {
  if (!health.report().some(({ state }) => state === 'unhealthy')) return []
  const dead = [...snapshot.publications.values()]
    .filter(({ status }) => status === 'listed')
    .flatMap(publication =>
      deadAt(publication, health).map(place =>
        healthReason('no_healthy_endpoint', `no endpoint of ${publication.name} (${place}) is healthy`),
      ),
    )
  const named = dead.slice(0, MAX_NAMED)
  if (dead.length > named.length)
    named.push(healthReason('no_healthy_endpoint', `and ${dead.length - named.length} more`))
  return named
}

/** The protocols without a healthy endpoint, and such paths of the other protocols. */
function deadAt({ targets, restricted }: PublicationEntry, health: HealthRegistry): readonly string[] {
  const protocols = PROTOCOLS.filter(protocol => isDead(targets[protocol], health))
  const paths = [...(restricted ?? [])].filter(
    ([path, serving]) => !protocols.includes(protocolOfPath(path)) && isDead(serving, health),
  )
  return [...protocols, ...paths.map(([path]) => path)]
}

function isDead(targets: readonly Target[], health: HealthRegistry): boolean {
  const candidates = targets.filter(({ weight, endpoint }) => weight > 0 && endpoint.enabled)
  return candidates.length > 0 && candidates.every(({ endpoint }) => !health.of(endpoint).healthy)
}
