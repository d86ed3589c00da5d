import type { Settlement } from '../../schema/ledger.ts'
import {
  DAY_QUARTERS,
  NO_SUMS,
  plusUsage,
  QUARTER_MS,
  type UsagePlace,
  type UsageSums,
} from './usage-sums.ts'

/** The sum of settlements for one row of `usage_quarters`. */
type QuarterSum = UsagePlace & { -readonly [Sum in keyof UsageSums]: UsageSums[Sum] }

export interface KeySum {
  tokens: number
  amountNano: bigint
}

/** The sum for one row of a table that leaves a part of the place out. */
interface DaySum {
  /** The primary key of the row. */
  readonly place: readonly (string | number)[]
  readonly sums: UsageSums
}

/** The sums of the settlements of one batch, so that each stored sum is written once per batch. */
export class BatchSums {
  readonly quarters = new Map<string, QuarterSum>()
  readonly keys = new Map<string, KeySum>()
  /** The amount to subtract from the balance, by tenant. */
  readonly spent = new Map<string, bigint>()
  /** That of the last settlement: the next one is often of the same place. */
  #last: QuarterSum | undefined

  add(end: Settlement): void {
    const { key, amountNano, usage, flags } = end
    const sum = this.#sumOf(end)
    sum.requests += 1
    sum.inputTokens += usage.inputTokens
    sum.cachedInputTokens += usage.cachedInputTokens
    sum.cacheWriteTokens += usage.cacheWriteTokens
    sum.outputTokens += usage.outputTokens
    sum.searchUnits += usage.searchUnits
    sum.durationMs += usage.durationMs
    sum.characters += usage.characters
    sum.images += usage.images
    sum.amountNano += amountNano
    if (flags.includes('estimated')) sum.estimated += 1
    if (flags.includes('unpriced')) sum.unpriced += 1

    const total = this.keys.get(key) ?? { tokens: 0, amountNano: 0n }
    total.tokens += usage.inputTokens + usage.outputTokens
    total.amountNano += amountNano
    this.keys.set(key, total)

    if (end.tenant !== undefined) {
      this.spent.set(end.tenant, (this.spent.get(end.tenant) ?? 0n) + amountNano)
    }
  }

  #sumOf({ key, tenant = '', publication, endpoint, endedAtMs }: Settlement): QuarterSum {
    const quarter = Math.floor(endedAtMs / QUARTER_MS)
    const last = this.#last
    const isSame =
      last?.key === key &&
      last.quarter === quarter &&
      last.tenant === tenant &&
      last.publication === publication &&
      last.endpoint === endpoint
    if (isSame) return last
    // No name contains a line break (schema/scalars.ts).
    const id = `${quarter}\n${key}\n${tenant}\n${publication}\n${endpoint}`
    let sum = this.quarters.get(id)
    if (!sum) {
      sum = { ...NO_SUMS, key, quarter, tenant, publication, endpoint }
      this.quarters.set(id, sum)
    }
    this.#last = sum
    return sum
  }

  /** For `usage_key_days`. */
  keyDays(): Iterable<DaySum> {
    return this.#together(({ key, quarter, tenant }) => [key, Math.floor(quarter / DAY_QUARTERS), tenant])
  }

  /** For `usage_model_days`. */
  modelDays(): Iterable<DaySum> {
    return this.#together(({ quarter, tenant, publication, endpoint }) => [
      Math.floor(quarter / DAY_QUARTERS),
      tenant,
      publication,
      endpoint,
    ])
  }

  #together(placeOf: (sum: UsagePlace) => DaySum['place']): Iterable<DaySum> {
    const days = new Map<string, DaySum>()
    for (const sum of this.quarters.values()) {
      const place = placeOf(sum)
      const id = place.join('\n')
      const other = days.get(id)
      days.set(id, { place, sums: other ? plusUsage(other.sums, sum) : sum })
    }
    return days.values()
  }
}
