import type { buildConnector as Build } from 'undici'
import type { Clock, Timer } from '../base/clock.ts'
import { IndexedSet } from '../base/indexed-set.ts'
import { parseProxy } from '../base/proxies.ts'
import { type Connect, UpstreamConnection } from './connection.ts'
import { guardedLookup } from './lookup.ts'
import { NO_NODES, type NodeDirectory, nodeConnector } from './nodes.ts'
import { certificates, proxyConnector } from './proxy.ts'
import type { Upstream } from './types.ts'
import { buildConnector } from './undici.ts'

/** How long an idle connection is kept if the upstream does not say how long it keeps it. */
const KEEP_ALIVE_MS = 4_000
const MAX_KEEP_ALIVE_MS = 600_000
/** The upstream counts from when it sent its answer, and its clock may tick coarsely. */
const KEEP_ALIVE_MARGIN_MS = 2_000
/** Interval of the search for idle connections to close. */
const SWEEP_MS = 1_000

/**
 * The connections to one origin. The last one to become idle is taken first, so that few connections stay warm. Taking
 * one is O(1) even with ten thousand open streams.
 */
export class ClientPool {
  /** The node of its engine. */
  readonly node: string | undefined
  /** The value of the header `host`. */
  readonly host: string
  /** Prefix of each path: a plain HTTP proxy requires the absolute form (RFC 9112 §3.2.2). */
  readonly pathPrefix: string = ''
  /** Headers for such a proxy; names and values alternate. */
  readonly proxyHeaders: readonly string[] = []
  readonly #clock: Clock
  readonly #connect: Connect
  readonly #readsDirectly: boolean
  /** The newest last; with some that were closed meanwhile. */
  #idle: UpstreamConnection[] = []
  /** Released in this turn of the event loop, and in the one before it. */
  #resting: UpstreamConnection[] = []
  #rested: UpstreamConnection[] = []
  readonly #taken = new IndexedSet<UpstreamConnection>()
  #awaitsTurn = false
  #sweep: Timer | undefined
  #isRetired = false

  constructor(upstream: PoolOptions, clock: Clock, nodes: NodeDirectory = NO_NODES) {
    const { origin, connectMs, proxy: proxyUrl, tls, node, nodes: choice } = upstream
    const url = new URL(origin)
    const proxy = proxyUrl === undefined ? undefined : parseProxy(proxyUrl)
    this.node = node
    this.host = url.host
    this.#clock = clock
    if (proxy && url.protocol === 'http:') {
      this.pathPrefix = origin
      const { authorization } = proxy
      if (authorization !== undefined) this.proxyHeaders = ['proxy-authorization', authorization]
    }
    this.#readsDirectly = proxy === undefined
    const onread = this.#readsDirectly ? UpstreamConnection.readOptions() : undefined
    const secure = { ...certificates(tls), lookup: guardedLookup(), timeout: connectMs, allowH2: false }
    // Shared by all connections, because it caches TLS sessions.
    const connector = choice
      ? nodeConnector(nodes, node, choice.engine, onread)
      : proxy
        ? proxyConnector(url, proxy, connectMs, guardedLookup(), tls)
        : buildConnector({ ...secure, ...(onread && { onread }) })
    this.#connect = done => connector(addressOf(url), done)
  }

  /** Number of requests in flight. */
  get taken(): number {
    return this.#taken.size
  }

  /** The connection that became idle last, or a new one. The caller must release or drop it. */
  take(): UpstreamConnection {
    const nowMs = this.#clock.monotonicMs()
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (this.#claim(idle, nowMs)) return idle
    }
    // Its request waits until the next turn or the one after it.
    const canServe = (each: UpstreamConnection) => each.isIdle && this.#claim(each, nowMs)
    return this.#rested.find(canServe) ?? this.#resting.find(canServe) ?? this.fresh()
  }

