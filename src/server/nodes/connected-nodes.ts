import type { OnReadOpts } from 'node:net'
import type { Duplex } from 'node:stream'
import { keyDigest } from '../../base/api-key.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { newNodeCredential } from '../../base/node-secrets.ts'
import type { Random } from '../../base/random.ts'
import { SharedReads } from '../../http/node-internals.ts'
import type { NodeFigures } from '../../metering/metrics/state.ts'
import type { Snapshot } from '../../snapshot/types.ts'
import type { NodeConnection, NodeIdentity, NodeState, ServingNodes } from '../../store/nodes/types.ts'
import { type CloseReason, TunnelConnection } from '../../tunnel/connection.ts'
import {
  type ControlMessage,
  type EngineLoad,
  type Hello,
  type OfferedEngine,
  readEngines,
  readLoad,
} from '../../tunnel/control.ts'
import { ProtocolFault } from '../../tunnel/frames.ts'
import { StreamError } from '../../tunnel/stream.ts'
import type { ConnectedNode, NodeDirectory, NodeObstacle } from '../../upstream/nodes.ts'

/** How soon a revocation or a drain takes effect. */
const CHECK_MS = 500
/** The store shows a connection as long as it was reported within the last half minute. */
const REPORT_MS = 10_000
/** Changes of this time are shown together. */
const GATHER_MS = 100
/** The age at which a credential is replaced. */
const ROTATE_MS = 86_400_000
/** A node that has not stored a new credential gets another one. */
const RETRY_ROTATION_MS = 3_600_000
/** With a cache as full as this, new requests wait. */
const FULL_CACHE = 0.95
const ID_BYTES = 6

export interface ConnectedNodesPorts {
  readonly store: { readonly servingNodes: ServingNodes }
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** The version of gw. */
  readonly version: string
  /** A node takes no more streams: those without a call are closed, so that it need not wait for them. */
  readonly onDrain: (node: string) => void
  /** A node is gone: what is known of its endpoints is void. */
  readonly onGone: (node: string) => void
}

/** A connection to accept. */
export interface NewConnection {
  /** The socket, or what is carried in it. */
  readonly carrier: Duplex
  /** Bytes behind the head of the upgrade. */
  readonly head: Buffer
  readonly identity: NodeIdentity
  /** Drawn by the process of the node: the same process may replace its own connection. */
  readonly instance: string
  readonly address: string
}

interface LiveNode {
  readonly identity: NodeIdentity
  readonly instance: string
  readonly address: string
  readonly connection: TunnelConnection
  readonly connectedAtMs: number
  version: string
  engines: ReadonlyMap<string, OfferedEngine>
  load: ReadonlyMap<string, EngineLoad>
  isDraining: boolean
  /** The new credential that was sent, and when, on the monotonic clock. */
  next: { readonly credential: string; sentAtMs: number } | undefined
}

/**
 * The nodes that are connected to this process: one connection each. What is known of them is in memory only; the store
 * has their credentials, and shows to others where they are connected.
 */
export class ConnectedNodes implements NodeDirectory {
  readonly #ports: ConnectedNodesPorts
  readonly #gatewayId: string
  readonly #nodes = new Map<string, LiveNode>()
  #snapshot: Pick<Snapshot, 'nodes' | 'nodeAdmission'> | undefined
  #version = 0
  #all: readonly ConnectedNode[] = []
  #checking: Timer | undefined
  /** Nodes whose change is not in the store yet. */
  readonly #unreported = new Set<string>()
  #gathering: Timer | undefined
  #reporting: Promise<void> | undefined
  #reportedAtMs = Number.NEGATIVE_INFINITY
  #isClosed = false
  readonly #reads = new SharedReads()

  constructor(ports: ConnectedNodesPorts) {
    this.#ports = ports
    this.#gatewayId = Buffer.from(ports.random.bytes(ID_BYTES)).toString('hex')
  }

  get version(): number {
    return this.#version
  }

  get all(): readonly ConnectedNode[] {
    return this.#all
  }

  /** Whether files, or the settings, let a node of this name join. */
  isAdmitted(node: string): boolean {
    return this.#snapshot?.nodeAdmission === 'token' || this.#snapshot?.nodes.has(node) === true
  }

  /** Whether a node of this name is connected, and speaks. */
  isAlive(node: string): boolean {
    const live = this.#nodes.get(node)
    return live !== undefined && !live.connection.isSilent
  }

