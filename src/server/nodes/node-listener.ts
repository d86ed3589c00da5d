import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { networksOf } from '../../admin/session/login-throttle.ts'
import { keyDigest } from '../../base/api-key.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { isJoinToken, isNodeCredential, newNodeCredential } from '../../base/node-secrets.ts'
import type { Random } from '../../base/random.ts'
import type { ListenAddress } from '../../http/listen.ts'
import { RateBucket } from '../../limits/gcra.ts'
import type { Rate } from '../../schema/limits.ts'
import { name as nodeName } from '../../schema/scalars.ts'
import type { JoinRejection, NodeIdentity, ServingNodes } from '../../store/nodes/types.ts'
import {
  INSTANCE_HEADER,
  JOIN_PATH,
  LEAVE_PATH,
  TUNNEL_PATH,
  TUNNEL_UPGRADE,
  TUNNEL_VERSION,
  VERSION_HEADER,
} from '../../tunnel/control.ts'
import {
  acceptOf,
  isWebSocketKey,
  WEBSOCKET_PROTOCOL,
  WEBSOCKET_VERSION,
  WebSocketCarrier,
} from '../../tunnel/websocket.ts'
import type { ConnectedNodes } from './connected-nodes.ts'

/** PEM texts. */
export interface NodeTls {
  readonly cert: string
  readonly key: string
  /** Nodes must show a certificate of these authorities. */
  readonly clientCa?: string
}

export interface NodeListenerPorts {
  readonly store: { readonly servingNodes: ServingNodes }
  readonly nodes: ConnectedNodes
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly tls?: NodeTls | undefined
}

export interface NodeListener {
  /** With the actual port. */
  readonly url: string
  /** Accepts no more connections; those of nodes stay. */
  stop(): void
}

const HEAD_MS = 10_000
const MAX_HEADER_BYTES = 16_384
const MAX_BODY_BYTES = 4_096
/** Of nodes and all other clients together. */
const MAX_CONNECTIONS = 8_192
/** Connections of one network that have not authenticated yet. */
const MAX_PENDING = 256
/** Failed attempts of one network, a minute. */
const ATTEMPTS = { limit: 120, burst: 50 }
/** Networks whose failed attempts are remembered. */
const MAX_NETWORKS = 10_000
/** Audit lines of rejected attempts, a minute: a flood must not fill the store. */
const AUDITED = { limit: 6, burst: 20 }
const INSTANCE = /^[0-9a-f]{16}$/

/** A rejection, for the node and the audit. */
interface Rejection {
  readonly status: number
  readonly code: string
  readonly message: string
}

const REJECTIONS = {
  not_found: { status: 404, message: 'There is nothing here.' },
  too_many: { status: 429, message: 'Too many attempts: try again in a moment.' },
  malformed: { status: 400, message: 'The request is malformed.' },
  version: { status: 426, message: `This gateway speaks version ${TUNNEL_VERSION} of gw-tunnel.` },
  unknown_credential: {
    status: 401,
    message: 'The credential of the node is unknown or revoked: join again.',
  },
  not_declared: { status: 403, message: 'No file declares a node of this name (settings.nodes.admission).' },
  name_taken: { status: 409, message: 'A node of this name is connected.' },
  unknown_token: { status: 401, message: 'The join token is unknown.' },
  expired_token: { status: 401, message: 'The join token has expired.' },
  used_token: { status: 401, message: 'The join token was used already.' },
  reused_credential: {
    status: 401,
    message: 'An earlier credential of this node was used again: all of them are revoked. Join again.',
  },
  replaced_just_now: {
    status: 503,
    message:
      'This credential was replaced a moment ago: use the one that replaced it, or try again in a minute.',
  },
  joined_already: {
    status: 409,
    message: 'A node of this name has joined: revoke it first, or use a token for this very name.',
  },
  other_name: { status: 403, message: 'The join token is for another name.' },
  unavailable: { status: 503, message: 'The gateway cannot read its store now.' },
} as const satisfies Record<string, Omit<Rejection, 'code'>> & Record<JoinRejection, Omit<Rejection, 'code'>>
type RejectionCode = keyof typeof REJECTIONS

