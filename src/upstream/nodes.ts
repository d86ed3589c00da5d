import type { OnReadOpts, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { buildConnector } from 'undici'
import { asError } from '../base/as-error.ts'
import type { EndpointEntry, NodeChoice, NodeEntry, Snapshot, Target } from '../snapshot/types.ts'

/** Why a connected node gets no new calls for an engine. */
export type NodeObstacle =
  /** No node of the endpoint is connected. */
  | 'no_node'
  /** Nothing was received from the node for 15 seconds. */
  | 'silent'
  /** The node, or an administrator, lets its calls end and takes no new ones. */
  | 'draining'
  /** The node does not offer the engine now. */
  | 'engine_down'
  /** The cache of the engine is full, and requests wait. */
  | 'busy'

/** A node that may serve endpoints. */
export interface ConnectedNode {
  readonly name: string
  readonly labels: ReadonlyMap<string, string>
  /** The engines that may be used; undefined: all that it offers. */
  readonly engines: ReadonlySet<string> | undefined
}

/** The nodes that are connected to this process. */
export interface NodeDirectory {
  /** Changes whenever {@link all} does. */
  readonly version: number
  readonly all: readonly ConnectedNode[]
  obstacle(node: string, engine: string): NodeObstacle | undefined
  /** Requests that wait in the engine, beside those in flight. */
  waiting(node: string, engine: string): number
  /**
   * A stream to an engine.
   *
   * @throws if the node is not connected, or takes no streams
   */
  open(node: string, engine: string, onread?: OnReadOpts): Duplex
}

/** A process without nodes. */
export const NO_NODES: NodeDirectory = {
  version: 0,
  all: [],
  obstacle: () => 'no_node',
  waiting: () => 0,
  open: () => {
    throw new Error('this process has no nodes')
  },
}

/** Whether some endpoint is on nodes. */
export function usesNodes({ endpoints }: Pick<Snapshot, 'endpoints'>): boolean {
  return [...endpoints.values()].some(({ nodes }) => nodes !== undefined)
}

/** Every declared node, as if it was connected and offered every engine: for decisions without a gateway. */
export function declaredNodes({ nodes }: Pick<Snapshot, 'nodes'>): NodeDirectory {
  return { ...NO_NODES, all: [...nodes.values()], obstacle: () => undefined }
}

/** Whether an endpoint may use a node. */
export function choosesNode({ labels, names, engine }: NodeChoice, node: ConnectedNode | NodeEntry): boolean {
  if (names && !names.has(node.name)) return false
  if (node.engines && !node.engines.has(engine)) return false
  return labels.every(([label, value]) => node.labels.get(label) === value)
}

/**
 * Replaces each target on nodes by one for each of its nodes, which share its weight. A target without a connected node
 * remains as it is, with the obstacle `no_node`.
 *
 * The result is kept until the nodes change: requests do not pay for it.
 */
export class NodeTargets {
  readonly nodes: NodeDirectory
  #version = -1
  #byTarget = new WeakMap<Target, readonly Target[]>()
  #byList = new WeakMap<readonly Target[], readonly Target[]>()

  constructor(nodes: NodeDirectory) {
    this.nodes = nodes
  }

  /** The same list if none of its targets is on nodes. */
  expand(targets: readonly Target[]): readonly Target[] {
    if (this.#version !== this.nodes.version) {
      this.#version = this.nodes.version
      this.#byTarget = new WeakMap()
      this.#byList = new WeakMap()
    }
    const known = this.#byList.get(targets)
    if (known) return known
    if (!targets.some(isOnNodes)) return targets
    const expanded = targets.flatMap(target => (isOnNodes(target) ? this.#of(target) : target))
    this.#byList.set(targets, expanded)
    return expanded
  }

  #of(target: Target): readonly Target[] {
    const known = this.#byTarget.get(target)
    if (known) return known
    const { endpoint } = target
    const choice = endpoint.nodes
    const fitting = choice ? this.nodes.all.filter(node => choosesNode(choice, node)) : []
    const targets =
      fitting.length === 0
        ? [target]
        : fitting.map(({ name }) =>
            Object.freeze({
              ...target,
              weight: target.weight / fitting.length,
              endpoint: onNode(endpoint, name),
            }),
          )
    this.#byTarget.set(target, targets)
    return targets
  }
}

function isOnNodes({ endpoint }: Target): boolean {
  return endpoint.nodes !== undefined
}

/** The entry of an endpoint for one of its nodes. */
function onNode(endpoint: EndpointEntry, node: string): EndpointEntry {
  return Object.freeze({ ...endpoint, node })
}

/** A connector whose connections are streams to an engine. */
export function nodeConnector(
  nodes: NodeDirectory,
  node: string | undefined,
  engine: string,
  onread: OnReadOpts | undefined,
): buildConnector.connector {
  return (_options, done) => {
    // The exchange may still be under construction.
    queueMicrotask(() => {
      let stream: Duplex
      try {
        if (node === undefined) throw new Error('no node is connected')
        stream = nodes.open(node, engine, onread)
      } catch (error) {
        return done(asError(error), null)
      }
      // A stream has the part of a socket that a connection uses.
      done(null, stream as Socket)
    })
  }
}
