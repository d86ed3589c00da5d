import type { Socket } from 'node:net'

/**
 * Connections that may be closed in favour of others, by owner: the half-open requests of one client are evicted before
 * those of others.
 */
export class EvictableConnections {
  readonly #share: number
  /** For each owner, the oldest first. */
  readonly #byOwner = new Map<string, Set<Socket>>()

  /** @param share Limit for each owner; one more closes its oldest. */
  constructor(share: number) {
    this.#share = share
  }

  add(socket: Socket, owner: string): void {
    const own = this.#byOwner.get(owner)
    if (!own) return void this.#byOwner.set(owner, new Set([socket]))
    if (own.size >= this.#share) this.#close(own)
    own.add(socket)
  }

  delete(socket: Socket, owner: string): void {
    const own = this.#byOwner.get(owner)
    own?.delete(socket)
    if (own?.size === 0) this.#byOwner.delete(owner)
  }

  /** Closes the oldest connection of the owner with the most. @returns undefined if there is none. */
  evict(): Socket | undefined {
    let most: Set<Socket> | undefined
    for (const own of this.#byOwner.values()) if (!most || own.size > most.size) most = own
    return most && this.#close(most)
  }

  #close(own: Set<Socket>): Socket | undefined {
    const [oldest] = own
    if (!oldest) return undefined
    own.delete(oldest)
    oldest.destroy()
    return oldest
  }
}
