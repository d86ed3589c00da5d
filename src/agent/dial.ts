import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Random } from '../base/random.ts'
import {
  INSTANCE_HEADER,
  JOIN_PATH,
  LEAVE_PATH,
  TUNNEL_PATH,
  TUNNEL_UPGRADE,
  TUNNEL_VERSION,
  VERSION_HEADER,
} from '../tunnel/control.ts'
import { acceptOf, WEBSOCKET_PROTOCOL, WEBSOCKET_VERSION, WebSocketCarrier } from '../tunnel/websocket.ts'

/** The gateway of a node, and how to trust it. PEM texts. */
export interface Server {
  readonly url: URL
  /** Instead of the authorities of the system. */
  readonly ca?: string | undefined
  /** A client certificate, with its key. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** An answer of the gateway that is no success. */
export class GatewayRejection extends Error {
  override readonly name = 'GatewayRejection'
  readonly status: number
  readonly code: string

  get isOfGateway(): boolean {
    return this.code !== UNEXPECTED
  }

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const UNEXPECTED = 'unexpected_answer'
const CONNECT_MS = 10_000
const MAX_ANSWER_BYTES = 16_384

export interface Joined {
  readonly node: string
  readonly credential: string
}

/** Exchanges a join token for a credential. @throws {GatewayRejection}, or the error of the connection */
export async function join(server: Server, token: string, name: string): Promise<Joined> {
  const answer = await post(server, JOIN_PATH, {}, JSON.stringify({ token, name }))
  const { node, credential } = JSON.parse(answer) as Partial<Joined>
  if (typeof node !== 'string' || typeof credential !== 'string')
    throw new GatewayRejection(502, UNEXPECTED, 'The answer is not that of a gateway.')
  return { node, credential }
}

/** Ends the credential. @throws {GatewayRejection}, or the error of the connection */
export async function leave(server: Server, credential: string): Promise<void> {
  await post(server, LEAVE_PATH, { authorization: `Bearer ${credential}` }, '')
}

/** How the bytes of a tunnel are carried: in an upgraded connection as they are, or in messages of a WebSocket. */
export const CARRIERS = ['upgrade', 'websocket'] as const
export type CarrierKind = (typeof CARRIERS)[number]

/** The node, for a gateway. */
export interface Caller {
  readonly credential: string
  /** Drawn by this process. */
  readonly instance: string
  readonly random: Random
}

const WEBSOCKET_KEY_BYTES = 16

/** Opens the connection of a node. @throws {GatewayRejection}, or the error of the connection */
export function dial(
  server: Server,
  carrier: CarrierKind,
  { credential, instance, random }: Caller,
  signal: AbortSignal,
): Promise<{ readonly carrier: Duplex; readonly head: Buffer }> {
  const key = Buffer.from(random.bytes(WEBSOCKET_KEY_BYTES)).toString('base64')
  const isWebSocket = carrier === 'websocket'
  return new Promise((resolve, reject) => {
    const req = requestTo(server, 'GET', TUNNEL_PATH, {
      connection: 'upgrade',
      ...(isWebSocket
        ? {
            upgrade: 'websocket',
            'sec-websocket-version': WEBSOCKET_VERSION,
            'sec-websocket-protocol': WEBSOCKET_PROTOCOL,
            'sec-websocket-key': key,
          }
        : { upgrade: TUNNEL_UPGRADE }),
      [VERSION_HEADER]: String(TUNNEL_VERSION),
      [INSTANCE_HEADER]: instance,
      authorization: `Bearer ${credential}`,
    })
    const abort = (): void => void req.destroy(new Error('the node stops'))
    signal.addEventListener('abort', abort, { once: true })
    req.on('close', () => signal.removeEventListener('abort', abort))
    req.on('upgrade', ({ headers }, socket: Socket, head: Buffer) => {
      signal.removeEventListener('abort', abort)
      req.setTimeout(0)
      socket.setNoDelay(true)
      const isRight = isWebSocket
        ? headers['sec-websocket-accept'] === acceptOf(key)
        : headers.upgrade?.toLowerCase() === TUNNEL_UPGRADE
      if (!isRight) {
        socket.destroy()
        reject(new GatewayRejection(101, UNEXPECTED, 'The server has upgraded to another protocol.'))
      } else if (isWebSocket)
        resolve({ carrier: new WebSocketCarrier(socket, { head, random }), head: Buffer.alloc(0) })
      else resolve({ carrier: socket, head })
    })
    req.on('response', res => {
      textOf(res).then(text => reject(rejectionIn(res.statusCode ?? 0, text)), reject)
    })
    req.on('error', reject)
    req.end()
  })
}

function post(server: Server, path: string, headers: Record<string, string>, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const req = requestTo(server, 'POST', path, {
      ...headers,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    })
    req.on('response', res => {
      const { statusCode = 0 } = res
      textOf(res).then(
        text =>
          statusCode >= 200 && statusCode < 300 ? resolve(text) : reject(rejectionIn(statusCode, text)),
        reject,
      )
    })
    req.on('error', reject)
    req.end(body)
  })
}

function requestTo(
  { url, ca, cert, key }: Server,
  method: string,
  path: string,
  headers: Record<string, string>,
) {
  const isSecure = url.protocol === 'https:'
  const options = {
    method,
    path,
    headers,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    agent: false as const,
    timeout: CONNECT_MS,
    ...(isSecure && { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) }),
  }
  const req = isSecure ? requestHttps(options) : requestHttp(options)
  req.on('timeout', () => req.destroy(new Error('the gateway does not answer')))
  return req
}

function textOf(res: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    res.setEncoding('utf8')
    res.on('data', (piece: string) => {
      text += piece
      if (text.length > MAX_ANSWER_BYTES) res.destroy(new Error('a long answer'))
    })
    res.on('end', () => resolve(text))
    res.on('error', reject)
  })
}

function rejectionIn(status: number, text: string): GatewayRejection {
  try {
    const { code, message } = JSON.parse(text) as { readonly code?: unknown; readonly message?: unknown }
    if (typeof code === 'string' && typeof message === 'string')
      return new GatewayRejection(status, code, message)
  } catch {
    // Not an answer of a gateway: the error below says so.
  }
  return new GatewayRejection(
    status,
    UNEXPECTED,
    `The server answered ${status}: is this the address of --node-listen?`,
  )
}