/**
 * Listens for nodes: they join by a token, and open their connection by a credential. Nothing else is served here.
 *
 * @throws the system's error if it cannot listen
 */
export async function listenForNodes(
  { host, port, fd }: ListenAddress,
  ports: NodeListenerPorts,
): Promise<NodeListener> {
  const { tls, log } = ports
  const gate = new NodeGate(ports)
  const limits = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEAD_MS,
    requestTimeout: HEAD_MS,
    connectionsCheckingInterval: 1_000,
  }
  const server: Server = tls
    ? createSecureServer({
        ...limits,
        handshakeTimeout: HEAD_MS,
        cert: tls.cert,
        key: tls.key,
        minVersion: 'TLSv1.2',
        ...(tls.clientCa !== undefined && { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }),
      })
    : createServer(limits)
  server.maxConnections = MAX_CONNECTIONS
  server.on('connection', (socket: Socket) => gate.connected(socket))
  server.on('request', (req: IncomingMessage, res: ServerResponse) => gate.request(req, res))
  // A server of HTTP upgrades sockets, whatever its types say.
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) =>
    gate.upgrade(req, socket as Socket, head),
  )
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(fd === undefined ? { host, port } : { fd }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  server.on('error', error => log.error({ err: error }, 'a connection of a node could not be accepted'))
  const { address, family, port: actual } = server.address() as AddressInfo
  const at = family === 'IPv6' ? `[${address}]` : address
  return {
    url: `${tls ? 'https' : 'http'}://${at}:${actual}`,
    stop() {
      server.close()
      server.closeIdleConnections()
    },
  }
}

class NodeGate {
  readonly #ports: NodeListenerPorts
  /** By the network of the other side. */
  readonly #attempts = new Map<string, RateBucket>()
  readonly #audited = new RateBucket()
  /** Connections that are no node's yet: their network by {@link peerOf}, and how many of a network. */
  readonly #pending = new Map<string, string>()
  readonly #pendingOf = new Map<string, number>()

  constructor(ports: NodeListenerPorts) {
    this.#ports = ports
  }

