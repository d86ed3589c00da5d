import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { EvictableConnections } from './evictable-connections.ts'
import { beforeDestroy, closeAfter } from './node-internals.ts'
import { type HttpRejection, TIMEOUT } from './rejection.ts'

export interface ConnectionPorts {
  readonly clock: Clock
  readonly onRequest: (req: IncomingMessage, res: ServerResponse, connection: ServedConnection) => void
  readonly evictable: EvictableConnections
  /** The bytes of an answer to a malformed request. */
  readonly rejectionBytes: (rejection: HttpRejection, target: string | undefined) => string
}

/** The connection of the current request, for its handler. */
export interface ServedConnection {
  /** Makes the connection evictable as one of `owner`, until the end of the answer. */
  mayEvict(owner: string): void
  /** Sets the deadline of the whole body. */
  limitBody(totalMs: number): void
}

/** The event that a request emits when its body is rejected; the listener answers. */
export const REJECTED = 'rejected'

/** How long a connection stays open after its last answer, so that a client that is still sending can read it. */
const LINGER_MS = 2_000
/** The client of an answer that announced no end may still be reading it before it sends the next request. */
const UNANNOUNCED_FACTOR = 4
/** Limit of pipelined requests that wait for the current one. */
const MAX_WAITING = 128

/** A body must make progress and, after the grace period, reach a low average rate: 32 MiB over a modem still pass. */
const BODY = { idleMs: 30_000, graceMs: 30_000, bytesPerMs: 4.096 } as const
/** How long the rest of a rejected body is read and discarded, like nginx's lingering close. */
const REJECTED_BODY = { idleMs: 5_000, totalMs: 30_000 } as const
/** How long a client may read nothing while bytes are buffered for it. */
const READER_IDLE_MS = 300_000

/**
 * One client's connection: serves its requests one after the other, rejects malformed bytes, and closes it.
 *
 *     bytes ──▶ parser ──▶ request ──▶ (waits for the answer before it) ──▶ served
 *                 │            │
 *               error        body late, or broken midway
 *                 │            │
 *                 ▼            ▼
 *           answer without     `REJECTED` event, whose listener
 *           a request; linger  answers; linger
 *
 * node:http would serve pipelined requests concurrently, also those after a rejected one. Here each waits for the end of
 * the previous answer, and none is served on a connection that is about to close.
 */
export class Connection implements ServedConnection {
  readonly socket: Socket
  /** Since when it has been idle, as of the last check; undefined while it serves a request. */
  idleSinceMs: number | undefined
  readonly #ports: ConnectionPorts
  /** The current or last answer. */
  #current: ServerResponse | undefined
  /** The answer that the next request has to wait for. */
  #newest: ServerResponse | undefined
  #waiting = 0
  /** Set while the server closes: the time of `part`, or of the last answer's end after it. */
  #partingSinceMs: number | undefined
  /** An answer has ended after `part` that could not announce it. */
  #hasUnannounced = false
  /** Set after malformed bytes: nothing more is read from this client. */
  #rejection: HttpRejection | undefined
  /** The request whose body is being received, as of the last check. */
  #uploading: IncomingMessage | undefined
  #upload: Progress | undefined
  /** Deadline of the current request's body. */
  #bodyEndsAtMs = Number.POSITIVE_INFINITY
  #unread: Progress | undefined
  /** Set while the connection is evictable. */
  #owner: string | undefined

