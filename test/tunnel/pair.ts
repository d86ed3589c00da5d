import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import type { Clock } from '../../src/base/clock.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { SharedReads } from '../../src/http/node-internals.ts'
import {
  type CloseReason,
  type ConnectionHandler,
  type ConnectionOptions,
  TunnelConnection,
} from '../../src/tunnel/connection.ts'
import type { ControlMessage } from '../../src/tunnel/control.ts'
import { join } from '../../src/tunnel/join.ts'
import { WebSocketCarrier } from '../../src/tunnel/websocket.ts'
import { certificate } from '../support/certificate.ts'

const reads = new SharedReads()

/** One end of a connection, with what happened to it. */
export interface End {
  readonly connection: TunnelConnection
  readonly controls: ControlMessage[]
  readonly silences: boolean[]
  readonly drains: number[]
  readonly hello: Promise<void>
  readonly closed: Promise<CloseReason>
}

export function endOf(
  carrier: Duplex,
  options: Partial<ConnectionOptions> & Pick<ConnectionOptions, 'side'>,
  onOpen?: ConnectionHandler['onOpen'],
): End {
  const hello = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<CloseReason>()
  const seen = { controls: [] as ControlMessage[], silences: [] as boolean[], drains: [] as number[] }
  const connection = new TunnelConnection(carrier, {
    clock: systemClock,
    version: 'test',
    // As a gateway of its own does.
    ...(options.side === 'gateway' && {
      takeReads: (socket: Duplex, onRead: (bytes: Buffer, length: number) => void) =>
        reads.take(socket, onRead),
    }),
    ...options,
    handler: {
      onHello: () => hello.resolve(),
      onControl: message => void seen.controls.push(message),
      onSilent: isSilent => void seen.silences.push(isSilent),
      onDrain: graceMs => void seen.drains.push(graceMs),
      onClose: reason => closed.resolve(reason),
      ...(onOpen && { onOpen }),
    },
  })
  return { connection, ...seen, hello: hello.promise, closed: closed.promise }
}

/** A clock whose timers are due `times` sooner. */
export function fastClock(times: number): Clock {
  return { ...systemClock, after: (ms, task) => systemClock.after(ms / times, task) }
}

export type Carrier = 'tcp' | 'tls' | 'websocket'
const AUTHORITY = certificate({ names: ['127.0.0.1'], isAuthority: true })

/** A listener of the gateway's side, and a way to dial it, possibly through another port. */
export async function carriers(kind: Carrier): Promise<{
  readonly port: number
  /** The sockets of both sides. */
  dial(port?: number): Promise<{ readonly gateway: Duplex; readonly node: Duplex }>
  close(): void
}> {
  const accepted: ((socket: Socket) => void)[] = []
  const onSocket = (socket: Socket): void => {
    socket.on('error', () => undefined)
    accepted.shift()?.(socket)
  }
  const server =
    kind === 'tls'
      ? createTlsServer({ cert: AUTHORITY.cert, key: AUTHORITY.key, allowHalfOpen: true }, onSocket)
      : createServer({ allowHalfOpen: true }, onSocket)
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    async dial(to = port) {
      const gateway = new Promise<Socket>(resolve => accepted.push(resolve))
      const options = { host: '127.0.0.1', port: to }
      const node =
        kind === 'tls'
          ? connectTls({ ...options, ca: AUTHORITY.cert })
          : connect({ ...options, allowHalfOpen: true })
      node.on('error', () => undefined)
      await once(node, kind === 'tls' ? 'secureConnect' : 'connect')
      if (kind !== 'websocket') return { gateway: await gateway, node }
      const head = Buffer.alloc(0)
      return {
        gateway: new WebSocketCarrier(await gateway, { head }),
        node: new WebSocketCarrier(node, { head, random: systemRandom }),
      }
    },
    close: () => void server.close(),
  }
}

export interface Pair {
  readonly gateway: End
  readonly node: End
  readonly sockets: { readonly gateway: Duplex; readonly node: Duplex }
  close(): void
}

/**
 * Both ends of a connection that has said hello.
 *
 * @param engines Ports of engines by name.
 */
export async function pair(
  kind: Carrier,
  engines: Readonly<Record<string, number>> = {},
  options: {
    readonly gateway?: Partial<ConnectionOptions>
    readonly node?: Partial<ConnectionOptions>
    readonly onOpen?: ConnectionHandler['onOpen']
  } = {},
): Promise<Pair> {
  const listener = await carriers(kind)
  const sockets = await listener.dial()
  const gateway = endOf(sockets.gateway, { ...options.gateway, side: 'gateway' })
  const node = endOf(sockets.node, { ...options.node, side: 'node' }, options.onOpen ?? toEngines(engines))
  await Promise.all([gateway.hello, node.hello])
  return {
    gateway,
    node,
    sockets,
    close() {
      gateway.connection.close('the test is over')
      node.connection.close('the test is over')
      listener.close()
    },
  }
}

export function toEngines(
  engines: Readonly<Record<string, number>>,
): NonNullable<ConnectionHandler['onOpen']> {
  return (stream, engine) => {
    const port = engines[engine]
    if (port === undefined) return void stream.destroy()
    join(stream, connect({ host: '127.0.0.1', port, allowHalfOpen: true }))
  }
}