  /** Closes a connection if its network has too many that are no node's yet. */
  connected(socket: Socket): void {
    const { network } = networksOf(addressOf({ socket }))
    const count = this.#pendingOf.get(network) ?? 0
    if (count >= MAX_PENDING) return void socket.destroy()
    const peer = peerOf(socket)
    this.#pending.set(peer, network)
    this.#pendingOf.set(network, count + 1)
    socket.once('close', () => this.#settle(peer))
  }

  /** A connection is a node's now, or closed. */
  #settle(peer: string): void {
    const network = this.#pending.get(peer)
    if (network === undefined) return
    this.#pending.delete(peer)
    const count = (this.#pendingOf.get(network) ?? 1) - 1
    if (count === 0) this.#pendingOf.delete(network)
    else this.#pendingOf.set(network, count)
  }

  request(req: IncomingMessage, res: ServerResponse): void {
    const answer = (status: number, body: object): void => {
      res.writeHead(status, {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        connection: 'close',
      })
      res.end(JSON.stringify(body))
    }
    const handle = req.method === 'POST' && ROUTES.get(req.url ?? '')
    if (!handle) return answer(404, bodyOf('not_found'))
    this.#attempt(req, () => handle(this, req))
      .then(done => answer(200, done))
      .catch((error: unknown) => {
        const code = this.#reject(req, error)
        answer(REJECTIONS[code].status, bodyOf(code))
      })
  }

  upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    this.#attempt(req, () => this.#connect(req, socket, head)).catch((error: unknown) => {
      const code = this.#reject(req, error)
      const body = JSON.stringify(bodyOf(code))
      socket.end(
        `HTTP/1.1 ${REJECTIONS[code].status} Rejected\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      )
      this.#ports.clock.after(1_000, () => socket.destroy())
    })
  }

  async join(req: IncomingMessage): Promise<object> {
    const { store, nodes, random, log } = this.#ports
    const { token, name } = wantedBy(await textOf(req))
    if (!nodeName.safeParse(name).success) throw new Rejected('malformed')
    if (!isJoinToken(token)) throw new Rejected('unknown_token', name)
    const digest = keyDigest(token)
    const usable = await store.servingNodes.checkToken(digest, name)
    if (typeof usable === 'string') throw new Rejected(usable, name)
    // Before the token is used: what files decide is corrected without another token.
    if (!nodes.isAdmitted(name)) throw new Rejected('not_declared', name)
    if (nodes.isAlive(name)) throw new Rejected('name_taken', name)
    const credential = newNodeCredential(random)
    const joined = await store.servingNodes.join(digest, name, keyDigest(credential))
    if (typeof joined === 'string') throw new Rejected(joined, name)
    await store.servingNodes.audit({ action: 'join_node', user: name, node: name, address: addressOf(req) })
    log.info({ node: name, address: addressOf(req), token: usable.id }, 'node joined')
    return { node: name, credential, labels: joined.labels }
  }

  /** A node ends its own credential. */
  async leave(req: IncomingMessage): Promise<object> {
    const { store, log } = this.#ports
    const identity = await this.#identityOf(req)
    const { node } = identity
    await store.servingNodes.leave(identity)
    await store.servingNodes.audit({ action: 'leave_node', user: node, node, address: addressOf(req) })
    log.info({ node, address: addressOf(req) }, 'node left')
    return { node, left: true }
  }

  async #identityOf(req: IncomingMessage): Promise<NodeIdentity> {
    const [, credential = ''] = /^Bearer (\S+)$/i.exec(req.headers.authorization ?? '') ?? []
    if (!isNodeCredential(credential)) throw new Rejected('unknown_credential')
    const { servingNodes } = this.#ports.store
    const identity = await servingNodes.identity(keyDigest(credential))
    if (!identity) throw new Rejected('unknown_credential')
    if (identity === 'replaced_just_now') throw new Rejected('replaced_just_now')
    if (!('reusedOf' in identity)) return identity
    const { reusedOf: node } = identity
    // Once for each theft: always in the audit.
    this.#ports.log.error({ node, address: addressOf(req) }, 'an earlier credential of a node was used again')
    await servingNodes.audit({
      action: 'revoke_node',
      user: 'unknown',
      node,
      address: addressOf(req),
      reason: 'reused_credential',
    })
    throw new Rejected('reused_credential', node)
  }

  async #connect(req: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { nodes } = this.#ports
    if (req.url !== TUNNEL_PATH || req.method !== 'GET') throw new Rejected('not_found')
    const upgrade = upgradeOf(req)
    if (req.headers[VERSION_HEADER] !== String(TUNNEL_VERSION)) throw new Rejected('version')
    const instance = req.headers[INSTANCE_HEADER]
    if (typeof instance !== 'string' || !INSTANCE.test(instance)) throw new Rejected('malformed')
    const identity = await this.#identityOf(req)
    if (!nodes.isAdmitted(identity.node)) throw new Rejected('not_declared', identity.node)
    const connection = { identity, instance, address: addressOf(req) }
    if (!nodes.mayConnect(connection)) throw new Rejected('name_taken', identity.node)
    if (socket.destroyed) return
    const lines = [...upgrade.lines, `${VERSION_HEADER}: ${TUNNEL_VERSION}`]
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n${lines.join('\r\n')}\r\n\r\n`)
    this.#settle(peerOf(req.socket))
    nodes.accept({
      ...connection,
      ...(upgrade.isWebSocket
        ? { carrier: new WebSocketCarrier(socket, { head }), head: Buffer.alloc(0) }
        : { carrier: socket, head }),
    })
  }

  /** Only failures count: nodes that come back all at once are not limited. @throws {Rejected} too_many */
  async #attempt<T>(req: IncomingMessage, work: () => Promise<T>): Promise<T> {
    const attempts = this.#attemptsFrom(addressOf(req))
    const takenAtMs = this.#tickMs
    if (!takes(attempts, ATTEMPTS, takenAtMs)) throw new Rejected('too_many')
    const result = await work()
    attempts.correct(-1, takenAtMs, this.#tickMs)
    return result
  }

  get #tickMs(): number {
    return Math.floor(this.#ports.clock.monotonicMs())
  }

