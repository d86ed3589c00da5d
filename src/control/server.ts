import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { sendJson } from '../http/json.ts'
import { type ListenAddress, type Listener, listen } from '../http/listen.ts'
import { refusalOf } from '../http/refusal.ts'

export interface ControlPorts {
  readonly clock: Clock
  readonly log: Log
  /** Answers `/health`. */
  readonly health: (res: ServerResponse) => void
}

/** Far more than people and their scripts need. */
const MAX_CONNECTIONS = 1_000

const PROBLEM = { 'content-type': 'application/problem+json' }
const NOT_FOUND = problem(404, 'Not found')

/** The control plane. */
export function startControl(address: ListenAddress, ports: ControlPorts): Promise<Listener> {
  return listen({
    address,
    clock: ports.clock,
    log: ports.log,
    maxConnections: MAX_CONNECTIONS,
    onRequest: (req, res) => {
      const refusal = refusalOf(req)
      if (refusal)
        sendJson(res, refusal.status, problem(refusal.status, refusal.phrase), {
          ...PROBLEM,
          connection: 'close',
        })
      else if (req.url === '/health' && req.method === 'GET') ports.health(res)
      else sendJson(res, 404, NOT_FOUND, PROBLEM)
    },
    refusalAnswer: ({ status, phrase }) => ({ headers: PROBLEM, body: problem(status, phrase) }),
  })
}

/** A problem document (RFC 9457). */
function problem(status: number, title: string): string {
  return JSON.stringify({ type: 'about:blank', title, status })
}
