import type { Counts, TrafficCounters } from '../../metering/metrics/counters.ts'
import type { StoredCall, UsageRow } from '../../store/ledger/types.ts'
import { addCounts, quantile } from './counters.ts'
import type { Flow, Rejection } from './types.ts'

/** Traffic by endpoint and by model. */
export interface Traffic {
  readonly endpoints: ReadonlyMap<string, Flow>
  readonly models: ReadonlyMap<string, Flow>
  readonly requestsPerSecond: number
  readonly tokensPerSecond: number
}

/** Computes the traffic from the growth of the counters of gateways. */
export function trafficOfCounters(grown: readonly TrafficCounters[], seconds: number): Traffic {
  const [endpoints, models] = [new FlowSums(), new FlowSums()]
  for (const { series, attempts } of grown) {
    for (const { endpoint, model, outcomes, tokens, durations } of series) {
      endpoints.add(endpoint, { tokens, durations })
      models.add(model, { tokens, durations, results: outcomes })
    }
    for (const { endpoint, results } of attempts) endpoints.add(endpoint, { results })
  }
  const all = grown.flatMap(({ series }) => series)
  return {
    // A call rejected before dispatch is no load of an endpoint: its attempts are.
    endpoints: endpoints.flows(seconds),
    models: models.flows(seconds),
    requestsPerSecond: all.reduce((sum, { outcomes }) => sum + total(outcomes), 0) / seconds,
    tokensPerSecond: all.reduce((sum, { tokens }) => sum + tokens, 0) / seconds,
  }
}

/** Counters by name of an endpoint or a model. */
class FlowSums {
  readonly #sums = new Map<
    string,
    { tokens: number; readonly results: Map<string, number>; readonly durations: Map<string, number> }
  >()

  add(
    name: string,
    more: { readonly tokens?: number; readonly results?: Counts; readonly durations?: Counts },
  ): void {
    if (name === '') return
    let sums = this.#sums.get(name)
    if (!sums) this.#sums.set(name, (sums = { tokens: 0, results: new Map(), durations: new Map() }))
    sums.tokens += more.tokens ?? 0
    addCounts(sums.results, more.results ?? {})
    addCounts(sums.durations, more.durations ?? {})
  }

  flows(seconds: number): ReadonlyMap<string, Flow> {
    return new Map(
      [...this.#sums].map(([name, { tokens, results, durations }]): [string, Flow] => {
        const ordered = largestFirst(results)
        const tried = ordered.reduce((sum, [, count]) => sum + count, 0)
        const fine = ordered.reduce((sum, [result, count]) => (isFine(result) ? sum + count : sum), 0)
        return [
          name,
          {
            name,
            requestsPerSecond: tried / seconds,
            tokensPerSecond: tokens / seconds,
            ...quantiles(durations),
            failed: tried === 0 ? 0 : 1 - fine / tried,
            results: ordered,
          },
        ]
      }),
    )
  }
}

/** @param all since the starts of the gateways. */
export function rejectionsOf(
  grown: readonly TrafficCounters[],
  all: readonly TrafficCounters[],
  seconds: number,
): readonly Rejection[] {
  const [recent, totals] = [new Map<string, number>(), new Map<string, number>()]
  for (const { rejections } of grown) addCounts(recent, rejections)
  for (const { rejections } of all) addCounts(totals, rejections)
  return largestFirst(totals).map(([reason, count]) => ({
    reason,
    perSecond: seconds === 0 ? 0 : (recent.get(reason) ?? 0) / seconds,
    total: count,
  }))
}

/** Sums of the store by name, and the last calls, for the latency. */
export interface StoreTraffic {
  readonly byEndpoint: readonly UsageRow[]
  readonly byModel: readonly UsageRow[]
  readonly calls: readonly StoredCall[]
}

/** Computes the traffic from two samples of the store, which has charged or logged calls and no rejections. */
export function trafficOfStore(before: StoreTraffic, after: StoreTraffic, seconds: number): Traffic {
  const grownBy = (
    earlier: readonly UsageRow[],
    later: readonly UsageRow[],
    of: 'endpoint' | 'publication',
  ) => {
    const known = new Map(earlier.map(row => [row.label, row]))
    return new Map(
      later.map((row): [string, Flow] => {
        const was = known.get(row.label)
        const calls = after.calls.filter(call => call[of] === row.label)
        const failed = calls.filter(({ outcome }) => !isFine(outcome)).length
        return [
          row.label,
          {
            name: row.label,
            requestsPerSecond: (row.requests - (was?.requests ?? 0)) / seconds,
            tokensPerSecond: (tokensOf(row) - (was ? tokensOf(was) : 0)) / seconds,
            ...callQuantiles(calls),
            failed: calls.length === 0 ? 0 : failed / calls.length,
            results: [],
          },
        ]
      }),
    )
  }
  const endpoints = grownBy(before.byEndpoint, after.byEndpoint, 'endpoint')
  const models = grownBy(before.byModel, after.byModel, 'publication')
  const sum = (pick: (flow: Flow) => number) =>
    [...models.values()].reduce((all, flow) => all + pick(flow), 0)
  return {
    endpoints,
    models,
    requestsPerSecond: sum(flow => flow.requestsPerSecond),
    tokensPerSecond: sum(flow => flow.tokensPerSecond),
  }
}

export function tokensOf({ inputTokens, outputTokens }: UsageRow): number {
  return inputTokens + outputTokens
}

/** Results that are not a failure of the upstream. */
function isFine(result: string): boolean {
  return result === 'answered' || result === 'client_gone' || result === 'rejected'
}

function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/** Without zeros. */
function largestFirst(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].filter(([, count]) => count > 0).toSorted(([, a], [, b]) => b - a)
}

function quantiles(durations: ReadonlyMap<string, number>): { p50Ms?: number; p95Ms?: number } {
  const [p50, p95] = [quantile(0.5, durations), quantile(0.95, durations)]
  return {
    ...(p50 !== undefined && { p50Ms: p50 * 1_000 }),
    ...(p95 !== undefined && { p95Ms: p95 * 1_000 }),
  }
}

function callQuantiles(calls: readonly StoredCall[]): { p50Ms?: number; p95Ms?: number } {
  const sorted = calls.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
  const [p50Ms, p95Ms] = [at(0.5), at(0.95)]
  return { ...(p50Ms !== undefined && { p50Ms }), ...(p95Ms !== undefined && { p95Ms }) }
}