  /** @returns false if it can serve nothing more. */
  #claim(connection: UpstreamConnection, nowMs: number): boolean {
    if (connection.expiresMs <= nowMs) connection.destroy()
    if (connection.isClosed) return false
    connection.isIdle = false
    this.#taken.add(connection)
    return true
  }

  /** A connection that is opened by its first request. */
  fresh(): UpstreamConnection {
    const connection = new UpstreamConnection(this.#connect, this.#readsDirectly)
    this.#taken.add(connection)
    return connection
  }

  /** Returns a connection whose answer is complete, for reuse. */
  release(connection: UpstreamConnection): void {
    if (!this.#taken.delete(connection)) return
    if (this.#isRetired || !connection.isReusable) return connection.destroy()
    const { keepAliveMs } = connection
    const keptMs =
      keepAliveMs === undefined
        ? KEEP_ALIVE_MS
        : Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, MAX_KEEP_ALIVE_MS)
    if (keptMs <= 0) return connection.destroy()
    connection.expiresMs = this.#clock.monotonicMs() + keptMs
    connection.reused = true
    connection.isIdle = true
    connection.rest()
    this.#resting.push(connection)
    if (!this.#awaitsTurn) setImmediate(this.#nextTurn)
    this.#awaitsTurn = true
    this.#sweep ??= this.#clock.after(SWEEP_MS, this.#closeExpired)
  }

  /** Closes a connection whose request failed or was aborted. */
  drop(connection: UpstreamConnection): void {
    if (this.#taken.delete(connection)) connection.destroy()
  }

  /** Closes idle connections now, the others when they are released. */
  retire(): void {
    this.#isRetired = true
    for (const connection of [...this.#idle, ...this.#rested, ...this.#resting]) {
      if (connection.isIdle) connection.destroy()
    }
    this.#idle = []
    this.#sweep?.cancel()
    this.#sweep = undefined
  }

  /** Ends every connection now. */
  destroy(): void {
    const taken = [...this.#taken]
    this.retire()
    this.#taken.clear()
    for (const connection of taken) connection.abandon(new Error('the gateway closed the connection'))
  }

  /** Offers connections that were released a whole turn ago: since then the event loop has read from every socket. */
  readonly #nextTurn = (): void => {
    for (const connection of this.#rested) {
      if (connection.isIdle && !connection.isClosed) this.#idle.push(connection)
      connection.endRest()
    }
    this.#rested = this.#resting
    this.#resting = []
    this.#awaitsTurn = this.#rested.length > 0
    if (this.#awaitsTurn) setImmediate(this.#nextTurn)
  }

  readonly #closeExpired = (): void => {
    const nowMs = this.#clock.monotonicMs()
    this.#idle = this.#idle.filter(connection => {
      if (connection.expiresMs <= nowMs) connection.destroy()
      return !connection.isClosed
    })
    const kept = this.#idle.length + this.#rested.length + this.#resting.length
    this.#sweep = kept > 0 ? this.#clock.after(SWEEP_MS, this.#closeExpired) : undefined
  }
}

type PoolOptions = Pick<Upstream, 'origin' | 'connectMs' | 'proxy' | 'tls' | 'node' | 'nodes'>

function addressOf({ protocol, host, hostname, port }: URL): Build.Options {
  return { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port }
}

/**
 * One connection pool for each origin, connect timeout, proxy and TLS material. Pools outlive snapshots: a reload keeps the connections
 * of unchanged origins.
 */
export class Pools {
  readonly #pools = new Map<string, ClientPool>()
  readonly #clock: Clock
  readonly #nodes: NodeDirectory

  constructor(clock: Clock, nodes: NodeDirectory = NO_NODES) {
    this.#clock = clock
    this.#nodes = nodes
  }

  of(upstream: Upstream): ClientPool {
    const key = poolKey(upstream)
    const known = this.#pools.get(key)
    if (known) return known
    const pool = new ClientPool(upstream, this.#clock, this.#nodes)
    this.#pools.set(key, pool)
    return pool
  }

  /**
   * Retires the pools that none of `upstreams` uses: each closes after its requests in flight. Those of nodes last as long
   * as their node is connected.
   */
  retain(upstreams: Iterable<Upstream>): void {
    const kept = new Set([...upstreams].map(poolKey))
    const connected = new Set(this.#nodes.all.map(({ name }) => name))
    for (const [key, pool] of this.#pools) {
      if (pool.node === undefined ? kept.has(key) : connected.has(pool.node)) continue
      this.#pools.delete(key)
      pool.retire()
    }
  }

  /** Retires the pools of a node that is gone. */
  retireNode(node: string): void {
    for (const [key, pool] of this.#pools) {
      if (pool.node !== node) continue
      this.#pools.delete(key)
      pool.retire()
    }
  }

  /** Ends every connection now. */
  destroy(): void {
    for (const pool of this.#pools.values()) pool.destroy()
    this.#pools.clear()
  }
}

function poolKey({ origin, connectMs, proxy, tls, node, nodes }: Upstream): string {
  if (nodes) return `node ${node ?? ''} ${nodes.engine}`
  if (proxy === undefined && tls === undefined) return `${connectMs} ${origin}`
  return `${connectMs} ${origin} ${tls?.id ?? ''} ${proxy ?? ''}`
}
