import type { Dispatcher } from 'undici'
import { ABSENT, IndexedSet, type IndexedSetMember } from '../base/indexed-set.ts'
import { parseProxy } from '../base/proxies.ts'
import { parseContinue } from './interim.ts'
import { guardedLookup } from './lookup.ts'
import { proxyConnector } from './proxy.ts'
import { buildConnector, Client } from './undici.ts'

/** undici's own keep-alive default; an upstream that says less in its `keep-alive` header is believed. */
const KEEP_ALIVE_MS = 4_000

/** A client of one connection, which serves one request at a time. */
export interface PooledClient {
  readonly client: Client
  /** Its connection has served before, and is open as far as this side knows: the other side may think otherwise. */
  reused: boolean
}

interface Slot extends PooledClient, IndexedSetMember {
  /** Waits in the list of idle ones. */
  idle: boolean
  /** Its connection closed while it was idle: it is passed over. */
  gone: boolean
}

/**
 * The connections to one origin. The one that became idle last is taken first: few connections stay warm, and finding
 * one costs the same with ten thousand streams open (undici's `Pool` walks all of them for every request).
 */
export class ClientPool {
  /** What stands before each path: a proxy of plain HTTP is sent whole addresses (RFC 9112 §3.2.2). */
  readonly pathPrefix: string = ''
  /** Header lines for such a proxy; names and values in turn. */
  readonly proxyHeaders: readonly string[] = []
  /** One for all: each client would make its own of a text. */
  readonly #origin: URL
  readonly #options: Client.Options
  /** The newest last. */
  #idle: Slot[] = []
  #goneIdle = 0
  readonly #taken = new IndexedSet<Slot>()
  #retired = false

  /** @param proxyUrl of the proxy that it is reached by; absent: directly. */
  constructor(origin: string, connectMs: number, proxyUrl?: string) {
    this.#origin = new URL(origin)
    const proxy = proxyUrl === undefined ? undefined : parseProxy(proxyUrl)
    if (proxy && this.#origin.protocol === 'http:') {
      this.pathPrefix = origin
      const { authorization } = proxy
      if (authorization !== undefined) this.proxyHeaders = ['proxy-authorization', authorization]
    }
    this.#options = {
      pipelining: 1,
      // One connector for all: it remembers TLS sessions.
      connect: proxy
        ? proxyConnector(this.#origin, proxy, connectMs, guardedLookup())
        : buildConnector({ timeout: connectMs, lookup: guardedLookup(), allowH2: false }),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Every deadline after connecting is the exchange's own.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
  }

  /** How many requests are at hand. */
  get taken(): number {
    return this.#taken.size
  }

  /** The client that became idle last, or a new one. To be given back, or dropped. */
  take(): PooledClient {
    for (;;) {
      const slot = this.#idle.pop()
      if (!slot) return this.fresh()
      if (slot.gone) {
        this.#goneIdle--
        continue
      }
      slot.idle = false
      this.#taken.add(slot)
      return slot
    }
  }

  /** A client that has no connection yet. */
  fresh(): PooledClient {
    const client = new Client(this.#origin, this.#options)
    const slot: Slot = { client, reused: false, idle: false, gone: false, place: ABSENT }
    parseContinue(client)
    client.on('disconnect', () => this.#disconnected(slot))
    this.#taken.add(slot)
    return slot
  }

  /** It has answered to the end and can serve again. */
  release(pooled: PooledClient): void {
    const slot = pooled as Slot
    if (!this.#taken.delete(slot)) return
    if (this.#retired) return destroy(slot)
    slot.reused = true
    slot.idle = true
    this.#idle.push(slot)
  }

  /** It has failed or was cut off: nothing more is asked of it. */
  drop(pooled: PooledClient): void {
    const slot = pooled as Slot
    if (this.#taken.delete(slot)) destroy(slot)
  }

  /** Takes no more into the list: idle ones end now, the others when they are given back. */
  retire(): void {
    this.#retired = true
    const idle = this.#idle
    this.#idle = []
    for (const slot of idle) destroy(slot)
  }

  /** Ends every connection now. */
  async destroy(): Promise<void> {
    const taken = [...this.#taken]
    this.retire()
    this.#taken.clear()
    await Promise.all(taken.map(({ client }) => client.destroy()))
  }

  #disconnected(slot: Slot): void {
    slot.reused = false
    if (!slot.idle || slot.gone) return
    slot.gone = true
    this.#goneIdle++
    if (this.#goneIdle * 2 <= this.#idle.length) return
    this.#idle = this.#idle.filter(({ gone }) => !gone)
    this.#goneIdle = 0
  }
}

/** undici resolves this promise in every case; nobody waits for a socket that is being closed. */
function destroy({ client }: Slot): void {
  const dispatcher: Dispatcher = client
  void dispatcher.destroy()
}
