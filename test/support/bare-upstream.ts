import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { WhenOver } from './when-over.ts'

export interface BareUpstream {
  readonly url: string
  /** How many connections are open. */
  open(): number
}

/** An upstream on bare sockets, for what may become of a connection: `onRequest` sees how many requests its connection has had, this one included. */
export async function bareUpstream(
  whenOver: WhenOver,
  onRequest: (socket: Socket, nth: number) => void,
): Promise<BareUpstream> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    let seen = ''
    let nth = 0
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
    socket.on('data', piece => {
      seen += piece.toString('latin1')
      const head = seen.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/.exec(seen)?.[1] ?? Number.NaN)
      if (head < 0 || seen.length < head + 4 + length) return
      seen = ''
      onRequest(socket, ++nth)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenOver(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open: () => sockets.size }
}
