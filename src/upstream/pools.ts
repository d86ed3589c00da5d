import type { SocketConstructorOpts } from 'node:net'
import type { Dispatcher } from 'undici'
import { ABSENT, IndexedSet, type IndexedSetMember } from '../base/indexed-set.ts'
import { parseProxy } from '../base/proxies.ts'
import { ConnectionReader } from './connection-reader.ts'
import { guardedLookup } from './lookup.ts'
import { NO_NODES, type NodeDirectory, nodeConnector } from './nodes.ts'
import { certificates, proxyConnector } from './proxy.ts'
import type { Upstream } from './types.ts'
import { buildConnector, Client, parseContinue, readerOf } from './undici.ts'

/** undici's keep-alive default; a shorter time in the upstream's `keep-alive` header takes precedence. */
const KEEP_ALIVE_MS = 4_000

/** A client with one connection, which serves one request at a time. */
export interface PooledClient extends IndexedSetMember {
  readonly client: Client
  /** Its connection has served a request before. The other side may have closed it unnoticed. */
  reused: boolean
  /** In the list of idle clients. */
  idle: boolean
  /** Its connection closed while idle: `take` skips it. */
  closed: boolean
  /** Of its connection, unless that leads through a proxy. */
  reader: ConnectionReader | undefined
}

/**
 * The connections to one origin. The last one to become idle is taken first, so that few connections stay warm. Taking
 * one is O(1) even with ten thousand open streams (undici's `Pool` searches all of them for every request).
 */
export class ClientPool {
  /** The node of its engine. */
  readonly node: string | undefined
  /** Prefix of each path: a plain HTTP proxy requires the absolute form (RFC 9112 §3.2.2). */
  readonly pathPrefix: string = ''
  /** Headers for such a proxy; names and values alternate. */
  readonly proxyHeaders: readonly string[] = []
  /** Shared: each client would parse a string again. */
  readonly #origin: URL
  readonly #options: Client.Options
  readonly #isProxied: boolean
  /** The newest last. */
  #idle: PooledClient[] = []
  #closedIdle = 0
  readonly #taken = new IndexedSet<PooledClient>()
  #retired = false

  constructor(
    {
      origin,
      connectMs,
      proxy: proxyUrl,
      tls,
      node,
      nodes: choice,
    }: Pick<Upstream, 'origin' | 'connectMs' | 'proxy' | 'tls' | 'node' | 'nodes'>,
    nodes: NodeDirectory = NO_NODES,
  ) {
    this.node = node
    this.#origin = new URL(origin)
    const proxy = proxyUrl === undefined ? undefined : parseProxy(proxyUrl)
    if (proxy && this.#origin.protocol === 'http:') {
      this.pathPrefix = origin
      const { authorization } = proxy
      if (authorization !== undefined) this.proxyHeaders = ['proxy-authorization', authorization]
    }
    const reads: Pick<SocketConstructorOpts, 'onread'> = { onread: ConnectionReader.options() }
    this.#isProxied = proxy !== undefined
    const connectOf = () => {
      if (choice) return nodeConnector(nodes, node, choice.engine, reads.onread)
      return proxy
        ? proxyConnector(this.#origin, proxy, connectMs, guardedLookup(), tls)
        : buildConnector({
            ...certificates(tls),
            timeout: connectMs,
            lookup: guardedLookup(),
            allowH2: false,
            ...reads,
          })
    }
    this.#options = {
      pipelining: 1,
      // Shared by all clients, because it caches TLS sessions.
      connect: connectOf(),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The exchange has its own deadlines after connecting.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
  }

  /** Number of requests in flight. */
  get taken(): number {
    return this.#taken.size
  }

  /** The client that became idle last, or a new one. The caller must release or drop it. */
  take(): PooledClient {
    for (;;) {
      const pooled = this.#idle.pop()
      if (!pooled) return this.fresh()
      if (pooled.closed) {
        this.#closedIdle--
        continue
      }
      pooled.idle = false
      this.#taken.add(pooled)
      return pooled
    }
  }

  /** A client without a connection yet. */
  fresh(): PooledClient {
    const client = new Client(this.#origin, this.#options)
    const pooled: PooledClient = {
      client,
      reused: false,
      idle: false,
      closed: false,
      reader: undefined,
      place: ABSENT,
    }
    parseContinue(client)
    if (!this.#isProxied) {
      client.on('connect', () => {
        pooled.reader = readerOf(client)
      })
    }
    client.on('disconnect', () => this.#disconnected(pooled))
    this.#taken.add(pooled)
    return pooled
  }

  /** Returns a client whose answer is complete, for reuse. */
  release(pooled: PooledClient): void {
    if (!this.#taken.delete(pooled)) return
    if (this.#retired) return destroy(pooled)
    pooled.reused = true
    pooled.idle = true
    this.#idle.push(pooled)
  }

  /** Destroys a client whose request failed or was aborted. */
  drop(pooled: PooledClient): void {
    if (this.#taken.delete(pooled)) destroy(pooled)
  }

  /** Closes idle clients now, the others when they are released. */
  retire(): void {
    this.#retired = true
    const idle = this.#idle
    this.#idle = []
    for (const pooled of idle) destroy(pooled)
  }

  /** Ends every connection now. */
  async destroy(): Promise<void> {
    const taken = [...this.#taken]
    this.retire()
    this.#taken.clear()
    await Promise.all(taken.map(({ client }) => client.destroy()))
  }

  #disconnected(pooled: PooledClient): void {
    pooled.reused = false
    pooled.reader = undefined
    if (!pooled.idle || pooled.closed) return
    pooled.closed = true
    this.#closedIdle++
    if (this.#closedIdle * 2 <= this.#idle.length) return
    this.#idle = this.#idle.filter(({ closed }) => !closed)
    this.#closedIdle = 0
  }
}

/** undici always resolves this promise; there is no need to wait for the socket to close. */
function destroy({ client }: PooledClient): void {
  const dispatcher: Dispatcher = client
  void dispatcher.destroy()
}

/**
 * One connection pool for each origin, connect timeout, proxy and TLS material. Pools outlive snapshots: a reload keeps the connections
 * of unchanged origins.
 */
export class Pools {
  readonly #pools = new Map<string, ClientPool>()
  readonly #nodes: NodeDirectory

  constructor(nodes: NodeDirectory = NO_NODES) {
    this.#nodes = nodes
  }

  of(upstream: Upstream): ClientPool {
    const key = poolKey(upstream)
    const known = this.#pools.get(key)
    if (known) return known
    const pool = new ClientPool(upstream, this.#nodes)
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
  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(pool => pool.destroy()))
  }
}

function poolKey({ origin, connectMs, proxy, tls, node, nodes }: Upstream): string {
  if (nodes) return `node ${node ?? ''} ${nodes.engine}`
  if (proxy === undefined && tls === undefined) return `${connectMs} ${origin}`
  return `${connectMs} ${origin} ${tls?.id ?? ''} ${proxy ?? ''}`
}
