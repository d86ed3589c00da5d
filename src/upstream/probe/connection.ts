import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import type { buildConnector } from 'undici'
import { asError } from '../../base/as-error.ts'
import { type Proxy, parseProxy } from '../../base/proxies.ts'
import { codingOf, decodedAtOnce } from '../coding.ts'
import { guardedLookup, type Lookup } from '../lookup.ts'
import { authorityOf, certificates, openTunnel, ProxyError, readyEvent, socketToProxy } from '../proxy.ts'
import type { Upstream } from '../types.ts'
import { Client, parseContinue, request as requestOn } from '../undici.ts'

/** Progress of a request, which determines the meaning of a timeout. */
export type Phase = 'resolving' | 'connecting' | 'securing' | 'waiting' | 'reading'

interface ConnectionRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: string[]
  readonly body: Buffer | null
  readonly limitBytes: number
}

interface ConnectionAnswer {
  readonly status: number
  readonly contentType: string
  readonly location: string | undefined
  /** It has `retry-after` or OpenAI's `retry-after-ms`. */
  readonly asksToWait: boolean
  readonly body: Buffer
}

/**
 * A connection for one request. It creates its own socket, because undici keeps a connecting socket until the system
 * gives up, and because a diagnosis needs the phase.
 */
export class Connection {
  phase: Phase = 'resolving'
  readonly #client: Client
  readonly #lookup: Lookup
  #socket: Socket | undefined
  #reason: Error | undefined
  /** Of the server after the handshake. undici replaces it by the end of the connection, which follows. */
  #alert: Error | undefined
  readonly #origin: URL
  readonly #proxy: Proxy | undefined
  readonly #certificates: ReturnType<typeof certificates>

  constructor(
    { origin, proxy, tls }: Pick<Upstream, 'origin' | 'proxy' | 'tls'>,
    lookup: Lookup | undefined,
  ) {
    this.#certificates = certificates(tls)
    this.#origin = new URL(origin)
    this.#proxy = proxy === undefined ? undefined : parseProxy(proxy)
    const resolve = guardedLookup(lookup)
    this.#lookup = (hostname, options, done) =>
      resolve(hostname, options, (...found) => {
        this.phase = 'connecting'
        done(...found)
      })
    this.#client = new Client(origin, {
      connect: (options, done) => this.#connect(options, done),
      // The caller has its own timeouts, which interim answers do not reset.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    parseContinue(this.#client)
  }

  /** May be called once. Rejects with the reason of {@link destroy}, or with the error of undici or the system. */
  async request(options: ConnectionRequest): Promise<ConnectionAnswer> {
    const { limitBytes, ...request } = this.#proxied(options)
    try {
      const { statusCode, headers, body } = await requestOn.call(this.#client, request)
      this.phase = 'reading'
      const pieces: Buffer[] = []
      let lengthBytes = 0
      for await (const piece of body as AsyncIterable<Buffer>) {
        pieces.push(piece)
        lengthBytes += piece.length
        if (lengthBytes >= limitBytes) break
      }
      return {
        status: statusCode,
        contentType: one(headers['content-type']) ?? '',
        location: one(headers['location']),
        asksToWait: headers['retry-after'] !== undefined || headers['retry-after-ms'] !== undefined,
        body: plain(headers['content-encoding'], Buffer.concat(pieces).subarray(0, limitBytes), limitBytes),
      }
    } catch (error) {
      throw this.#reason ?? this.#alert ?? error
    }
  }

  /** Ends the connection immediately, in any phase. */
  destroy(reason: Error): void {
    this.#reason ??= reason
    this.#socket?.destroy(reason)
    void this.#client.destroy(reason)
  }

  /** Resolves when the connection is closed. */
  async close(): Promise<void> {
    this.#socket?.destroy()
    await this.#client.destroy()
  }

  /** A plain HTTP proxy requires the absolute form of the path. */
  #proxied(request: ConnectionRequest): ConnectionRequest {
    if (!this.#proxy || this.#origin.protocol !== 'http:') return request
    const { authorization } = this.#proxy
    return {
      ...request,
      path: this.#origin.origin + request.path,
      headers:
        authorization === undefined
          ? request.headers
          : [...request.headers, 'proxy-authorization', authorization],
    }
  }

  #connect(options: buildConnector.Options, done: buildConnector.Callback): void {
    if (this.#proxy) return this.#connectBy(this.#proxy, options, done)
    const isSecure = options.protocol === 'https:'
    const isName = isIP(options.hostname) === 0
    if (!isName) this.phase = 'connecting'
    const address = {
      host: options.hostname,
      port: Number(options.port) || (isSecure ? 443 : 80),
      lookup: this.#lookup,
      noDelay: true,
    }
    const socket = isSecure
      ? this.#secure({ ...address, servername: isName ? options.hostname : '' })
      : connectTcp(address)
    this.#socket = socket
    socket.once('connect', () => {
      this.phase = isSecure ? 'securing' : 'waiting'
    })
    const fail = (error: Error) => done(error, null)
    socket.once('error', fail)
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      socket.off('error', fail)
      this.phase = 'waiting'
      done(null, socket)
    })
  }

  /** @throws {Error} if OpenSSL rejects the certificates, such as a key that is too short. */
  #secure(options: ConnectionOptions): TLSSocket {
    try {
      const secure = connectTls({ ...options, ...this.#certificates, ALPNProtocols: ['http/1.1'] })
      secure.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code?.startsWith('ERR_SSL_')) this.#alert ??= error
      })
      return secure
    } catch (error) {
      this.phase = 'securing'
      throw error
    }
  }

  #connectBy(proxy: Proxy, options: buildConnector.Options, done: buildConnector.Callback): void {
    const socket = socketToProxy(proxy, this.#lookup)
    this.#socket = socket
    const fail = (error: Error) => done(error, null)
    const unreachable = (error: NodeJS.ErrnoException) =>
      fail(new ProxyError(`cannot be reached (${error.code ?? error.message})`, { cause: error }))
    const ready = (connected: Socket) => {
      this.phase = 'waiting'
      done(null, connected)
    }
    socket.once('error', unreachable)
    socket.once(readyEvent(proxy), () => {
      socket.off('error', unreachable)
      if (this.#origin.protocol === 'http:') return ready(socket)
      openTunnel(socket, authorityOf(this.#origin), proxy, error => {
        if (error) return fail(error)
        this.phase = 'securing'
        const isName = isIP(options.hostname) === 0
        const servername = isName ? options.hostname : ''
        const host = options.hostname
        let secure: TLSSocket
        try {
          secure = this.#secure({ socket, host, servername })
        } catch (rejected) {
          return fail(asError(rejected))
        }
        this.#socket = secure
        secure.once('error', fail)
        secure.once('secureConnect', () => {
          secure.off('error', fail)
          ready(secure)
        })
      })
    })
  }
}

/** Decodes the answer of a server that compresses although `identity` was requested. */
function plain(encoding: string | string[] | undefined, body: Buffer, limitBytes: number): Buffer {
  const coding = codingOf([encoding ?? []].flat().flatMap(value => ['content-encoding', value]))
  if (coding === undefined || coding === 'unknown') return body
  return decodedAtOnce(body, coding, limitBytes) ?? body
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
