import { withTimeout } from '../../base/with-timeout.ts'
import type { HealthBody } from '../health.ts'
import { parseSamples, type Samples } from './exposition.ts'
import { WANTED } from './traffic.ts'

const PATIENCE_MS = 2_000

/** What a gateway says of itself; what it does not say is absent. */
export interface Heard {
  readonly health?: HealthBody
  readonly samples?: Samples
  /** Why there are no samples, where they were asked for. */
  readonly rejected?: string
}

/**
 * Asks a gateway for `/health` and, with a token, for `/metrics`. Never throws for what it answers: a gateway that is
 * silent is what a person wants to see.
 */
export async function askGateway(
  url: string,
  { token, signal }: { readonly token: string | undefined; readonly signal: AbortSignal },
): Promise<Heard> {
  const health = await healthOf(url, signal)
  if (health === 'control plane') {
    return { rejected: 'it is a control plane of gw; a gateway listens elsewhere, 127.0.0.1:8090 by default' }
  }
  if (health === undefined || token === undefined) return health ? { health } : {}
  const answer = await ask(new URL('/metrics', url), signal, { authorization: `Bearer ${token}` })
  if (answer?.status === 200) return { health, samples: parseSamples(answer.text, WANTED) }
  return { health, rejected: answer ? rejectionText(answer.status) : 'it does not answer for /metrics' }
}

function rejectionText(status: number): string {
  if (status === 404) return 'it was started without METRICS_TOKEN'
  return status === 401 ? 'its METRICS_TOKEN is another' : `/metrics answers ${status}`
}

/** Also a 503 carries it. */
async function healthOf(url: string, signal: AbortSignal): Promise<HealthBody | 'control plane' | undefined> {
  const answer = await ask(new URL('/health', url), signal, {})
  if (answer === undefined) return undefined
  if (answer.isControl) return 'control plane'
  try {
    const body = JSON.parse(answer.text) as Partial<HealthBody>
    return typeof body.status === 'string' && Array.isArray(body.reasons) ? (body as HealthBody) : undefined
  } catch {
    return undefined // something else listens there
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
      redirect: 'error', // a token is sent to nobody but whom it was made for
      signal: withTimeout(PATIENCE_MS, signal),
    })
    const isControl = answer.headers.get('x-gw-service') === 'control'
    return { status: answer.status, text: await answer.text(), isControl }
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

/** An address to ask where a gateway listens on every one of its machine. */
export function reachable(url: string): string {
  const parsed = new URL(url)
  if (parsed.hostname === '0.0.0.0') parsed.hostname = '127.0.0.1'
  else if (parsed.hostname === '[::]') parsed.hostname = '[::1]'
  return parsed.origin
}
