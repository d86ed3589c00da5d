import { formatNano } from '../../base/decimal.ts'
import type { Calendar } from '../../limits/calendar.ts'
import { decode } from '../../schema/kinds.ts'
import type { KeySums } from '../../schema/ledger.ts'
import { quotaOf, rateOf } from '../../schema/limits.ts'
import type { UsageRow } from '../../store/ledger/types.ts'
import type { Store, StoredResource } from '../../store/types.ts'
import { tokensOf } from './traffic.ts'
import type { KeyLiveStats, LimitLiveStats } from './types.ts'

const MINUTE_S = 60

/** The usage of keys in the store at one time. */
export interface KeysSample {
  readonly keys: readonly StoredResource[]
  readonly sums: ReadonlyMap<string, KeySums>
  readonly usage: readonly UsageRow[]
}

/** Samples the keys that have limits. */
export async function sampleKeys(
  store: Store,
  calendar: Calendar,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): Promise<KeysSample> {
  const { resources } = await store.find({ kind: 'key' })
  const counted = resources.flatMap(({ name, spec }) => {
    const { quota, budget } = decode('key', spec)
    if (quota === undefined && budget === undefined) return []
    const { startMs } = calendar.span(budget?.per ?? 'total', budget?.timezone ?? 'UTC', nowMs)
    return [{ key: name, sinceMs: startMs }]
  })
  const sums = await store.accounting.keySums(counted)
  const usage = await store.accounting.usage({ by: 'key', sinceMs, untilMs: nowMs })
  return { keys: resources, sums: new Map(sums.map(each => [each.key, each])), usage }
}

/**
 * The keys with the use of their limits, nearest to a limit first. Requests and tokens per minute are extrapolated
 * from the span; the gateway's own rate state is not read.
 */
export function nearLimits(
  before: KeysSample | undefined,
  after: KeysSample,
  seconds: number,
): readonly KeyLiveStats[] {
  const was = new Map(before?.usage.map(row => [row.label, row]))
  const is = new Map(after.usage.map(row => [row.label, row]))
  const keys = after.keys.map(({ name, spec }): KeyLiveStats => {
    const { tenant, limits, quota, budget } = decode('key', spec)
    const [earlier, later] = [was.get(name), is.get(name)]
    const rate = (pick: (row: UsageRow) => number) =>
      later === undefined || seconds === 0 ? 0 : (pick(later) - (earlier ? pick(earlier) : 0)) / seconds
    const requestsPerSecond = rate(({ requests }) => requests)
    const tokensPerSecond = rate(tokensOf)
    const sums = after.sums.get(name)
    const all = [
      budget && money(`budget/${budget.per}`, sums?.windowNano ?? 0n, budget.amount),
      quota === undefined ? undefined : number('quota', sums?.totalTokens ?? 0, quotaOf(quota)),
      limits.rpm === undefined
        ? undefined
        : number('rpm', requestsPerSecond * MINUTE_S, rateOf(limits.rpm).limit),
      limits.tpm === undefined
        ? undefined
        : number('tpm', tokensPerSecond * MINUTE_S, rateOf(limits.tpm).limit),
    ]
    return {
      name,
      ...(tenant !== undefined && { tenant }),
      requestsPerSecond,
      tokensPerSecond,
      limits: all.filter(limit => limit !== undefined).toSorted((a, b) => b.share - a.share),
    }
  })
  return keys.toSorted(
    (a, b) => nearestToLimit(b) - nearestToLimit(a) || b.requestsPerSecond - a.requestsPerSecond,
  )
}

function nearestToLimit({ limits }: KeyLiveStats): number {
  return limits[0]?.share ?? 0
}

function money(limit: string, used: bigint, of: bigint): LimitLiveStats {
  const share = of === 0n ? 1 : Number((used * 10_000n) / of) / 10_000
  return { limit, used: formatNano(used), of: formatNano(of), share }
}

function number(limit: string, used: number, of: number): LimitLiveStats {
  return { limit, used: String(Math.round(used)), of: String(of), share: used / of }
}