  adopt(snapshot: Snapshot): void {
    this.#snapshot = snapshot
    for (const node of this.#nodes.keys()) if (!this.isAdmitted(node)) this.#dismiss(node, 'not_declared')
    this.#update()
  }

  obstacle(node: string, engine: string): NodeObstacle | undefined {
    const live = this.#nodes.get(node)
    if (!live) return 'no_node'
    if (live.isDraining || live.connection.isDraining) return 'draining'
    if (live.connection.isSilent) return 'silent'
    if (!live.connection.isOpen || live.engines.get(engine)?.state !== 'up') return 'engine_down'
    const load = live.load.get(engine)
    return load?.cache !== undefined && load.cache >= FULL_CACHE && load.waiting > 0 ? 'busy' : undefined
  }

  waiting(node: string, engine: string): number {
    return this.#nodes.get(node)?.load.get(engine)?.waiting ?? 0
  }

  /** Declared nodes, and all that are connected. */
  *figures(): Generator<NodeFigures> {
    for (const node of this.#snapshot?.nodes.keys() ?? [])
      if (!this.#nodes.has(node)) yield { node, isAlive: false, engines: [] }
    for (const [node, { engines, load }] of this.#nodes) {
      yield {
        node,
        isAlive: this.isAlive(node),
        engines: [...engines.values()].map(({ name, state }) => {
          const figures = load.get(name)
          return { engine: name, isUp: state === 'up', ...(figures && { load: figures }) }
        }),
      }
    }
  }

  open(node: string, engine: string, onread?: OnReadOpts): Duplex {
    const live = this.#nodes.get(node)
    if (!live) throw new StreamError('broken', 'the node is not connected')
    return live.connection.open(engine, onread)
  }

  /**
   * Accepts a connection; the caller answers the upgrade if `true`. Of two processes with one name the living one keeps it: a
   * silent one, or an earlier connection of the same process, is superseded. Both are informed.
   */
  mayConnect({ identity: { node }, instance, address }: Omit<NewConnection, 'carrier' | 'head'>): boolean {
    const live = this.#nodes.get(node)
    if (!live || live.instance === instance || live.connection.isSilent) return true
    live.connection.sendControl({ type: 'notice', code: 'name_taken', address })
    this.#ports.log.warn(
      { node, address, connected: live.address },
      'a second node has the name of a connected one',
    )
    return false
  }

  accept({ carrier, head, identity, instance, address }: NewConnection): void {
    // Its credential was looked up while the gateway closed.
    if (this.#isClosed) {
      carrier.destroy()
      return
    }
    const { node } = identity
    const { clock, version, log } = this.#ports
    this.#dismiss(node, 'superseded')
    const connection = new TunnelConnection(
      carrier,
      {
        side: 'gateway',
        clock,
        version,
        takeReads: (socket, onRead) => this.#reads.take(socket, onRead),
        handler: {
          onHello: hello => this.#hello(live, hello),
          onControl: message => this.#control(live, message),
          onSilent: isSilent =>
            log.warn({ node, silent: isSilent }, isSilent ? 'node is silent' : 'node speaks again'),
          onDrain: () => {
            log.info({ node }, 'node drains')
            this.#ports.onDrain(node)
          },
          onClose: reason => this.#closed(live, reason),
        },
      },
      head,
    )
    const live: LiveNode = {
      identity,
      instance,
      address,
      connection,
      connectedAtMs: clock.nowMs(),
      version: '',
      engines: new Map(),
      load: new Map(),
      isDraining: false,
      next: undefined,
    }
    this.#nodes.set(node, live)
    this.#checking ??= clock.after(0, () => this.#check())
    this.#update()
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#checking?.cancel()
    const nodes = [...this.#nodes.keys()]
    for (const node of nodes) this.#dismiss(node, 'gateway_closes')
    this.#flushReports()
    await this.#reporting
  }

  #hello(live: LiveNode, { version }: Hello): void {
    live.version = version
    this.#ports.log.info({ node: live.identity.node, address: live.address, version }, 'node is connected')
    this.#report(live.identity.node)
  }

  #control(live: LiveNode, message: ControlMessage): void {
    if (message.type === 'engines') {
      live.engines = new Map(readEngines(message).map(engine => [engine.name, engine]))
      this.#report(live.identity.node)
    } else if (message.type === 'load') live.load = readLoad(message)
    else if (message.type === 'credential_stored') this.#retire(live)
  }

  /** Sends a new credential. The old one is valid until the node has stored the new one. */
  #rotate(live: LiveNode): void {
    const { store, random, clock, log } = this.#ports
    const sentAtMs = clock.monotonicMs()
    if (!live.connection.isOpen || (live.next && sentAtMs - live.next.sentAtMs < RETRY_ROTATION_MS)) return
    // The same again: the node may have stored it, and its message was lost.
    const credential = live.next?.credential ?? newNodeCredential(random)
    live.next = { credential, sentAtMs }
    store.servingNodes.addCredential(live.identity, keyDigest(credential)).then(
      isAdded => isAdded && live.connection.sendControl({ type: 'credential', credential }),
      (error: unknown) => log.warn({ err: error }, 'the credential of a node cannot be rotated'),
    )
  }

