import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { buildConnector } from 'undici'
import { type Proxy, parseProxy } from '../../base/proxies.ts'
import { codingOf, decodedAtOnce } from '../coding.ts'
import { parseContinue } from '../interim.ts'
import { guardedLookup, type Lookup } from '../lookup.ts'
import { authorityOf, openTunnel, ProxyError, readyEvent, socketToProxy } from '../proxy.ts'
import { Client, request as requestOn } from '../undici.ts'

/** How far a request has come: what a deadline that strikes then means. */
export type Phase = 'resolving' | 'connecting' | 'securing' | 'waiting' | 'reading'

interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: string[]
  readonly body: Buffer | null
  readonly limitBytes: number
}

interface Answered {
  readonly status: number
  readonly contentType: string
  readonly location: string | undefined
  /** It bears `retry-after` or OpenAI's `retry-after-ms`. */
  readonly asksToWait: boolean
  readonly body: Buffer
}

/**
 * A connection for one request. It makes its socket itself, because undici keeps one that is still connecting until
 * the system gives up, and because how far it came is half of a diagnosis.
 */
export class Connection {
  phase: Phase = 'resolving'
  readonly #client: Client
  readonly #lookup: Lookup
  #socket: Socket | undefined
  #reason: Error | undefined
  readonly #origin: URL
  readonly #proxy: Proxy | undefined

  /** @param proxy The address of the one that the origin is reached by. */
  constructor(origin: string, lookup: Lookup | undefined, proxy?: string) {
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
      // Whoever asks has deadlines of its own, which interim answers do not reset.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    parseContinue(this.#client)
  }

  /** May be called once. Rejects with what {@link destroy} was given, or with what undici or the system said. */
  async request(asked: Asked): Promise<Answered> {
    const { limitBytes, ...request } = this.#proxied(asked)
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
      throw this.#reason ?? error
    }
  }

  /** Ends it now, wherever it stands. */
  destroy(reason: Error): void {
    this.#reason ??= reason
    this.#socket?.destroy(reason)
    void this.#client.destroy(reason)
  }

  /** Resolves when the socket is gone. */
  async close(): Promise<void> {
    this.#socket?.destroy()
    await this.#client.destroy()
  }

  /** A proxy of plain HTTP is sent whole addresses. */
  #proxied(asked: Asked): Asked {
    if (!this.#proxy || this.#origin.protocol !== 'http:') return asked
    const { authorization } = this.#proxy
    return {
      ...asked,
      path: this.#origin.origin + asked.path,
      headers:
        authorization === undefined
          ? asked.headers
          : [...asked.headers, 'proxy-authorization', authorization],
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
      ? connectTls({ ...address, servername: isName ? options.hostname : '', ALPNProtocols: ['http/1.1'] })
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
        const secure = connectTls({ socket, host, servername, ALPNProtocols: ['http/1.1'] })
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

/** Also a probe is answered compressed by those who compress whatever they are asked for. */
function plain(encoding: string | string[] | undefined, body: Buffer, limitBytes: number): Buffer {
  const coding = codingOf([encoding ?? []].flat().flatMap(value => ['content-encoding', value]))
  if (coding === undefined || coding === 'unknown') return body
  return decodedAtOnce(body, coding, limitBytes) ?? body
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
