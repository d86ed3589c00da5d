import type {
  AttemptCounters,
  CounterSeries,
  Counts,
  TrafficCounters,
} from '../../metering/metrics/counters.ts'
import { parseSamples, type Sample } from './exposition.ts'

/** The counters of a gateway since its start, and the state of its endpoints. */
export interface GatewayCounters extends TrafficCounters {
  /** The enabled endpoints that have answered or failed, and whether they are healthy. */
  readonly endpoints: readonly (readonly [name: string, isHealthy: boolean])[]
}

const REQUESTS = 'gw_requests_total'
const REJECTIONS = 'gw_rejections_total'
const TOKENS = 'gw_tokens_total'
const ATTEMPTS = 'gw_upstream_attempts_total'
const HEALTHY = 'gw_endpoint_healthy'
const DURATIONS = 'gen_ai_server_request_duration_seconds_bucket'

/** Other samples of a scrape are dropped. */
const WANTED: ReadonlySet<string> = new Set([REQUESTS, REJECTIONS, TOKENS, ATTEMPTS, HEALTHY, DURATIONS])

/** Labels that a series of counters adds up. */
const ADDED_UP: ReadonlySet<string> = new Set(['status', 'outcome', 'class', 'error_type', 'le'])

interface Collected {
  readonly model: string
  readonly endpoint: string
  readonly outcomes: Record<string, number>
  tokens: number
  readonly durations: Record<string, number>
}

/** The counters in the text of `/metrics`. Latencies have other labels than requests, so they are series of their own. */
export function countersIn(metrics: string): GatewayCounters {
  const series = new Map<string, Collected>()
  const attempts = new Map<string, Record<string, number>>()
  const rejections: Record<string, number> = {}
  const endpoints: (readonly [string, boolean])[] = []
  for (const { name, labels, value } of parseSamples(metrics, WANTED)) {
    const { endpoint = '', outcome = '', reason = '', result = '', le = '' } = labels
    if (name === HEALTHY) endpoints.push([endpoint, value === 1])
    else if (name === REJECTIONS) add(rejections, reason, value)
    else if (name === ATTEMPTS)
      add(
        valueOf(attempts, endpoint, () => ({})),
        result,
        value,
      )
    else {
      const each = valueOf(series, idOf(labels), () => collected(labels))
      if (name === REQUESTS) add(each.outcomes, outcome, value)
      else if (name === TOKENS) each.tokens += value
      else add(each.durations, le, value)
    }
  }
  return {
    series: [...series].map(([id, each]) => ({ id, ...each })),
    attempts: [...attempts].map(([endpoint, results]) => ({ endpoint, results })),
    rejections,
    endpoints,
  }
}

function collected(labels: Sample['labels']): Collected {
  const model = labels['model'] ?? labels['gen_ai_request_model'] ?? ''
  return { model, endpoint: labels['endpoint'] ?? '', outcomes: {}, tokens: 0, durations: {} }
}

function idOf(labels: Sample['labels']): string {
  return JSON.stringify(Object.entries(labels).filter(([label]) => !ADDED_UP.has(label)))
}

function valueOf<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

function add(counts: Record<string, number>, name: string, value: number): void {
  counts[name] = (counts[name] ?? 0) + value
}

/**
 * The growth of each counter. A counter that has shrunk belongs to a restarted process, so its full value is new; so
 * is that of a new counter.
 */
export function growth(before: TrafficCounters, after: TrafficCounters): TrafficCounters {
  const series = new Map(before.series.map(each => [each.id, each]))
  const attempts = new Map(before.attempts.map(each => [each.endpoint, each]))
  return {
    series: after.series.map(each => grownSeries(series.get(each.id), each)),
    attempts: after.attempts.map(
      ({ endpoint, results }): AttemptCounters => ({
        endpoint,
        results: grownCounts(attempts.get(endpoint)?.results, results),
      }),
    ),
    rejections: grownCounts(before.rejections, after.rejections),
  }
}

function grownSeries(before: CounterSeries | undefined, after: CounterSeries): CounterSeries {
  return {
    ...after,
    outcomes: grownCounts(before?.outcomes, after.outcomes),
    tokens: grown(before?.tokens, after.tokens),
    durations: grownCounts(before?.durations, after.durations),
  }
}

function grownCounts(before: Counts | undefined, after: Counts): Counts {
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, grown(before?.[name], value)]),
  )
}

function grown(before = 0, after: number): number {
  return after >= before ? after - before : after
}

/** Adds the counts of `more` to `sums`. */
export function addCounts(sums: Map<string, number>, more: Counts): void {
  for (const [name, value] of Object.entries(more)) sums.set(name, (sums.get(name) ?? 0) + value)
}

/**
 * A quantile of a histogram, by linear interpolation inside its bucket, like Prometheus' `histogram_quantile`.
 * Undefined without observations.
 *
 * @param buckets cumulative, by the text of their bound.
 */
export function quantile(share: number, buckets: ReadonlyMap<string, number>): number | undefined {
  const counts = [...buckets].map(([le, count]): [number, number] => [
    le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
    count,
  ])
  const sorted = counts.toSorted(([a], [b]) => a - b)
  const total = sorted.at(-1)?.[1] ?? 0
  if (total === 0) return undefined
  const rank = share * total
  let below = 0
  let lower = 0
  for (const [bound, count] of sorted) {
    if (count >= rank && count > below) {
      if (bound === Number.POSITIVE_INFINITY) return lower
      return lower + (bound - lower) * ((rank - below) / (count - below))
    }
    below = count
    lower = bound
  }
  return lower
}
