import type { ServerResponse } from 'node:http'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { type Listener, listen } from '../../src/http/listen.ts'
import type { TestClock } from '../support/test-clock.ts'
import type { WhenOver } from '../support/when-over.ts'

export const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'

/** A listener that hands its answers to the test. */
export interface Door extends Pick<Listener, 'url' | 'close'> {
  /** The answer of the next request that no earlier call has given out. */
  next(): Promise<ServerResponse>
  /** Requests that were handed over so far. */
  readonly served: number
  /** The lines of its log so far. */
  readonly logged: readonly Record<string, unknown>[]
}

export interface DoorOptions {
  readonly port?: number
  readonly clock?: TestClock
  readonly headMs?: number
  readonly maxConnections?: number
}

export async function openDoor(whenOver: WhenOver, options: DoorOptions = {}): Promise<Door> {
  const { port = 0, clock, headMs, maxConnections = 100 } = options
  const answers: ServerResponse[] = []
  const waiting: ((res: ServerResponse) => void)[] = []
  const logged: Record<string, unknown>[] = []
  let served = 0
  const write = (line: string) => logged.push(JSON.parse(line) as Record<string, unknown>)
  const listener = await listen({
    address: { host: '127.0.0.1', port },
    clock: clock ?? systemClock,
    ...(headMs !== undefined && { headMs }),
    maxConnections,
    log: createLog({ write }, { level: 'info', pretty: false, colour: false }),
    onRequest: (_req, res) => {
      served++
      const waiter = waiting.shift()
      if (waiter) waiter(res)
      else answers.push(res)
    },
    rejectionAnswer: ({ code }, target) => ({
      headers: {},
      body: JSON.stringify(target === undefined ? { code } : { code, target }),
    }),
  })
  whenOver(async () => {
    const closed = listener.close(0)
    clock?.advance(10_000)
    await closed
  })
  return {
    url: listener.url,
    close: graceMs => listener.close(graceMs),
    get served() {
      return served
    },
    logged,
    next: () => {
      const answer = answers.shift()
      return answer ? Promise.resolve(answer) : new Promise(resolve => waiting.push(resolve))
    },
  }
}
