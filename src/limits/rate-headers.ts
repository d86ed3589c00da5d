import type { Protocol } from '../schema/protocol.ts'
import type { RateLimits, ShadowLimits } from '../snapshot/types.ts'
import type { LimitRequest } from './limit.ts'
import type { CallKind, KeyLimits } from './limits.ts'

type Unit = 'requests' | 'counts' | 'tokens'

/** The rates of a key or a tenant, with its current limits. */
export interface RateHolder {
  readonly states: Pick<KeyLimits, Unit>
  readonly limits: RateLimits
  readonly shadow: ShadowLimits
}

/** The status of one unit: of several holders the one with the least remaining, of equals the one that resets last. */
interface Gauge {
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

/**
 * The rate-limit headers of an answer under its vendor's names (spec/wire.md §1), without units that have no limit. Names
 * and values alternate.
 */
export function rateLines(
  protocol: Protocol,
  kind: CallKind,
  holders: readonly RateHolder[],
  request: LimitRequest,
): string[] {
  const lines: string[] = []
  const requests = tightest(holders, kind === 'count' ? 'counts' : 'requests', 'rpm', request)
  if (requests) push(lines, protocol, 'requests', requests, request.nowMs)
  const tokens = kind === 'count' ? undefined : tightest(holders, 'tokens', 'tpm', request)
  if (tokens) push(lines, protocol, 'tokens', tokens, request.nowMs)
  return lines
}

function tightest(
  holders: readonly RateHolder[],
  unit: Unit,
  limitOf: 'rpm' | 'tpm',
  request: LimitRequest,
): Gauge | undefined {
  let found: Gauge | undefined
  for (const { states, limits, shadow } of holders) {
    const rate = limits[limitOf]
    // A client has no reason to slow down for a limit that rejects nothing.
    if (rate === undefined || shadow?.has(limitOf)) continue
    const { remaining, resetMs } = states[unit].gauge(rate, request)
    const isTighter =
      !found || remaining < found.remaining || (remaining === found.remaining && resetMs > found.resetMs)
    if (isTighter) found = { limit: rate.limit, remaining, resetMs }
  }
  return found
}

function push(
  lines: string[],
  protocol: Protocol,
  unit: 'requests' | 'tokens',
  { limit, remaining, resetMs }: Gauge,
  nowMs: number,
): void {
  const [limitText, remainingText] = [String(limit), String(remaining)]
  if (protocol === 'anthropic') {
    const name = `anthropic-ratelimit-${unit}`
    lines.push(`${name}-limit`, limitText, `${name}-remaining`, remainingText)
    lines.push(`${name}-reset`, timestamp(nowMs + resetMs))
  } else {
    lines.push(`x-ratelimit-limit-${unit}`, limitText, `x-ratelimit-remaining-${unit}`, remainingText)
    lines.push(`x-ratelimit-reset-${unit}`, goDuration(resetMs))
  }
}

/** A duration as Go prints it: `0s`, `20ms`, `1.5s`, `6m0s`, `1h0m0s`. */
export function goDuration(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms}ms`
  const seconds = `${(ms % 60_000) / 1_000}s`
  if (ms < 60_000) return seconds
  const minutes = `${Math.floor(ms / 60_000) % 60}m${seconds}`
  return ms < 3_600_000 ? minutes : `${Math.floor(ms / 3_600_000)}h${minutes}`
}

/** The last time that a `Date` can represent (ECMA-262, "Time values"). */
const MAX_DATE_MS = 8.64e15

/** RFC 3339 in whole seconds, rounded up: a client that waits until then has waited long enough. */
function timestamp(ms: number): string {
  const whole = new Date(Math.min(Math.ceil(ms / 1_000) * 1_000, MAX_DATE_MS))
  return `${whole.toISOString().slice(0, -'.000Z'.length)}Z`
}
