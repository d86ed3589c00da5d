import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { sendJson } from '../http/json.ts'
import { type ListenAddress, type Listener, listen } from '../http/listen.ts'

export interface ControlPorts {
  readonly clock: Clock
  /** Answers `/health`. */
  readonly health: (res: ServerResponse) => void
}

const NOT_FOUND = problem(404, 'Not found')

/** The control plane. */
export function startControl(address: ListenAddress, ports: ControlPorts): Promise<Listener> {
  return listen({
    address,
    clock: ports.clock,
    onRequest: (req, res) => {
      if (req.url === '/health' && req.method === 'GET') ports.health(res)
      else sendJson(res, 404, NOT_FOUND, { 'content-type': 'application/problem+json' })
    },
    refusalBody: refusal => problem(refusal.status, refusal.phrase),
  })
}

/** A problem document (RFC 9457). */
function problem(status: number, title: string): string {
  return JSON.stringify({ type: 'about:blank', title, status })
}
