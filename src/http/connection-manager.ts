import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Connection, type ConnectionPorts } from './connection.ts'
import { EvictableConnections } from './evictable-connections.ts'
import { TOO_MANY_CONNECTIONS } from './rejection.ts'

export interface ConnectionManagerPorts extends Omit<ConnectionPorts, 'evictable'> {
  readonly maxConnections: number
  readonly log: Log
}

/** Interval of the checks of each connection. */
const CHECK_MS = 1_000
/** A connection is not evicted before: the first bytes of a new client may be in transit. */
const MIN_IDLE_MS = 1_000
/** Limit of connections that are searched for an idle one before a new one is rejected. */
const MAX_SEARCHED = 64
/** Limit of clients that are rejected with an answer at one time; others are closed without one. */
const MAX_REJECTING = 256
/** Fraction of all connections that one owner of evictable connections can have. */
const OWNERS_SHARE = 1 / 4

/**
 * Limits the number of a listener's connections.
 *
 * At the limit a new connection evicts the one that has been idle longest: between two requests, or without a complete
 * head, as in attacks that only occupy connections. If all of them serve requests, it evicts an evictable one; if there is
 * none, the new connection is rejected with a 503. The order is approximate (the clock algorithm), so that a request costs
 * nothing and a flood of connections little.
 */
export class ConnectionManager {
  /** In the order of the clock hand. */
  readonly #connections = new Map<Socket, Connection>()
  readonly #ports: ConnectionManagerPorts & ConnectionPorts
  readonly #evictable: EvictableConnections
  readonly #clock: Clock
  readonly #rejecting = new Set<Socket>()
  #checking: Timer
  #evicted = 0
  #rejected = 0

  constructor(ports: ConnectionManagerPorts) {
    this.#evictable = new EvictableConnections(Math.max(1, Math.floor(ports.maxConnections * OWNERS_SHARE)))
    this.#ports = { ...ports, evictable: this.#evictable }
    this.#clock = ports.clock
    this.#checking = this.#checkLater()
  }

  get size(): number {
    return this.#connections.size
  }

  /** Accepts a new connection, or rejects it. */
  enter(socket: Socket): void {
    if (this.#connections.size >= this.#ports.maxConnections && !this.#evict()) {
      return this.#reject(socket)
    }
    this.#connections.set(socket, new Connection(socket, this.#ports))
    socket.once('close', () => this.#connections.delete(socket))
  }

  /** Undefined for a rejected connection. */
  of(socket: Socket): Connection | undefined {
    return this.#connections.get(socket)
  }

  take(req: IncomingMessage, res: ServerResponse): void {
    this.#connections.get(req.socket)?.take(req, res)
  }

  /** From now on each answer announces `connection: close`. */
  part(): void {
    for (const connection of this.#connections.values()) connection.part()
  }

  /** After `part`: ends the connections that have had no request for `noticeMs`. */
  endIdle(noticeMs: number): void {
    for (const connection of this.#connections.values()) connection.endIdle(noticeMs)
  }

  /** Stops the checks. */
  close(): void {
    this.#checking.cancel()
  }

  #evict(): boolean {
    if (this.#closeIdle()) return true
    const socket = this.#evictable.evict()
    if (!socket) return false
    this.#connections.delete(socket)
    this.#evicted++
    return true
  }

  #closeIdle(): boolean {
    const nowMs = this.#clock.monotonicMs()
    const entries = this.#connections.entries()
    for (let count = 0; count < MAX_SEARCHED; count++) {
      const next = entries.next()
      if (next.done) return false
      const [socket, connection] = next.value
      this.#connections.delete(socket)
      const { idleSinceMs } = connection
      if (idleSinceMs !== undefined && nowMs - idleSinceMs >= MIN_IDLE_MS) {
        socket.destroy()
        this.#evicted++
        return true
      }
      this.#connections.set(socket, connection)
    }
    return false
  }

  #reject(socket: Socket): void {
    this.#rejected++
    if (this.#rejecting.size >= MAX_REJECTING) return void socket.destroy()
    this.#rejecting.add(socket)
    socket.once('close', () => this.#rejecting.delete(socket))
    new Connection(socket, this.#ports).reject(TOO_MANY_CONNECTIONS)
  }

  #checkLater(): Timer {
    return this.#clock.after(CHECK_MS, () => {
      const nowMs = this.#clock.monotonicMs()
      for (const connection of this.#connections.values()) connection.look(nowMs)
      this.#report()
      this.#checking = this.#checkLater()
    })
  }

  /** Logs at most one line a second. */
  #report(): void {
    if (this.#evicted + this.#rejected === 0) return
    this.#ports.log.warn(
      { limit: this.#ports.maxConnections, evicted: this.#evicted, rejected: this.#rejected },
      'connections are at their limit',
    )
    this.#evicted = 0
    this.#rejected = 0
  }
}
