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
import { NO_NODES, NodeTargets } from '../nodes.ts'
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
  /** Of endpoints that were removed or changed, for the requests that began before. */
  readonly #former = new WeakMap<EndpointEntry, EndpointState>()
  #endpoints: Snapshot['endpoints'] = new Map()
  #settings = DEFAULTS
  /** Called when an endpoint has become unhealthy or healthy. */
  onChange: (state: EndpointState) => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get settings(): HealthSettings {
    return this.#settings
  }

  /**
   * The state of an endpoint of the current snapshot, or of the snapshot of an older request: then nothing is probed, and the
   * current endpoint of that name does not hear of it.
   */
  of(endpoint: EndpointEntry): EndpointState {
    const known = this.#states.get(stateKey(endpoint))
    if (known && (known.endpoint === endpoint || isSameUpstream(known.endpoint, endpoint))) return known
    const current = this.#endpoints.get(endpoint.name)
    const isFormer = !current || !isSameUpstream(current, endpoint)
    if (!isFormer) return this.#enlist(endpoint, known)
    let former = this.#former.get(endpoint)
    if (!former) {
      former = this.#stateOf(endpoint, known)
      this.#former.set(endpoint, former)
    }
    return former
  }

  #enlist(endpoint: EndpointEntry, before: EndpointState | undefined): EndpointState {
    const state = this.#stateOf(endpoint, before)
    this.#states.set(stateKey(endpoint), state)
    return state
  }

  /** @param before of the same name: the same server still works on its requests. */
  #stateOf(endpoint: EndpointEntry, before: EndpointState | undefined): EndpointState {
    const isSameServer =
      before?.endpoint.origin === endpoint.origin && before.endpoint.basePath === endpoint.basePath
    return new EndpointState(
      endpoint,
      {
        clock: this.#clock,
        settings: () => this.#settings,
        onChange: changed => {
          if (this.#states.get(stateKey(endpoint)) === changed) this.onChange(changed)
        },
      },
      isSameServer ? before.load : undefined,
    )
  }

  /** Discards the states of a node that is gone: it begins anew when it is back. @returns them. */
  forgetNode(node: string): readonly EndpointState[] {
    const forgotten = [...this.#states].filter(([, { endpoint }]) => endpoint.node === node)
    for (const [key] of forgotten) this.#states.delete(key)
    return forgotten.map(([, state]) => state)
  }

  /** @returns the discarded states: their endpoints were removed or changed. */
  adopt(snapshot: Snapshot): readonly EndpointState[] {
    this.#settings = snapshot.health
    this.#endpoints = snapshot.endpoints
    const forgotten: EndpointState[] = []
    for (const [key, state] of this.#states) {
      const now = snapshot.endpoints.get(state.endpoint.name)
      const { node } = state.endpoint
      if (now && isSameUpstream(now, state.endpoint)) {
        // What does not decide about its health, such as timeouts, is that of now.
        state.endpoint = node === undefined ? now : { ...now, node }
        continue
      }
      this.#states.delete(key)
      this.#former.set(state.endpoint, state)
      forgotten.push(state)
      if (now && node === undefined) this.#enlist(now, state)
    }
    for (const endpoint of snapshot.endpoints.values()) this.of(endpoint)
    return forgotten
  }

  counts(): EndpointCounts {
    const counts = { healthy: 0, unhealthy: 0, unknown: 0 }
    const enabled = [...this.#states.values()].filter(({ endpoint }) => endpoint.enabled && !endpoint.nodes)
    for (const { state } of enabled) counts[state]++
    const onNodes = this.report().filter(({ endpoint }) => {
      const base = this.#states.get(endpoint)?.endpoint
      return base?.nodes && base.enabled
    })
    for (const { state } of onNodes) counts[state]++
    return counts
  }

  /** The health of every endpoint, sorted by name. Of one on nodes, that of its best node. */
  report(): readonly EndpointHealth[] {
    const byName = new Map<string, EndpointHealth>()
    for (const state of this.#states.values()) {
      const { endpoint } = state
      const other = byName.get(endpoint.name)
      const own = state.report()
      if (!endpoint.nodes) byName.set(endpoint.name, own)
      else if (!other) byName.set(endpoint.name, withoutNode(own))
      else byName.set(endpoint.name, better(other, own))
    }
    return [...byName.values()].sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1))
  }

  /** The health of every endpoint on each of its nodes. */
  reportNodes(): readonly EndpointHealth[] {
    return [...this.#states.values()]
      .filter(({ endpoint }) => endpoint.node !== undefined)
      .map(state => state.report())
  }
}