  #attemptsFrom(address: string): RateBucket {
    const { network } = networksOf(address)
    const attempts = this.#attempts.get(network) ?? new RateBucket()
    // The network of the latest attempt is the last one: the first is dropped.
    this.#attempts.delete(network)
    this.#attempts.set(network, attempts)
    if (this.#attempts.size > MAX_NETWORKS) {
      const [oldest = ''] = this.#attempts.keys()
      this.#attempts.delete(oldest)
    }
    return attempts
  }

  #reject(req: IncomingMessage, error: unknown): RejectionCode {
    const { log, store } = this.#ports
    const address = addressOf(req)
    const { code, node }: Pick<Rejected, 'code' | 'node'> =
      error instanceof Rejected ? error : { code: 'unavailable', node: '' }
    if (!takes(this.#audited, AUDITED, this.#tickMs)) return code
    if (error instanceof Rejected) log.warn({ node, address, code }, 'a node was rejected')
    else log.error({ err: error }, 'a node could not be accepted')
    store.servingNodes
      .audit({ action: 'reject_node', user: 'unknown', node: node || 'unknown', address, reason: code })
      .catch((failure: unknown) => log.warn({ err: failure }, 'the rejection of a node cannot be audited'))
    return code
  }
}

const ROUTES: ReadonlyMap<string, (gate: NodeGate, req: IncomingMessage) => Promise<object>> = new Map([
  [JOIN_PATH, (gate: NodeGate, req: IncomingMessage) => gate.join(req)],
  [LEAVE_PATH, (gate: NodeGate, req: IncomingMessage) => gate.leave(req)],
])

class Rejected extends Error {
  override readonly name = 'Rejected'
  readonly code: RejectionCode
  /** The name of the node, if it is known. */
  readonly node: string

  constructor(code: RejectionCode, node = '') {
    super(REJECTIONS[code].message)
    this.code = code
    this.node = node
  }
}

/** Takes one unit, if the rate allows it. */
function takes(bucket: RateBucket, rate: Rate, nowMs: number): boolean {
  const isAllowed = bucket.waitMs(rate, 1, nowMs) === 0
  if (isAllowed) bucket.take(rate, 1, nowMs)
  return isAllowed
}

/** How the connection is upgraded, and the headers of the answer. @throws {Rejected} malformed */
function upgradeOf({ headers }: IncomingMessage): {
  readonly isWebSocket: boolean
  readonly lines: readonly string[]
} {
  const upgrade = headers.upgrade?.toLowerCase()
  if (upgrade === TUNNEL_UPGRADE) return { isWebSocket: false, lines: [`upgrade: ${TUNNEL_UPGRADE}`] }
  const key = headers['sec-websocket-key']
  const protocols = headers['sec-websocket-protocol']?.split(',').map(name => name.trim()) ?? []
  if (
    upgrade !== 'websocket' ||
    headers['sec-websocket-version'] !== WEBSOCKET_VERSION ||
    !isWebSocketKey(key) ||
    !protocols.includes(WEBSOCKET_PROTOCOL)
  )
    throw new Rejected('malformed')
  const accept = `sec-websocket-accept: ${acceptOf(key)}`
  return {
    isWebSocket: true,
    lines: ['upgrade: websocket', accept, `sec-websocket-protocol: ${WEBSOCKET_PROTOCOL}`],
  }
}

function bodyOf(code: RejectionCode): object {
  return { code, message: REJECTIONS[code].message }
}

/** The same for a TLS connection and the one below it. */
function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

function addressOf({ socket }: { readonly socket: Socket }): string {
  return socket.remoteAddress ?? ''
}

/** @throws {Rejected} malformed */
async function textOf(req: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of req as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MAX_BODY_BYTES) throw new Rejected('malformed')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** @throws {Rejected} malformed */
function wantedBy(text: string): { readonly token: string; readonly name: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Rejected('malformed')
  }
  const { token, name } = (value ?? {}) as Readonly<Record<string, unknown>>
  if (typeof token !== 'string' || typeof name !== 'string') throw new Rejected('malformed')
  return { token, name }
}
