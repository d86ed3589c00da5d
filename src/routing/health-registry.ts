import type { Clock } from '../base/clock.ts'
import type { EndpointEntry, HealthSettings, Snapshot } from '../snapshot/types.ts'
import { type EndpointHealth, EndpointState } from './endpoint-state.ts'

const DEFAULTS: HealthSettings = { unhealthyAfter: 3, probeMinMs: 5_000, probeMaxMs: 120_000 }

/** Endpoints that are enabled, by what is known of them. */
export interface EndpointCounts {
  readonly healthy: number
  readonly unhealthy: number
  /** None of them has answered or failed yet. */
  readonly unknown: number
}

/**
 * The health of every endpoint, outside the snapshot: a reload keeps what is known of an endpoint, unless it leads
 * elsewhere or asks differently from then on.
 */
export class HealthRegistry {
  readonly #clock: Clock
  readonly #states = new Map<string, EndpointState>()
  #settings = DEFAULTS
  /** Told of each endpoint that has become unhealthy or well again. */
  onTurn: (state: EndpointState) => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get settings(): HealthSettings {
    return this.#settings
  }

  /** The state of an endpoint of the snapshot at hand, or of one that a request began with. */
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

  /** @returns the states that are forgotten: their endpoints are gone, or are others now. */
  adopt(snapshot: Snapshot): readonly EndpointState[] {
    this.#settings = snapshot.health
    const forgotten: EndpointState[] = []
    for (const state of this.#states.values()) {
      const now = snapshot.endpoints.get(state.endpoint.name)
      if (now && asksAlike(now, state.endpoint)) continue
      this.#states.delete(state.endpoint.name)
      forgotten.push(state)
    }
    for (const endpoint of snapshot.endpoints.values()) this.of(endpoint)
    return forgotten
  }

  /** How many of the enabled endpoints are how. */
  counts(): EndpointCounts {
    const counts = { healthy: 0, unhealthy: 0, unknown: 0 }
    for (const state of this.#states.values()) if (state.endpoint.enabled) counts[state.state]++
    return counts
  }

  /** Of every endpoint, by name. */
  report(): readonly EndpointHealth[] {
    return [...this.#states.values()]
      .map(state => state.report())
      .sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1))
  }
}

/** Whether what was learned of one endpoint holds for the other: the same place, asked in the same way. */
function asksAlike(a: EndpointEntry, b: EndpointEntry): boolean {
  return (
    a.protocol === b.protocol &&
    a.origin === b.origin &&
    a.basePath === b.basePath &&
    a.servedModel === b.servedModel &&
    a.enabled === b.enabled &&
    a.proxy === b.proxy &&
    a.headers.length === b.headers.length &&
    a.headers.every((text, index) => text === b.headers[index])
  )
}
