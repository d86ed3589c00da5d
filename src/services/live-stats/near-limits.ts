import { formatNano } from '../../base/decimal.ts'
import { Calendar } from '../../limits/calendar.ts'
import { decode, type Spec } from '../../schema/kinds.ts'
import type { KeySums } from '../../schema/ledger.ts'
import { quotaOf, rateOf } from '../../schema/limits.ts'
import type { UsageRow } from '../../store/ledger/types.ts'
import type { Store } from '../../store/types.ts'
import { tokensOf } from './traffic.ts'
import type { KeyLiveStats, LimitLiveStats } from './types.ts'

const MINUTE_S = 60

type WatchedKey = Pick<Spec<'key'>, 'tenant' | 'limits' | 'quota' | 'budget'> & { readonly name: string }

/** The usage of keys in the store at one time. */
export interface KeysSample {
  readonly keys: readonly WatchedKey[]
  readonly sums: ReadonlyMap<string, KeySums>
  readonly usage: readonly UsageRow[]
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

  constructor(store: Store, sinceMs: number) {
    this.#store = store
    this.#sinceMs = sinceMs
  }

  async sample(revision: number, nowMs: number): Promise<KeysSample> {
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
    }
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
  const keys = after.keys.map(({ name, tenant, limits, quota, budget }): KeyLiveStats => {
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
