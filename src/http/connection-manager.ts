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

/** How often each connection is looked at. */
const CHECK_MS = 1_000
/** A connection is left alone for this long: a client that has just come may have its first bytes on the way. */
const MIN_REST_MS = 1_000
/** How many connections are asked for one that rests before a new one is turned away. */
const ASKED = 64
/** Clients that are turned away at one time with an answer; others without one. */
const MAX_TURNING_AWAY = 256
/** How much of the room one owner of connections that may be closed for others can have. */
const OWNERS_SHARE = 1 / 4

/**
 * The connections of a listener, at most so many.
 *
 * Where there is no room for a new one, the one that has rested longest makes it: idle between two requests, or still
 * without a whole head, as those are that only want to take room. Where all of them serve, one makes it that may be
 * closed for others; only where there is none is the new one turned away, with a 503. The order is approximate (a clock hand that passes over those that serve), so that a request costs
 * nothing and a flood of newcomers little.
 */
export class ConnectionManager {
  /** In the order in which the hand will ask them. */
  readonly #connections = new Map<Socket, Connection>()
  readonly #ports: ConnectionManagerPorts & ConnectionPorts
  readonly #evictable: EvictableConnections
  readonly #clock: Clock
  readonly #turning = new Set<Socket>()
  #looking: Timer
  #evicted = 0
  #turnedAway = 0

  constructor(ports: ConnectionManagerPorts) {
    this.#evictable = new EvictableConnections(Math.max(1, Math.floor(ports.maxConnections * OWNERS_SHARE)))
    this.#ports = { ...ports, evictable: this.#evictable }
    this.#clock = ports.clock
    this.#looking = this.#lookLater()
  }

  get size(): number {
    return this.#connections.size
  }

  /** Takes a new connection in, or turns it away. */
  enter(socket: Socket): void {
    if (this.#connections.size >= this.#ports.maxConnections && !this.#evict()) {
      return this.#reject(socket)
    }
    this.#connections.set(socket, new Connection(socket, this.#ports))
    socket.once('close', () => this.#connections.delete(socket))
  }

  /** Undefined for one that was turned away. */
  of(socket: Socket): Connection | undefined {
    return this.#connections.get(socket)
  }

  take(req: IncomingMessage, res: ServerResponse): void {
    this.#connections.get(req.socket)?.take(req, res)
  }

  /** From now on each answer says that its connection closes behind it. */
  part(): void {
    for (const connection of this.#connections.values()) connection.part()
  }

  /** Ends those that part and serve nothing, once nothing has been asked on them for `noticeMs`. */
  endIdle(noticeMs: number): void {
    for (const connection of this.#connections.values()) connection.endIdle(noticeMs)
  }

  /** Stops looking. */
  close(): void {
    this.#looking.cancel()
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
    const asked = this.#connections.entries()
    for (let count = 0; count < ASKED; count++) {
      const next = asked.next()
      if (next.done) return false
      const [socket, connection] = next.value
      this.#connections.delete(socket)
      const { idleSinceMs } = connection
      if (idleSinceMs !== undefined && nowMs - idleSinceMs >= MIN_REST_MS) {
        socket.destroy()
        this.#evicted++
        return true
      }
      this.#connections.set(socket, connection)
    }
    return false
  }

  #reject(socket: Socket): void {
    this.#turnedAway++
    if (this.#turning.size >= MAX_TURNING_AWAY) return void socket.destroy()
    this.#turning.add(socket)
    socket.once('close', () => this.#turning.delete(socket))
    new Connection(socket, this.#ports).reject(TOO_MANY_CONNECTIONS)
  }

  #lookLater(): Timer {
    return this.#clock.after(CHECK_MS, () => {
      const nowMs = this.#clock.monotonicMs()
      for (const connection of this.#connections.values()) connection.look(nowMs)
      this.#notify()
      this.#looking = this.#lookLater()
    })
  }

  /** A line a second at most, however many come. */
  #notify(): void {
    if (this.#evicted + this.#turnedAway === 0) return
    this.#ports.log.warn(
      { limit: this.#ports.maxConnections, evicted: this.#evicted, turned_away: this.#turnedAway },
      'connections are at their limit',
    )
    this.#evicted = 0
    this.#turnedAway = 0
  }
}