  #retire(live: LiveNode): void {
    const { store, log } = this.#ports
    const { identity, next } = live
    if (!next) throw new ProtocolFault('a credential that was never sent')
    live.next = undefined
    store.servingNodes.retire(identity, keyDigest(next.credential)).then(
      () => log.info({ node: identity.node }, 'the credential of a node was rotated'),
      (error: unknown) => log.warn({ err: error }, 'the credential of a node cannot be retired'),
    )
  }

  /** Ends the connection of a node, if there is one. @param code tells the node why. */
  #dismiss(node: string, code: string): void {
    const live = this.#nodes.get(node)
    live?.connection.close(code, { type: 'closing', code })
  }

  #closed(live: LiveNode, reason: CloseReason): void {
    const { node } = live.identity
    if (this.#nodes.get(node) !== live) return
    this.#nodes.delete(node)
    this.#update()
    const { log, onGone } = this.#ports
    log[reason.code === 'closed' ? 'info' : 'warn']({ node, reason: reason.message }, 'node is disconnected')
    onGone(node)
    this.#report(node)
  }

  #update(): void {
    const { nodes: declared, nodeAdmission } = this.#snapshot ?? {}
    this.#version++
    this.#all = [...this.#nodes.values()].map(({ identity }) => {
      const entry = declared?.get(identity.node)
      if (entry) return entry
      // Only with this admission: labels of a token select nothing else.
      const labels = nodeAdmission === 'token' ? Object.entries(identity.labels) : []
      return { name: identity.node, labels: new Map(labels), engines: undefined }
    })
  }

  /** Changes of a moment become one transaction: many nodes may come back at once, and a node may report all the time. */
  #report(node: string): void {
    this.#unreported.add(node)
    this.#gathering ??= this.#ports.clock.after(GATHER_MS, () => this.#flushReports())
  }

  #flushReports(): void {
    this.#gathering?.cancel()
    this.#gathering = undefined
    this.#reporting ??= this.#writeReports()
  }

  /** Never rejects: what could not be written is reported again. */
  async #writeReports(): Promise<void> {
    const { store, log } = this.#ports
    while (this.#unreported.size > 0) {
      const names = [...this.#unreported]
      this.#unreported.clear()
      const connected: NodeConnection[] = []
      const gone: string[] = []
      for (const node of names) {
        const live = this.#nodes.get(node)
        if (!live) {
          gone.push(node)
          continue
        }
        const { address, version, connectedAtMs, engines } = live
        connected.push({ node, address, version, connectedAtMs, engines: [...engines.values()] })
      }
      await store.servingNodes
        .reportConnections(this.#gatewayId, connected, gone)
        .catch((error: unknown) => log.warn({ err: error }, 'the nodes cannot be shown in the store'))
    }
    this.#reporting = undefined
  }

  /** Follows the store while nodes are connected. */
  #check(): void {
    const { clock, store, log } = this.#ports
    if (this.#isClosed) return
    // Those that connect meanwhile may not be in the answer.
    const known = new Set(this.#nodes.values())
    store.servingNodes
      .states()
      .then(
        states => this.#follow(states, known),
        (error: unknown) => log.warn({ err: error }, 'the state of nodes cannot be read'),
      )
      .finally(() => {
        this.#checking = this.#nodes.size > 0 ? clock.after(CHECK_MS, () => this.#check()) : undefined
      })
      .catch((error: unknown) => log.error({ err: error }, 'the state of nodes cannot be followed'))
  }

  #follow(states: readonly NodeState[], known: ReadonlySet<LiveNode>): void {
    const byName = new Map(states.map(state => [state.node, state]))
    for (const [node, live] of this.#nodes) {
      if (!known.has(live)) continue
      const state = byName.get(node)
      if (state?.family !== live.identity.family) {
        this.#dismiss(node, 'revoked')
        continue
      }
      live.isDraining = state.isDraining
      if (this.#ports.clock.nowMs() - state.issuedAtMs > ROTATE_MS) this.#rotate(live)
    }
    const nowMs = this.#ports.clock.monotonicMs()
    if (nowMs - this.#reportedAtMs < REPORT_MS) return
    this.#reportedAtMs = nowMs
    for (const node of this.#nodes.keys()) this.#report(node)
  }
}
