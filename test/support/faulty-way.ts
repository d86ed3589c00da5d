import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { WhenOver } from './when-over.ts'

/**
 * `stall`: bytes wait, and arrive late. `swallow`: bytes are lost without an error, and so is all that comes after them on the same
 * connection. `cut`: connections are reset, and new ones rejected.
 */
export type WayState =
  | 'open'
  | 'cut'
  | 'stall'
  | 'stall requests'
  | 'stall answers'
  | 'swallow requests'
  | 'swallow answers'

/** A TCP proxy on 127.0.0.1 between a program and a server, which fails as networks do. */
export interface FaultyWay {
  readonly port: number
  /** How many connections are open. */
  readonly connections: () => number
  set(state: WayState): void
  /** New connections go there; those that are open are reset. */
  lead(port: number): void
}

type Direction = 'requests' | 'answers'

/** One direction of a connection. */
class Lane {
  readonly #from: Socket
  readonly #to: Socket
  readonly #late: Buffer[] = []
  #isLost = false
  #hasEnded = false

  constructor(from: Socket, to: Socket, direction: Direction, state: () => WayState) {
    this.#from = from
    this.#to = to
    from.on('data', bytes => {
      const now = state()
      if (now === `swallow ${direction}`) this.#isLost = true
      if (this.#isLost) return
      if (now === 'stall' || now === `stall ${direction}`) this.#late.push(bytes)
      else to.write(bytes)
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      this.#hasEnded = true
      // What is on its way arrives, and the news of the end after it; a network that loses bytes loses the news.
      if (state() === 'open') this.deliver()
    })
  }

  deliver(): void {
    for (const bytes of this.#late.splice(0)) this.#to.write(bytes)
    if (this.#hasEnded && !this.#isLost) this.#to.end()
  }

  reset(): void {
    this.#from.resetAndDestroy()
  }
}

export async function faultyWay(target: number, whenOver: WhenOver): Promise<FaultyWay> {
  let state: WayState = 'open'
  let leadsTo = target
  const lanes = new Set<Lane>()
  const server = createServer(client => {
    if (state === 'cut') return void client.resetAndDestroy()
    const upstream = connect(leadsTo, '127.0.0.1')
    const both = [
      new Lane(client, upstream, 'requests', () => state),
      new Lane(upstream, client, 'answers', () => state),
    ]
    for (const lane of both) lanes.add(lane)
    let open = 2
    for (const socket of [client, upstream]) {
      socket.on('close', () => {
        if (--open === 0) for (const lane of both) lanes.delete(lane)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const reset = () => {
    for (const lane of lanes) lane.reset()
  }
  whenOver(() => {
    reset()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => lanes.size / 2,
    set(next) {
      state = next
      if (next === 'cut') reset()
      if (next === 'open') for (const lane of lanes) lane.deliver()
    },
    lead(port) {
      leadsTo = port
      reset()
    },
  }
}
