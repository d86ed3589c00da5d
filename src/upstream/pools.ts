import { ClientPool } from './client-pool.ts'
import type { Upstream } from './types.ts'

/**
 * One connection pool for each origin, connect timeout and proxy. Pools outlive snapshots: a reload keeps the connections
 * of unchanged origins.
 */
export class Pools {
  readonly #pools = new Map<string, ClientPool>()

  of(upstream: Upstream): ClientPool {
    const key = poolKey(upstream)
    const known = this.#pools.get(key)
    if (known) return known
    const pool = new ClientPool(upstream.origin, upstream.connectMs, upstream.proxy)
    this.#pools.set(key, pool)
    return pool
  }

  /** Retires the pools that none of `upstreams` uses: each closes after its requests in flight. */
  retain(upstreams: Iterable<Upstream>): void {
    const kept = new Set([...upstreams].map(poolKey))
    for (const [key, pool] of this.#pools) {
      if (kept.has(key)) continue
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

function poolKey({ origin, connectMs, proxy }: Upstream): string {
  return proxy === undefined ? `${connectMs} ${origin}` : `${connectMs} ${origin} ${proxy}`
}
