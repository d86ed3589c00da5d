import type { Socket } from 'node:net'

/**
 * Connections that may be closed to make room for others, each on the account of an owner: what one client opens, and
 * leaves half asked, takes room from that client first.
 */
export class EvictableConnections {
  readonly #share: number
  /** Of each owner in the order in which they came. */
  readonly #byOwner = new Map<string, Set<Socket>>()

  /** @param share how many one owner may have; one more closes its oldest. */
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

  /** Closes the oldest connection of the owner that has most of them. @returns undefined where there is none. */
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
