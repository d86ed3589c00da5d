import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import { type HttpRefusal, refusalOfParser } from './refusal.ts'

/** Where a server listens; port 0 lets the system choose. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface ListenOptions {
  readonly address: ListenAddress
  readonly clock: Clock
  readonly onRequest: (req: IncomingMessage, res: ServerResponse) => void
  /** The body of an answer to bytes that never became a request. */
  readonly refusalBody: (refusal: HttpRefusal) => string
}

/** A server that listens. */
export interface Listener {
  /** `http://host:port`, with the port that was chosen. */
  readonly url: string
  /**
   * Stops accepting, lets requests at hand finish for at most `graceMs`, then closes what is left. Resolves when
   * every connection has gone.
   */
  close(graceMs: number): Promise<void>
}

/** Node's defaults are made for a trusted network; each of these is stricter than its default on purpose. */
const LIMITS = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 300_000,
  keepAliveTimeout: 65_000,
  /** Deadlines are only looked at this often: the default of 30 s would make them up to 30 s late. */
  connectionsCheckingInterval: 1_000,
  /** Refused by `refusalOf` instead, with a body that says why. */
  requireHostHeader: false,
} as const

/** How long a connection stays open behind a refusal, so that its sender can read it before a reset. */
const LINGER_MS = 1_000
/** While closing: how often connections are looked for whose last request has ended. */
const SWEEP_MS = 50

/**
 * @throws the system's error where the address cannot be had, such as `EADDRINUSE`.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  /** The newest answer of each connection. */
  const answers = new WeakMap<Socket, ServerResponse>()
  const connections = new Set<Socket>()
  const server = createServer({ ...LIMITS, noDelay: true }, (req, res) => {
    answers.set(req.socket, res)
    options.onRequest(req, res)
  })
  // More lines than this are refused by the caller; silently dropping them (the default) would hide a header.
  server.maxHeadersCount = 0
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const refusal = refusalOfParser(error.code)
    const answer = answers.get(socket)
    // Inside an answer a refusal would read as a part of it.
    const insideAnswer = answer?.headersSent && !answer.writableFinished
    if (!refusal || insideAnswer || !socket.writable) return void socket.destroy()
    const body = options.refusalBody(refusal)
    socket.end(
      `HTTP/1.1 ${refusal.status} ${refusal.phrase}\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
    const linger = options.clock.after(LINGER_MS, () => socket.destroy())
    socket.once('close', () => linger.cancel())
  })
  await opened(server, options.address)
  const { address, family, port } = server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  return {
    url: `http://${host}:${port}`,
    close: graceMs => closed(server, connections, graceMs, options.clock),
  }
}

function opened(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function closed(
  server: Server,
  connections: ReadonlySet<Socket>,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  // Node closes what is idle when asked, but neither what becomes idle later nor what has never said a byte.
  const closeIdle = (): void => {
    server.closeIdleConnections()
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
  }
  return new Promise(resolve => {
    const sweep = (): Timer =>
      clock.after(SWEEP_MS, () => {
        closeIdle()
        sweeping = sweep()
      })
    let sweeping = sweep()
    const deadline = clock.after(graceMs, () => server.closeAllConnections())
    server.close(() => {
      sweeping.cancel()
      deadline.cancel()
      resolve()
    })
    closeIdle()
  })
}
