import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { IncomingRecord, RecordedRequest } from './recorded-request.ts'
import { RequestReader } from './request-reader.ts'
import type { WhenOver } from './when-over.ts'

/** The upstream's side of one request: whatever bytes the test wants, whenever it wants them. */
export interface Exchange {
  readonly request: RecordedRequest
  /**
   * Writes exactly these bytes. Resolves when the kernel has taken them (so a reader that stands still holds it
   * up), with false once the client is gone.
   */
  write(bytes: string | Uint8Array): Promise<boolean>
  /** Ends the connection in good order, after what was written. */
  end(): void
  /** Tears the connection down: the client sees a reset. */
  reset(): void
}

/** What to answer. The exchange is over when it returns; then the connection serves its next request. */
export type Answer = (exchange: Exchange) => Promise<void> | void

export interface ScriptedUpstream {
  /** Such as `http://127.0.0.1:40123`, without a path. */
  readonly url: string
  readonly port: number
  /** Every request so far, in the order in which their heads came. */
  readonly requests: readonly RecordedRequest[]
  /** Connections that are open now. */
  readonly connections: number
  /** Connections that were ever made. */
  readonly connectionsMade: number
  /** Answers every request from now on that has no answer of its own in line. */
  answer(answer: Answer): void
  /** Puts answers in line, one for each of the next requests. */
  answerNext(...answers: Answer[]): void
  /** The next request (its head) that no earlier call has given out. */
  nextRequest(): Promise<RecordedRequest>
  /** The newest request. Throws where there was none. */
  readonly lastRequest: RecordedRequest
  /** Forgets the requests so far and the answers in line: for an upstream that several tests share. */
  forget(): void
  /** Ends every open connection, idle ones too, with a reset. */
  dropConnections(): void
  /** Ends everything. Rejects where an answer threw: a script that fails must not look like a gateway that does. */
  close(): Promise<void>
}

export interface ScriptedUpstreamOptions {
  /** `head`: an answer may begin before the request's body is complete. Default `end`. */
  readonly answerAt?: 'head' | 'end'
  /** Default 0, any free one. */
  readonly port?: number
}

/**
 * A model server of which the test owns each byte, cut and fault, on a raw socket of port 0. It records requests
 * as they came. A request without an answer in line or by default gets a 599 that says so.
 */
export async function scriptedUpstream(
  whenOver: WhenOver,
  options: ScriptedUpstreamOptions = {},
): Promise<ScriptedUpstream> {
  const upstream = new Upstream(options)
  await upstream.listen(options.port ?? 0)
  whenOver(() => upstream.close())
  return upstream
}

const UNSCRIPTED: Answer = async exchange => {
  const text = `no answer was scripted for ${exchange.request.method} ${exchange.request.target}`
  await exchange.write(`HTTP/1.1 599 Unscripted\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
}

class Upstream implements ScriptedUpstream {
  readonly requests: RecordedRequest[] = []
  connectionsMade = 0
  readonly #answerAt: 'head' | 'end'
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #line: Answer[] = []
  readonly #failures: unknown[] = []
  readonly #waiters: ((request: RecordedRequest) => void)[] = []
  #default: Answer = UNSCRIPTED
  #given = 0

  constructor(options: ScriptedUpstreamOptions) {
    this.#answerAt = options.answerAt ?? 'end'
    this.#server = createServer({ noDelay: true }, socket => this.#accept(socket))
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get connections(): number {
    return this.#sockets.size
  }

  answer(answer: Answer): void {
    this.#default = answer
  }

  answerNext(...answers: Answer[]): void {
    this.#line.push(...answers)
  }

  nextRequest(): Promise<RecordedRequest> {
    const request = this.requests[this.#given++]
    if (request !== undefined) return Promise.resolve(request)
    return new Promise(resolve => this.#waiters.push(resolve))
  }

  get lastRequest(): RecordedRequest {
    const request = this.requests.at(-1)
    if (request === undefined) throw new Error('no request came')
    return request
  }

  forget(): void {
    this.requests.length = 0
    this.#line.length = 0
    this.#given = 0
  }

  dropConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  async close(): Promise<void> {
    if (this.#server.listening) {
      const closed = once(this.#server, 'close')
      this.#server.close()
      for (const socket of this.#sockets) socket.destroy()
      await closed
    }
    if (this.#failures.length > 0)
      throw new AggregateError(this.#failures.splice(0), 'a scripted answer threw')
  }

  #accept(socket: Socket): void {
    const connection = this.connectionsMade++
    const owed = new Set<IncomingRecord>()
    /** Answers of one connection go out one after the other, also when requests are pipelined. */
    let turn = Promise.resolve()
    const scripts = new Map<IncomingRecord, Answer | undefined>()
    const serve = (request: IncomingRecord): void => {
      turn = turn.then(() => this.#serve(socket, request, scripts.get(request), owed))
    }
    const reader = new RequestReader(connection, {
      onHead: request => {
        owed.add(request)
        scripts.set(request, this.#line.shift()) // by the order of heads, so that no late body swaps two answers
        this.requests.push(request)
        const waiter = this.#waiters.shift()
        if (waiter !== undefined) waiter(request)
        if (this.#answerAt === 'head') serve(request)
      },
      onEnd: request => {
        if (this.#answerAt === 'end') serve(request)
      },
    })
    const leave = (): void => {
      for (const request of owed) request.leave()
    }
    this.#sockets.add(socket)
    socket.on('data', bytes => reader.push(bytes))
    socket.on('end', leave)
    socket.on('error', leave) // a reset by the client; `close` follows
    socket.on('close', () => {
      this.#sockets.delete(socket)
      leave()
    })
  }

  async #serve(
    socket: Socket,
    request: IncomingRecord,
    script: Answer | undefined,
    owed: Set<IncomingRecord>,
  ): Promise<void> {
    if (request.hungUp) return
    try {
      await (script ?? this.#default)(exchange(socket, request, () => this.#over(request, owed)))
    } catch (error) {
      this.#failures.push(error)
      socket.destroy()
    }
    this.#over(request, owed)
  }

  #over(request: IncomingRecord, owed: Set<IncomingRecord>): void {
    owed.delete(request)
    if (!request.hungUp) request.answered = true
  }
}

function exchange(socket: Socket, request: IncomingRecord, over: () => void): Exchange {
  return {
    request,
    write(bytes) {
      if (socket.destroyed || !socket.writable) return Promise.resolve(false)
      return new Promise(resolve => {
        const gone = (): void => resolve(false)
        socket.once('close', gone) // a socket torn down by the client drops the callbacks of what still waits
        socket.write(bytes, error => {
          socket.off('close', gone)
          resolve(!error)
        })
      })
    },
    end() {
      over() // the upstream ended it, so the close that follows is no hang-up of the client's
      socket.end()
    },
    reset() {
      over()
      socket.resetAndDestroy()
    },
  }
}
