import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ServedConnection } from './connection.ts'
import { ConnectionManager } from './connection-manager.ts'
import {
  BAD_REQUEST,
  type HttpRejection,
  type ParserError,
  rejectionOfParser,
  targetIn,
} from './rejection.ts'

/** Where a server listens; port 0 lets the system choose. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** An answer to bytes that never became a request. */
export interface RejectionAnswer {
  readonly body: string
  /** Beside those that frame it; `content-type` among them. */
  readonly headers: Readonly<Record<string, string>>
}

export interface ListenOptions {
  readonly address: ListenAddress
  readonly clock: Clock
  readonly onRequest: (req: IncomingMessage, res: ServerResponse, connection: ServedConnection) => void
  /** @param target What the request would have asked for, where that can be told. */
  readonly rejectionAnswer: (rejection: HttpRejection, target: string | undefined) => RejectionAnswer
  /** Open connections at one time. */
  readonly maxConnections: number
  readonly log: Log
  /** For how long a head may be on its way. */
  readonly headMs?: number
}

/** A server that listens. */
export interface Listener {
  /** `http://host:port`, with the port that was chosen. */
  readonly url: string
  /** Those that are open now. */
  readonly connections: number
  /**
   * Stops accepting, lets requests at hand finish for at most `graceMs`, then closes what is left. Answers say that
   * their connection closes. One whose client was told otherwise stays open for `noticeMs` behind its last answer (not
   * at all by default), for a request that is on its way to us: closed at once, its client would read a reset. Resolves
   * when every connection has gone.
   */
  close(graceMs: number, noticeMs?: number): Promise<void>
}

/** Node's defaults are made for a trusted network; each of these is stricter than its default on purpose. */
const LIMITS = {
  maxHeaderSize: 16_384,
  /** Bodies have deadlines of their own, by how they come rather than by how long: see `Connection`. */
  requestTimeout: 0,
  /** Longer than the minute after which load balancers drop a connection, so that no request meets one just closed. */
  keepAliveTimeout: 65_000,
  /** Deadlines are only looked at this often: the default of 30 s would make them up to 30 s late. */
  connectionsCheckingInterval: 1_000,
  /** Rejected by `rejectionOf` instead, with a body that says why. */
  requireHostHeader: false,
} as const

const HEAD_MS = 10_000
/** Connections that wait to be accepted: a burst of them would else be tried again a second later. */
const BACKLOG = 4_096
/** While closing: how often connections are looked for whose last request has ended. */
const SWEEP_MS = 50

/**
 * @throws the system's error where the address cannot be had, such as `EADDRINUSE`.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { address, clock, log, headMs = HEAD_MS } = options
  const server = createServer({ ...LIMITS, headersTimeout: headMs, noDelay: true })
  // More lines than this are rejected by the caller; silently dropping them (the default) would hide a header.
  server.maxHeadersCount = 0
  // A client may end its side behind its request (node has no name for this in its types).
  Object.assign(server, { httpAllowHalfOpen: true })
  await opened(server, address)
  const connectionManager = new ConnectionManager({
    ...options,
    rejectionBytes: (rejection, target) =>
      rejectionBytes(rejection, options.rejectionAnswer(rejection, target)),
  })
  const take = (req: IncomingMessage, res: ServerResponse): void => connectionManager.take(req, res)
  server.on('request', take)
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    // Asked for where the body is wanted, so that a rejected one is not sent in vain.
    req.once('resume', () => {
      if (!res.headersSent) res.writeContinue()
    })
    take(req, res)
  })
  server.on('checkExpectation', take)
  server.on('connection', (socket: Socket) => connectionManager.enter(socket))
  server.on('connect', (_req: IncomingMessage, socket: Socket) => {
    socket.on('error', () => undefined) // node has let go of it; `close` follows
    socket.resume()
    connectionManager.of(socket)?.reject(BAD_REQUEST)
  })
  server.on('clientError', (error: ParserError, socket: Socket) => {
    const rejection = rejectionOfParser(error)
    if (rejection) connectionManager.of(socket)?.reject(rejection, targetIn(error.rawPacket))
    else socket.destroy()
  })
  // Such as a process that is out of descriptors: it goes on with what it has.
  server.on('error', error => log.error({ err: error }, 'a connection could not be accepted'))
  const { address: ip, family, port } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${ip}]` : ip}:${port}`,
    get connections() {
      return connectionManager.size
    },
    close: async (graceMs, noticeMs = 0) => {
      await closed(server, connectionManager, { graceMs, noticeMs }, clock)
      connectionManager.close()
    },
  }
}

function rejectionBytes({ status, phrase }: HttpRejection, { body, headers }: RejectionAnswer): string {
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const bytes = Buffer.from(body).toString('latin1')
  return `HTTP/1.1 ${status} ${phrase}\r\n${lines.join('')}\r\n${bytes}`
}

function opened(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function closed(
  server: Server,
  connectionManager: ConnectionManager,
  { graceMs, noticeMs }: { readonly graceMs: number; readonly noticeMs: number },
  clock: Clock,
): Promise<void> {
  connectionManager.part()
  return new Promise(resolve => {
    const sweep = (): void => {
      connectionManager.endIdle(noticeMs)
      sweeping = clock.after(SWEEP_MS, sweep)
    }
    let sweeping = clock.after(0, sweep)
    const deadline = clock.after(graceMs, () => server.closeAllConnections())
    server.once('close', () => {
      sweeping.cancel()
      deadline.cancel()
      server.close() // ends what node:http itself looks after
      resolve()
    })
    // Not that of node:http, which closes what is idle at once.
    NetServer.prototype.close.call(server)
    if (graceMs === 0) server.closeAllConnections()
  })
}
