import { type Dispatcher, Pool } from 'undici'
import { guardedLookup } from './lookup.ts'
import type { Upstream } from './types.ts'

/** undici's own keep-alive default; an upstream that says less in its `keep-alive` header is believed. */
const KEEP_ALIVE_MS = 4_000

/**
 * One pool of connections to each origin and connect timeout. Pools outlive snapshots: a reload that does not touch
 * an origin does not touch its connections.
 */
export class Pools {
  readonly #pools = new Map<string, Pool>()

  dispatcher(upstream: Upstream): Dispatcher {
    const key = poolKey(upstream)
    const known = this.#pools.get(key)
    if (known) return known
    const pool = new Pool(upstream.origin, {
      connections: null,
      pipelining: 1,
      connect: { timeout: upstream.connectMs, lookup: guardedLookup() },
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Both deadlines are given with each request.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.#pools.set(key, pool)
    return pool
  }

  /** Closes the pools that none of `upstreams` uses, each when its requests at hand have ended. */
  async retain(upstreams: Iterable<Upstream>): Promise<void> {
    const kept = new Set([...upstreams].map(poolKey))
    const gone = [...this.#pools].filter(([key]) => !kept.has(key))
    for (const [key] of gone) this.#pools.delete(key)
    await Promise.all(gone.map(([, pool]) => pool.close()))
  }

  /** Ends every connection now. */
  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(pool => pool.destroy()))
  }
}

function poolKey({ origin, connectMs }: Upstream): string {
  return `${connectMs} ${origin}`
}
