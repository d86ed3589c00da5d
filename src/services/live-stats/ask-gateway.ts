import { withTimeout } from '../../base/with-timeout.ts'
import type { HealthBody } from '../health.ts'
import { countersIn, type GatewayCounters } from './counters.ts'

const TIMEOUT_MS = 2_000

/** The answers of a gateway; a missing answer is absent. */
export interface GatewayAnswer {
  readonly health?: HealthBody
  readonly counters?: GatewayCounters
  /** Why requested counters are missing. */
  readonly rejected?: string
  /** A control plane of gw answered in place of a gateway. */
  readonly isControl?: true
}

/** The gateway of this process, which answers without HTTP and without a token: it may be in another thread. */
export type AskOwnGateway = () => Promise<OwnGateway | undefined>

/** Plain text, which crosses threads faster than objects. */
export interface OwnGateway {
  /** Its id in the store. */
  readonly id: string
  /** A {@link HealthBody} as JSON. */
  readonly health: string
  /** {@link GatewayCounters} as JSON. */
  readonly counters: string
}

/** The same as {@link askGateway} says about it. */
export function answerOfOwn({ health, counters }: OwnGateway): GatewayAnswer {
  return { health: JSON.parse(health) as HealthBody, counters: JSON.parse(counters) as GatewayCounters }
}

/**
 * Reads `/health` of a gateway and, with a token, `/metrics`. Never throws for an answer or a silent gateway: the
 * caller displays both.
 */
export async function askGateway(
  url: string,
  { token, signal }: { readonly token: string | undefined; readonly signal: AbortSignal },
): Promise<GatewayAnswer> {
  const health = await healthOf(url, signal)
  if (health === 'control plane') {
    const rejected = 'it is a control plane of gw; a gateway listens elsewhere, 127.0.0.1:8090 by default'
    return { rejected, isControl: true }
  }
  if (health === undefined || token === undefined) return health ? { health } : {}
  const answer = await ask(new URL('/metrics', url), signal, { authorization: `Bearer ${token}` })
  if (answer?.status === 200) return { health, counters: countersIn(answer.text) }
  return { health, rejected: answer ? rejectionText(answer.status) : 'it does not answer for /metrics' }
}

function rejectionText(status: number): string {
  if (status === 404) return 'it was started without METRICS_TOKEN'
  return status === 401 ? 'its METRICS_TOKEN differs' : `/metrics answers ${status}`
}

/** A 503 has a health body, too. */
async function healthOf(url: string, signal: AbortSignal): Promise<HealthBody | 'control plane' | undefined> {
  const answer = await ask(new URL('/health', url), signal, {})
  if (answer === undefined) return undefined
  if (answer.isControl) return 'control plane'
  try {
    const body = JSON.parse(answer.text) as Partial<HealthBody>
    return typeof body.status === 'string' && Array.isArray(body.reasons) ? (body as HealthBody) : undefined
  } catch {
    return undefined // another program listens there
  }
}

async function ask(
  url: URL,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string; readonly isControl: boolean } | undefined> {
  try {
    const answer = await fetch(url, {
      headers,
      redirect: 'error', // a redirect must not carry the token to another server
      signal: withTimeout(TIMEOUT_MS, signal),
    })
    const isControl = answer.headers.get('x-gw-service') === 'control'
    return { status: answer.status, text: await answer.text(), isControl }
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

/** Replaces a wildcard listen address by the loopback address. */
export function reachable(url: string): string {
  const parsed = new URL(url)
  if (parsed.hostname === '0.0.0.0') parsed.hostname = '127.0.0.1'
  else if (parsed.hostname === '[::]') parsed.hostname = '[::1]'
  return parsed.origin
}
