import type { Protocol } from '../schema/endpoint.ts'
import type { RateBucket } from './gcra.ts'

/** A bucket and the limit that it stands under now. */
export interface Gauge {
  readonly bucket: RateBucket
  readonly limit: number
}

/** Of two the one that leaves less; of equals the one that is full again later. */
export function tighter(one: Gauge | undefined, other: Gauge | undefined, tickMs: number): Gauge | undefined {
  if (!one || !other) return one ?? other
  const left = one.bucket.remaining(one.limit, tickMs) - other.bucket.remaining(other.limit, tickMs)
  if (left !== 0) return left < 0 ? one : other
  return one.bucket.resetMs(one.limit, tickMs) >= other.bucket.resetMs(other.limit, tickMs) ? one : other
}

/**
 * Appends what a client may know of its limit, in its vendor's words (WIRE §1, "Rate headers").
 *
 * @param lines Header names and values in turn.
 * @param tickMs The monotonic clock, by which buckets drain; `nowMs` is the wall clock, which headers show.
 */
export function pushGauge(
  lines: string[],
  protocol: Protocol,
  unit: 'requests' | 'tokens',
  gauge: Gauge,
  times: { tickMs: number; nowMs: number },
): void {
  const { bucket, limit } = gauge
  const remaining = String(bucket.remaining(limit, times.tickMs))
  const resetMs = bucket.resetMs(limit, times.tickMs)
  if (protocol === 'anthropic') {
    const name = `anthropic-ratelimit-${unit}`
    const reset = timestamp(times.nowMs + resetMs)
    lines.push(`${name}-limit`, String(limit), `${name}-remaining`, remaining, `${name}-reset`, reset)
  } else {
    const reset = goDuration(resetMs)
    lines.push(`x-ratelimit-limit-${unit}`, String(limit), `x-ratelimit-remaining-${unit}`, remaining)
    lines.push(`x-ratelimit-reset-${unit}`, reset)
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

/** The last moment that a date can stand for (ECMA-262, "Time values"). */
const MAX_DATE_MS = 8.64e15

/** RFC 3339 in whole seconds, rounded up: a client that waits until then has waited long enough. */
function timestamp(ms: number): string {
  const whole = new Date(Math.min(Math.ceil(ms / 1_000) * 1_000, MAX_DATE_MS))
  return `${whole.toISOString().slice(0, -'.000Z'.length)}Z`
}
