import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ServedConnection } from './connection.ts'
import { ConnectionManager } from './connection-manager.ts'
import { allowHalfOpen, stopAccepting } from './node-internals.ts'
import {
  BAD_REQUEST,
  type HttpRejection,
  type ParserError,
  rejectionOfParser,
  targetIn,
} from './rejection.ts'

/** The address of a server; port 0 lets the system choose. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  /** A socket that listens already, see `inheritedSocket`; then host and port are only its name. */
  readonly fd?: number
  /** This process alone listens there, also if it is one of several that share their addresses. */
  readonly isExclusive?: boolean
}

/** An answer to a malformed request. */
export interface RejectionAnswer {
  readonly body: string
  /** All headers except the framing; includes `content-type`. */
  readonly headers: Readonly<Record<string, string>>
}

export interface ListenOptions {
  readonly address: ListenAddress
  readonly clock: Clock
  readonly onRequest: (req: IncomingMessage, res: ServerResponse, connection: ServedConnection) => void
  /** @param target The request target, if it could be parsed. */
  readonly rejectionAnswer: (rejection: HttpRejection, target: string | undefined) => RejectionAnswer
  /** Limit of open connections. */
  readonly maxConnections: number
  readonly log: Log
  /** Deadline of a request head. */
  readonly headMs?: number
}

/** A listening server. */
export interface Listener {
  /** `http://host:port`, with the actual port. */
  readonly url: string
  /** Number of open connections. */
  readonly connections: number
  /**
   * Stops accepting, lets requests in flight finish for at most `graceMs`, then closes all connections. Answers announce
   * `connection: close`. An idle connection stays open for `noticeMs` (0 by default), because a request may be in transit:
   * its client would get a reset otherwise. One whose answer was begun before this stays open for four times as long after
   * it: its client may still be reading. Resolves when all connections are closed.
   */
  close(graceMs: number, noticeMs?: number): Promise<void>
}

/** Node's defaults suit a trusted network; these differ on purpose. */
const LIMITS = {
  maxHeaderSize: 16_384,
  /** Bodies have their own deadlines, by progress instead of total time: see `Connection`. */
  requestTimeout: 0,
  /** Longer than the minute after which load balancers drop a connection, so that no request hits a closed one. */
  keepAliveTimeout: 65_000,
  /** Precision of deadlines: the default of 30 s would make them up to 30 s late. */
  connectionsCheckingInterval: 1_000,
  /** `rejectionOf` rejects it instead, with an error body. */
  requireHostHeader: false,
} as const

const HEAD_MS = 10_000
/** Backlog of connections to accept: without it clients of a burst would retry after a second. */
const BACKLOG = 4_096
/** Interval of the search for idle connections while closing. */
const SWEEP_MS = 50

/**
 * @throws the system's error if it cannot listen, such as `EADDRINUSE`.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { address, clock, log, headMs = HEAD_MS } = options
  const server = createServer({ ...LIMITS, headersTimeout: headMs, noDelay: true })
  // `rejectionOf` limits header lines; silently dropping some (the default) would hide a header.
  server.maxHeadersCount = 0
  allowHalfOpen(server)
  await opened(server, address)
  const connectionManager = new ConnectionManager({
    ...options,
    rejectionBytes: (rejection, target) =>
      rejectionBytes(rejection, options.rejectionAnswer(rejection, target)),
  })
  const take = (req: IncomingMessage, res: ServerResponse): void => connectionManager.take(req, res)
  server.on('request', take)
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    // Sent only when the body is read, so that a rejected body is not sent in vain.
    req.once('resume', () => {
      if (!res.headersSent) res.writeContinue()
    })
    take(req, res)
  })
  server.on('checkExpectation', take)
  server.on('connection', (socket: Socket) => connectionManager.enter(socket))
  server.on('connect', (_req: IncomingMessage, socket: Socket) => {
    socket.on('error', () => undefined) // Node no longer handles it; `close` follows
    socket.resume()
    connectionManager.of(socket)?.reject(BAD_REQUEST)
  })
  server.on('clientError', (error: ParserError, socket: Socket) => {
    const rejection = rejectionOfParser(error)
    if (rejection) connectionManager.of(socket)?.reject(rejection, targetIn(error.rawPacket))
    else socket.destroy()
  })
  // For example out of file descriptors: existing connections continue.
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

function opened(server: Server, { host, port, fd, isExclusive = false }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    const listening = () => {
      server.off('error', reject)
      resolve()
    }
    server.once('error', reject)
    if (fd === undefined) server.listen({ host, port, backlog: BACKLOG, exclusive: isExclusive }, listening)
    // By its handle: on a bare descriptor the supervisor of a worker would accept for it, and lose what it has accepted if it ends.
    else server.listen(new Socket({ fd, readable: false, writable: false }), BACKLOG, listening)
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
      // After what has come is read: on a busy machine a request may have waited for longer than the notice.
      setImmediate(() => connectionManager.endIdle(noticeMs))
      sweeping = clock.after(SWEEP_MS, sweep)
    }
    let sweeping = clock.after(0, sweep)
    const deadline = clock.after(graceMs, () => server.closeAllConnections())
    server.once('close', () => {
      sweeping.cancel()
      deadline.cancel()
      server.close() // stops the timers of node:http
      resolve()
    })
    stopAccepting(server)
    if (graceMs === 0) server.closeAllConnections()
  })
}