  constructor(socket: Socket, ports: ConnectionPorts) {
    this.socket = socket
    this.#ports = ports
    socket.once('end', () => this.#halfClosed())
    beforeDestroy(socket, () => {
      const isSending = this.#rejection !== undefined || this.#current?.req.complete === false
      if (isSending) this.#leave()
      return isSending
    })
  }

  /** Serves a request, or queues it. */
  take(req: IncomingMessage, res: ServerResponse): void {
    // The previous answer ends the connection.
    if (!this.socket.writable) return
    const before = this.#newest
    this.#newest = res
    if (before === undefined || before.destroyed) return this.#serve(req, res)
    this.#waiting++
    if (this.#waiting > MAX_WAITING) return void this.socket.destroy()
    before.once('close', () => {
      this.#waiting--
      if (!this.socket.writable) return
      if (this.#rejection && !req.complete) this.#sendRejection(this.#rejection, req.url)
      else this.#serve(req, res)
    })
  }

  mayEvict(owner: string): void {
    this.#keep()
    this.#owner = owner
    this.#ports.evictable.add(this.socket, owner)
    this.#current?.once('close', () => this.#keep())
  }

  #keep(): void {
    if (this.#owner !== undefined) this.#ports.evictable.delete(this.socket, this.#owner)
    this.#owner = undefined
  }

  limitBody(totalMs: number): void {
    this.#bodyEndsAtMs = this.#ports.clock.monotonicMs() + totalMs
  }

  /** From now on each answer announces `connection: close`. */
  part(): void {
    const { clock } = this.#ports
    this.#partingSinceMs = clock.monotonicMs()
    const answer = this.#current
    if (answer === undefined) return
    if (!answer.headersSent) closeAfter(answer)
    else if (!answer.writableFinished) this.#hasUnannounced = true
    answer.once('close', () => {
      this.#partingSinceMs = clock.monotonicMs()
    })
  }

  /**
   * After `part`: ends the connection if it has had no request for `noticeMs`; for {@link UNANNOUNCED_FACTOR} times as
   * long if its last answer announced no end.
   */
  endIdle(noticeMs: number): void {
    // After a rejection it ends by itself.
    if (this.#rejection || (this.#newest !== undefined && !this.#newest.destroyed)) return
    const { clock } = this.#ports
    const idleMs = clock.monotonicMs() - (this.#partingSinceMs ?? clock.monotonicMs())
    if (idleMs >= noticeMs * (this.#hasUnannounced ? UNANNOUNCED_FACTOR : 1)) this.socket.destroy()
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    this.#current = res
    if (this.#partingSinceMs !== undefined) closeAfter(res)
    this.idleSinceMs = undefined
    this.#bodyEndsAtMs = Number.POSITIVE_INFINITY
    this.#ports.onRequest(req, res, this)
  }

  /**
   * Ends the connection because of malformed bytes. If they belong to the body of a request, that request emits
   * {@link REJECTED} and its listener answers; answers to earlier complete requests are sent first.
   *
   * @param target The target of a malformed request, if known.
   */
  reject(rejection: HttpRejection, target?: string): void {
    if (this.#rejection) return
    this.#rejection = rejection
    const answer = this.#newest
    if (answer !== undefined && !answer.headersSent) closeAfter(answer)
    if (answer === undefined) this.#sendRejection(rejection, target)
    else if (answer.req.complete) afterEnd(answer, () => this.#sendRejection(rejection, target))
    else if (answer.writableEnded) afterEnd(answer, () => this.#leave())
    else if (answer.headersSent) this.socket.destroy()
    // A queued request is rejected when its turn comes.
    else if (answer === this.#current && !answer.req.emit(REJECTED, rejection))
      this.#sendRejection(rejection, answer.req.url)
  }

  /** Called about every second: checks that the client sends its body and reads its answer. */
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
   * The client has ended its side. TCP does not distinguish a disconnect from a half-close. Half-closing clients are rare,
   * and a disconnect must abort the upstream request at once, so it counts as a disconnect, as in nginx.
   */
  #halfClosed(): void {
    const answer = this.#current
    if (this.#rejection || answer === undefined || answer.writableEnded || !answer.req.complete) return
    this.socket.destroy()
  }

  #sendRejection(rejection: HttpRejection, target: string | undefined): void {
    const { socket } = this
    if (!socket.writable) return void socket.destroy()
    socket.write(this.#ports.rejectionBytes(rejection, target), 'latin1')
    this.#leave()
  }

  /** Ends this side, and closes the connection when the client has ended its side, or after `LINGER_MS`. */
  #leave(): void {
    const { socket } = this
    socket.end()
    const linger = this.#ports.clock.after(LINGER_MS, () => socket.destroy())
    socket.once('close', () => linger.cancel())
  }
}

/** Runs `task` when an answer has ended or its connection has closed. */
function afterEnd(answer: ServerResponse, task: () => void): void {
  if (answer.destroyed) task()
  else answer.once('close', task)
}

/** Tracks the progress of a transfer: the bytes of a body or an answer. */
export class Progress {
  readonly #startedMs: number
  readonly #startBytes: number
  #bytes: number
  #movedMs: number

  constructor(nowMs: number, bytes: number) {
    this.#startedMs = nowMs
    this.#startBytes = bytes
    this.#bytes = bytes
    this.#movedMs = nowMs
  }

  /** @param bytes The current count, as in the constructor. */
  at(nowMs: number, bytes: number): { bytes: number; idleMs: number; totalMs: number } {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes
      this.#movedMs = nowMs
    }
    return {
      bytes: bytes - this.#startBytes,
      idleMs: nowMs - this.#movedMs,
      totalMs: nowMs - this.#startedMs,
    }
  }
}
