import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { EvictableConnections } from './evictable-connections.ts'
import { Progress } from './progress.ts'
import { type HttpRejection, TIMEOUT } from './rejection.ts'

export interface ConnectionPorts {
  readonly clock: Clock
  readonly onRequest: (req: IncomingMessage, res: ServerResponse, connection: ServedConnection) => void
  readonly evictable: EvictableConnections
  /** The bytes of an answer to what never became a request. */
  readonly rejectionBytes: (rejection: HttpRejection, target: string | undefined) => string
}

/** The connection of the request that is served, for who serves it. */
export interface ServedConnection {
  /** From now on, until {@link keep} or the end of the answer, it may be closed to make room for others. */
  mayEvict(owner: string): void
  /** It is not to be closed for others. */
  keep(): void
  /** The body has to be there within so long, however it comes. */
  limitBody(totalMs: number): void
}

/** What a request hears when its body turns out to be unfit; whoever listens answers for it. */
export const REJECTED = 'rejected'

/** How long a connection stays open behind its last answer, so that a client that still sends can read it. */
const LINGER_MS = 2_000
/** Requests that may wait behind the one that is served. */
const MAX_WAITING = 128

/** A body must move, and come at a modest pace once it has had its grace: 32 MiB over a modem still pass. */
const BODY = { idleMs: 30_000, graceMs: 30_000, bytesPerMs: 4.096 } as const
/** What is still sent behind its rejection is thrown away for this long; as in nginx's lingering close. */
const REJECTED_BODY = { idleMs: 5_000, totalMs: 30_000 } as const
/** For how long a client may take none of the bytes that wait for it. */
const READER_IDLE_MS = 300_000

/**
 * One client's connection: its requests one after the other, what is said to bytes that are no request, and its end.
 *
 *     bytes ──▶ parser ──▶ request ──▶ (waits for the answer before it) ──▶ served
 *                 │            │
 *               fault        body late, or broken midway
 *                 │            │
 *                 ▼            ▼
 *           an answer to no    told to the request, which answers
 *           request; linger    for itself; linger
 *
 * node:http would serve pipelined requests side by side, also those behind one that has been rejected. Here each
 * waits until the answer before it has gone, and none is served on a connection that is to be closed.
 */
export class Connection implements ServedConnection {
  readonly socket: Socket
  /** Since when it has served nothing, as of the last look; undefined while it does. */
  idleSinceMs: number | undefined
  readonly #ports: ConnectionPorts
  /** The answer that is being given or was given last. */
  #current: ServerResponse | undefined
  /** The answer behind which the next request has to wait. */
  #newest: ServerResponse | undefined
  #waiting = 0
  /** Set: the server closes. Since when nothing has been asked here since then, or the last answer has gone. */
  #partingSinceMs: number | undefined
  /** Bytes have come that are no request: nothing more is read from this client. */
  #rejection: HttpRejection | undefined
  /** The request whose body is on its way, as of the last look. */
  #uploading: IncomingMessage | undefined
  #upload: Progress | undefined
  /** When the body of the request that is served has to be there. */
  #bodyEndsAtMs = Number.POSITIVE_INFINITY
  #unread: Progress | undefined
  /** On whose account it may be closed for others. */
  #owner: string | undefined

