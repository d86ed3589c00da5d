import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { buildConnector as Build } from 'undici'
import { asError } from '../base/as-error.ts'
import type { Proxy } from '../base/proxies.ts'
import type { TlsMaterial } from '../base/tls-material.ts'
import type { Lookup } from './lookup.ts'
import { buildConnector } from './undici.ts'

/** A proxy that is unreachable, or rejects the tunnel. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  readonly code = 'EPROXY'
}

/** Has the code of the connect timeout of a direct connection, so that it is classified as a timeout. */
class ProxyTimeout extends Error {
  override readonly name = 'ProxyTimeout'
  readonly code = 'UND_ERR_CONNECT_TIMEOUT'
}

/** Limit of the answer to CONNECT, which has no body. */
const MAX_HEAD_BYTES = 16_384
const END_OF_HEAD = '\r\n\r\n'

/** Opens a socket to the proxy: TCP, or TLS if its address is https. */
export function socketToProxy({ origin }: Proxy, lookup: Lookup): Socket {
  const { hostname, port, protocol } = new URL(origin)
  const isSecure = protocol === 'https:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const address = { host, port: Number(port) || (isSecure ? 443 : 80), lookup, noDelay: true }
  if (!isSecure) return connectTcp(address)
  return connectTls({ ...address, servername: isIP(host) === 0 ? host : '', ALPNProtocols: ['http/1.1'] })
}

/** The event after which a socket to the proxy is writable. */
export function readyEvent({ origin }: Proxy): 'connect' | 'secureConnect' {
  return origin.startsWith('https:') ? 'secureConnect' : 'connect'
}

/**
 * Asks the proxy for a tunnel (RFC 9110 §9.3.6). Calls `done` once; the socket is the tunnel then, and paused.
 *
 * @param authority Host and port of the origin.
 */
export function openTunnel(
  socket: Socket,
  authority: string,
  proxy: Proxy,
  done: (error: Error | undefined) => void,
): void {
  let head = Buffer.alloc(0)
  const end = (error: Error | undefined): void => {
    socket.off('data', onData).off('error', onError).off('close', onClose)
    socket.pause()
    done(error)
  }
  const onError = (error: Error): void => end(new ProxyError(error.message, { cause: error }))
  const onClose = (): void => end(new ProxyError('the proxy closed the connection without an answer'))
  const onData = (piece: Buffer): void => {
    head = Buffer.concat([head, piece])
    const at = head.indexOf(END_OF_HEAD)
    if (at < 0 && head.length <= MAX_HEAD_BYTES) return
    const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(head.toString('latin1', 0, 16)) ?? []
    if (at < 0 || status === undefined) return end(new ProxyError('the proxy does not answer in HTTP'))
    if (!status.startsWith('2')) return end(new ProxyError(`the proxy answered ${status}`))
    const rest = head.subarray(at + END_OF_HEAD.length)
    end(undefined)
    if (rest.length > 0) socket.unshift(rest)
  }
  socket.on('data', onData).on('error', onError).on('close', onClose)
  const lines = [`CONNECT ${authority} HTTP/1.1`, `host: ${authority}`, ...authorizationLines(proxy)]
  socket.write(`${lines.join('\r\n')}${END_OF_HEAD}`)
}

/** The options of node:tls for an endpoint's certificates. */
export function certificates(tls: TlsMaterial | undefined): Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> {
  if (!tls) return {}
  const { ca, cert, key } = tls
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) }
}

function authorizationLines({ authorization }: Proxy): string[] {
  return authorization === undefined ? [] : [`proxy-authorization: ${authorization}`]
}

/** Host and port in the form that CONNECT requires. */
export function authorityOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
}

/**
 * A connector through a proxy: for an https origin a tunnel with end-to-end TLS; for an http origin the
 * connection to the proxy itself, whose requests need the absolute form.
 *
 * @param connectMs Timeout of the whole connection, including tunnel and TLS.
 */
export function proxyConnector(
  origin: URL,
  proxy: Proxy,
  connectMs: number,
  lookup: Lookup,
  tls?: TlsMaterial,
): Build.connector {
  // Shared, because it caches TLS sessions. No timeout of its own: `connectMs` covers all steps.
  const secure = buildConnector({ ...certificates(tls), timeout: 0, allowH2: false })
  return (options, callback) => {
    const socket = socketToProxy(proxy, lookup)
    let isOver = false
    const end = (error: Error | null, ready: Socket | null): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      socket.off('error', unreachable)
      if (error) socket.on('error', () => undefined).destroy()
      if (error || !ready) callback(error ?? new ProxyError('no connection'), null)
      else callback(null, ready)
    }
    const unreachable = (error: NodeJS.ErrnoException): void =>
      end(
        new ProxyError(`the proxy cannot be reached (${error.code ?? error.message})`, { cause: error }),
        null,
      )
    const timer = setTimeout(
      () => end(new ProxyTimeout(`no connection through the proxy within ${connectMs} ms`), null),
      connectMs,
    )
    socket.once('error', unreachable)
    socket.once(readyEvent(proxy), () => {
      if (origin.protocol === 'http:') return end(null, socket)
      openTunnel(socket, authorityOf(origin), proxy, error => {
        if (error) return end(error, null)
        try {
          secure({ ...options, httpSocket: socket }, (failure, tunnelled) => end(failure, tunnelled))
        } catch (rejected) {
          end(asError(rejected), null) // OpenSSL rejects the certificates, such as a key that is too short
        }
      })
    })
  }
}