function withoutNode({ node: _node, ...health }: EndpointHealth): EndpointHealth {
  return health
}

const RANK = { healthy: 0, unhealthy: 1, unknown: 2 } as const

function better(one: EndpointHealth, other: EndpointHealth): EndpointHealth {
  const best = RANK[other.state] < RANK[one.state] ? other : one
  return { ...withoutNode(best), inFlight: one.inFlight + other.inFlight }
}

/** Names contain no spaces. */
function stateKey({ name, node }: EndpointEntry): string {
  return node === undefined ? name : `${name} ${node}`
}

/** Whether two entries send equal requests to the same upstream, so that the health of one is valid for the other. */
function isSameUpstream(a: EndpointEntry, b: EndpointEntry): boolean {
  return (
    a.protocol === b.protocol &&
    a.origin === b.origin &&
    a.basePath === b.basePath &&
    a.servedModel === b.servedModel &&
    a.enabled === b.enabled &&
    a.skipProbe === b.skipProbe &&
    a.proxy === b.proxy &&
    a.tls?.id === b.tls?.id &&
    isSameChoice(a.nodes, b.nodes) &&
    (a.headers === b.headers ||
      (a.headers.length === b.headers.length && a.headers.every((text, index) => text === b.headers[index])))
  )
}

/** Nodes that no longer fit have no entries any more: only the engine matters. */
function isSameChoice(a: EndpointEntry['nodes'], b: EndpointEntry['nodes']): boolean {
  return a?.engine === b?.engine
}

/** Limit of named models; the others are counted. */
const MAX_NAMED = 10

/**
 * The listed models whose endpoints are all unhealthy, each as `code: sentence`. A model that is available on one
 * protocol only is listed with the other, and one that is available on other paths with the path.
 */
export function unserved(
  snapshot: Snapshot,
  health: HealthRegistry,
  nodes: NodeTargets = new NodeTargets(NO_NODES),
): readonly string[] {
  const mayBeDead =
    health.report().some(({ state }) => state === 'unhealthy') ||
    [...snapshot.endpoints.values()].some(endpoint => endpoint.nodes)
  if (!mayBeDead) return []
  const dead = [...snapshot.publications.values()]
    .filter(({ status }) => status === 'listed')
    .flatMap(publication =>
      deadAt(publication, health, nodes).map(place =>
        healthReason('no_healthy_endpoint', `no endpoint of ${publication.name} (${place}) is healthy`),
      ),
    )
  const named = dead.slice(0, MAX_NAMED)
  if (dead.length > named.length)
    named.push(healthReason('no_healthy_endpoint', `and ${dead.length - named.length} more`))
  return named
}

/** The protocols without a healthy endpoint, and such paths of the other protocols. */
function deadAt(
  { targets, restricted }: PublicationEntry,
  health: HealthRegistry,
  nodes: NodeTargets,
): readonly string[] {
  const isDead = (bound: readonly Target[]) => noneIsHealthy(nodes.expand(bound), health)
  const protocols = PROTOCOLS.filter(protocol => isDead(targets[protocol]))
  const paths = [...(restricted ?? [])].filter(
    ([path, serving]) => !protocols.includes(protocolOfPath(path)) && isDead(serving),
  )
  return [...protocols, ...paths.map(([path]) => path)]
}

function noneIsHealthy(targets: readonly Target[], health: HealthRegistry): boolean {
  const candidates = targets.filter(({ weight, endpoint }) => weight > 0 && endpoint.enabled)
  const hasNode = ({ nodes, node }: EndpointEntry) => !nodes || node !== undefined
  return (
    candidates.length > 0 &&
    candidates.every(({ endpoint }) => !hasNode(endpoint) || !health.of(endpoint).healthy)
  )
}
