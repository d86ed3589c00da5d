import { once } from 'node:events'
import { createServer, request as requestOn } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { WhenOver } from './when-over.ts'

/** What a proxy was asked for: `CONNECT host:port`, or the method and the whole address. */
export interface Proxied {
  readonly asked: string
  readonly authorization: string | undefined
}

export interface ForwardProxy {
  readonly port: number
  readonly seen: readonly Proxied[]
  /** Rejects everything with this status from now on; 0 lets through again. */
  reject(status: number): void
}

/** A forward proxy: tunnels for https, whole addresses for http. */
export async function forwardProxy(whenOver: WhenOver): Promise<ForwardProxy> {
  const seen: Proxied[] = []
  const sockets = new Set<Socket>()
  let rejection = 0
  const server = createServer((req, res) => {
    seen.push({ asked: `${req.method} ${req.url}`, authorization: req.headers['proxy-authorization'] })
    if (rejection > 0) return void res.writeHead(rejection).end()
    const { 'proxy-authorization': _own, ...headers } = req.headers
    const forwarded = requestOn(req.url ?? '', { method: req.method, headers }, answer => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(res)
    })
    forwarded.on('error', () => res.destroy())
    req.pipe(forwarded)
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('connect', (req, socket: Socket) => {
    seen.push({ asked: `CONNECT ${req.url}`, authorization: req.headers['proxy-authorization'] })
    socket.on('error', () => undefined)
    if (rejection > 0) return void socket.end(`HTTP/1.1 ${rejection} No\r\n\r\n`)
    const [host = '', port = ''] = (req.url ?? '').split(':')
    const through = connect({ host, port: Number(port) }, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      through.pipe(socket).pipe(through)
    })
    sockets.add(through)
    through.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenOver(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    reject: status => {
      rejection = status
    },
  }
}
