import { formatNano } from '../../base/decimal.ts'
import { Calendar } from '../../limits/calendar.ts'
import { decode, type Spec } from '../../schema/kinds.ts'
import type { KeySums } from '../../schema/ledger.ts'
import { quotaOf, rateOf } from '../../schema/limits.ts'
import type { UsageRow } from '../../store/ledger/types.ts'
import type { Store } from '../../store/types.ts'
import { tokensOf } from './traffic.ts'
import type { KeyLiveStats, LimitLiveStats } from './types.ts'

const MINUTE_MS = 60_000
/** The usage of a minute is kept in so many steps: there may be thousands of keys. */
const STEP_MS = 10_000

type WatchedKey = Pick<Spec<'key'>, 'tenant' | 'limits' | 'quota' | 'budget'> & { readonly name: string }

/** The usage of keys in the store at one time. */
export interface KeysSample {
  readonly keys: readonly WatchedKey[]
  readonly sums: ReadonlyMap<string, KeySums>
  readonly usage: readonly UsageRow[]
  /** Up to a minute before, or the sample before this one if that is older. */
  readonly earlier: EarlierUsage
}

interface EarlierUsage {
  readonly usage: readonly UsageRow[]
  /** Milliseconds until the sample that it belongs to. */
  readonly agoMs: number
}

export interface SampleTime {
  readonly nowMs: number
  readonly monotonicMs: number
}

interface KnownSums {
  readonly sums: KeySums
  /** The start of the window that they cover. */
  readonly sinceMs: number
  /** The calls of the key at that time. */
  readonly requests: number
}

/** Samples the keys. There may be thousands: policies are read again after a change, and sums after a call. */
export class KeySampler {
  readonly #store: Store
  readonly #calendar = new Calendar()
  /** Usage is compared from this time on, so that it only grows. */
  readonly #sinceMs: number
  #revision: number | undefined
  #keys: readonly WatchedKey[] = []
  readonly #known = new Map<string, KnownSums>()
  /** Of the last minute, oldest first. */
  readonly #steps: { readonly usage: readonly UsageRow[]; readonly monotonicMs: number }[] = []

  constructor(store: Store, sinceMs: number) {
    this.#store = store
    this.#sinceMs = sinceMs
  }

  async sample(revision: number, { nowMs, monotonicMs }: SampleTime): Promise<KeysSample> {
    if (this.#revision !== revision) await this.#read(revision)
    // Before the sums: calls in between are in the sums, and are looked for once more.
    const usage = await this.#store.accounting.usage({ by: 'key', sinceMs: this.#sinceMs, untilMs: nowMs })
    const requests = new Map(usage.map(row => [row.label, row.requests]))
    const wanted = this.#keys.flatMap(({ name, quota, budget }) => {
      if (quota === undefined && budget === undefined) return []
      const { startMs } = this.#calendar.span(budget?.per ?? 'total', budget?.timezone ?? 'UTC', nowMs)
      return [{ key: name, sinceMs: startMs, requests: requests.get(name) ?? 0 }]
    })
    const stale = wanted.filter(({ key, sinceMs, requests: now }) => {
      const known = this.#known.get(key)
      return known?.sinceMs !== sinceMs || known.requests !== now
    })
    const sums = await this.#store.accounting.keySums(stale)
    for (const [at, each] of stale.entries()) {
      const found = sums[at]
      if (found) this.#known.set(each.key, { ...each, sums: found })
    }
    return {
      keys: this.#keys,
      sums: new Map([...this.#known].map(([key, known]) => [key, known.sums])),
      usage,
      earlier: this.#earlier(usage, monotonicMs),
    }
  }

  #earlier(usage: readonly UsageRow[], monotonicMs: number): EarlierUsage {
    const steps = this.#steps
    while (steps[1] && monotonicMs - (steps[0]?.monotonicMs ?? 0) > MINUTE_MS) steps.shift()
    const now = { usage, monotonicMs }
    const { usage: earlier, monotonicMs: sinceMs } = steps[0] ?? now
    if (monotonicMs - (steps.at(-1)?.monotonicMs ?? Number.NEGATIVE_INFINITY) >= STEP_MS) steps.push(now)
    return { usage: earlier, agoMs: monotonicMs - sinceMs }
  }

  async #read(revision: number): Promise<void> {
    const { resources } = await this.#store.find({ kind: 'key' })
    this.#keys = resources.map(({ name, spec }) => {
      const { tenant, limits, quota, budget } = decode('key', spec)
      return { name, tenant, limits, quota, budget }
    })
    this.#revision = revision
    // A key of the same name may be another one.
    this.#known.clear()
  }
}

/**
 * The keys with the use of their limits, nearest to a limit first. Requests and tokens per minute are those of the last
 * minute, extrapolated from less of it, at most up to the limit; the gateway's own rate state is not read.
 *
 * @param seconds since the sample `before`, for the present rates.
 */
export function nearLimits(
  before: KeysSample | undefined,
  after: KeysSample,
  seconds: number,
): readonly KeyLiveStats[] {
  const { earlier } = after
  const was = rowsOf(before?.usage ?? after.usage)
  const aMinuteAgo = rowsOf(earlier.usage)
  const is = rowsOf(after.usage)
  const keys = after.keys.map(({ name, tenant, limits, quota, budget }): KeyLiveStats => {
    const growth = (since: ReadonlyMap<string, UsageRow>, pick: (row: UsageRow) => number) => {
      const [old, now] = [since.get(name), is.get(name)]
      return (now ? pick(now) : 0) - (old ? pick(old) : 0)
    }
    const rate = (pick: (row: UsageRow) => number) => (seconds === 0 ? 0 : growth(was, pick) / seconds)
    const inMinute = (pick: (row: UsageRow) => number, limit: number) => {
      if (earlier.agoMs === 0) return 0
      const counted = growth(aMinuteAgo, pick)
      const extrapolated = (counted * MINUTE_MS) / earlier.agoMs
      // A burst of some seconds is no excess; the calls of less than a minute are all in the minute.
      return extrapolated <= limit ? extrapolated : Math.max(limit, Math.min(counted, extrapolated))
    }
    const perMinute = (limit: 'rpm' | 'tpm', pick: (row: UsageRow) => number) => {
      const policy = limits[limit]
      if (policy === undefined) return undefined
      const of = rateOf(policy).limit
      return number(limit, inMinute(pick, of), of)
    }
    const sums = after.sums.get(name)
    const all = [
      budget && money(`budget/${budget.per}`, sums?.windowNano ?? 0n, budget.amount),
      quota === undefined ? undefined : number('quota', sums?.totalTokens ?? 0, quotaOf(quota)),
      perMinute('rpm', requestsOf),
      perMinute('tpm', tokensOf),
    ]
    return {
      name,
      ...(tenant !== undefined && { tenant }),
      requestsPerSecond: rate(requestsOf),
      tokensPerSecond: rate(tokensOf),
      limits: all.filter(limit => limit !== undefined).toSorted((a, b) => b.share - a.share),
    }
  })
  return keys.toSorted(
    (a, b) => nearestToLimit(b) - nearestToLimit(a) || b.requestsPerSecond - a.requestsPerSecond,
  )
}

function rowsOf(usage: readonly UsageRow[]): ReadonlyMap<string, UsageRow> {
  return new Map(usage.map(row => [row.label, row]))
}

function requestsOf({ requests }: UsageRow): number {
  return requests
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
