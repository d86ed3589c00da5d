import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { sendJson } from '../http/json.ts'
import { type ListenAddress, type Listener, listen } from '../http/listen.ts'
import { refusalOf } from '../http/refusal.ts'

export interface ControlPorts {
  readonly clock: Clock
  /** Answers `/health`. */
  readonly health: (res: ServerResponse) => void
}

const PROBLEM = { 'content-type': 'application/problem+json' }
const NOT_FOUND = problem(404, 'Not found')

/** The control plane. */
export function startControl(address: ListenAddress, ports: ControlPorts): Promise<Listener> {
  return listen({
    address,
    clock: ports.clock,
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
    refusalBody: refusal => problem(refusal.status, refusal.phrase),
  })
}

/** A problem document (RFC 9457). */
function problem(status: number, title: string): string {
  return JSON.stringify({ type: 'about:blank', title, status })
}