  constructor(socket: Socket, ports: ConnectionPorts) {
    this.socket = socket
    this.#ports = ports
    socket.once('end', () => this.#halfClosed())
    const destroySoon = socket.destroySoon.bind(socket)
    // Node closes behind a last answer at once; where more is on its way, that would reset the answer away.
    socket.destroySoon = () => {
      if (this.#rejection || this.#current?.req.complete === false) this.#leave()
      else destroySoon()
    }
  }

  /** Serves a request, or lets it wait for its turn. */
  take(req: IncomingMessage, res: ServerResponse): void {
    // Behind an answer that ends the connection.
    if (!this.socket.writable) return
    const before = this.#newest
    this.#newest = res
    if (before === undefined || before.destroyed) return this.#serve(req, res)
    this.#waiting++
    if (this.#waiting > MAX_WAITING) return void this.socket.destroy()
    before.once('close', () => {
      this.#waiting--
      if (!this.socket.writable) return
      if (this.#rejection && !req.complete) this.#say(this.#rejection, req.url)
      else this.#serve(req, res)
    })
  }

  mayEvict(owner: string): void {
    this.keep()
    this.#owner = owner
    this.#ports.evictable.add(this.socket, owner)
    this.#current?.once('close', () => this.keep())
  }

  keep(): void {
    if (this.#owner !== undefined) this.#ports.evictable.delete(this.socket, this.#owner)
    this.#owner = undefined
  }

  limitBody(totalMs: number): void {
    this.#bodyEndsAtMs = this.#ports.clock.monotonicMs() + totalMs
  }

  /** From now on each answer says that its connection closes behind it. */
  part(): void {
    const { clock } = this.#ports
    this.#partingSinceMs = clock.monotonicMs()
    const answer = this.#current
    if (answer === undefined) return
    if (!answer.headersSent) answer.shouldKeepAlive = false
    answer.once('close', () => {
      this.#partingSinceMs = clock.monotonicMs()
    })
  }

  /** Ends a connection that parts, where nothing has been asked on it for so long. */
  endIdle(noticeMs: number): void {
    // Behind a rejection it ends by itself.
    if (this.#rejection || (this.#newest !== undefined && !this.#newest.destroyed)) return
    const { clock } = this.#ports
    if (clock.monotonicMs() - (this.#partingSinceMs ?? clock.monotonicMs()) >= noticeMs) this.socket.destroy()
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    this.#current = res
    if (this.#partingSinceMs !== undefined) res.shouldKeepAlive = false
    this.idleSinceMs = undefined
    this.#bodyEndsAtMs = Number.POSITIVE_INFINITY
    this.#ports.onRequest(req, res, this)
  }

  /**
   * Ends the connection because of what has come over it. A request of which the fault is a part is told so and
   * answers for itself; behind whole requests their answers go out first.
   *
   * @param target Of a request that did not get as far as to become one.
   */
  reject(rejection: HttpRejection, target?: string): void {
    if (this.#rejection) return
    this.#rejection = rejection
    const answer = this.#newest
    if (answer !== undefined && !answer.headersSent) answer.shouldKeepAlive = false
    if (answer === undefined) this.#say(rejection, target)
    else if (answer.req.complete) behind(answer, () => this.#say(rejection, target))
    else if (answer.writableEnded) behind(answer, () => this.#leave())
    else if (answer.headersSent) this.socket.destroy()
    // One that still waits is told when its turn comes.
    else if (answer === this.#current && !answer.req.emit(REJECTED, rejection))
      this.#say(rejection, answer.req.url)
  }

  /** Looks, about every second, whether the client still does its part. */
  look(nowMs: number): void {
    const answer = this.#current
    if (answer === undefined || answer.destroyed) this.idleSinceMs ??= nowMs
    if (answer === undefined) return
    this.#lookAtBody(answer, nowMs)
    this.#lookAtReader(nowMs)
  }

  #lookAtBody(answer: ServerResponse, nowMs: number): void {
    const { req } = answer
    if (req.complete) {
      this.#uploading = undefined
      this.#upload = undefined
      return
    }
    if (this.#uploading !== req) this.#upload = undefined
    this.#uploading = req
    this.#upload ??= new Progress(nowMs, this.socket.bytesRead)
    const { bytes, idleMs, totalMs } = this.#upload.at(nowMs, this.socket.bytesRead)
    if (answer.writableEnded) {
      if (idleMs >= REJECTED_BODY.idleMs || totalMs >= REJECTED_BODY.totalMs) this.socket.destroy()
    } else if (
      nowMs >= this.#bodyEndsAtMs ||
      idleMs >= BODY.idleMs ||
      totalMs >= BODY.graceMs + bytes / BODY.bytesPerMs
    ) {
      this.reject(TIMEOUT)
    }
  }

  #lookAtReader(nowMs: number): void {
    const { socket } = this
    if (socket.writableLength === 0) {
      this.#unread = undefined
      return
    }
    const taken = socket.bytesWritten - socket.writableLength
    this.#unread ??= new Progress(nowMs, taken)
    if (this.#unread.at(nowMs, taken).idleMs >= READER_IDLE_MS) socket.destroy()
  }

  /**
   * The client has ended its side. TCP does not tell whether it has left or only has nothing more to say; one that has
   * left must end its upstream request at once, and the others are rare: it has left, as nginx sees it, too.
   */
  #halfClosed(): void {
    const answer = this.#current
    if (this.#rejection || answer === undefined || answer.writableEnded || !answer.req.complete) return
    this.socket.destroy()
  }

  #say(rejection: HttpRejection, target: string | undefined): void {
    const { socket } = this
    if (!socket.writable) return void socket.destroy()
    socket.write(this.#ports.rejectionBytes(rejection, target), 'latin1')
    this.#leave()
  }

  /** Ends this side, and the connection when the client has ended its own, but soon in any case. */
  #leave(): void {
    const { socket } = this
    socket.end()
    const linger = this.#ports.clock.after(LINGER_MS, () => socket.destroy())
    socket.once('close', () => linger.cancel())
  }
}

/** Runs `task` when the last byte of an answer has gone, or it cannot go any more. */
function behind(answer: ServerResponse, task: () => void): void {
  if (answer.destroyed) task()
  else answer.once('close', task)
}
