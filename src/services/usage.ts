import type { UsageQuery, UsageRow } from '../store/ledger/types.ts'
import { NO_USAGE, QUARTER_MS } from '../store/ledger/usage-sums.ts'
import type { AppPorts } from './context.ts'
import { currencyOf } from './currency.ts'
import { unknownNames } from './names.ts'
import { withStore } from './stored.ts'

export interface UsageReport {
  readonly currency: string
  /** The span of the sums: the quarters of an hour that overlap the requested span. */
  readonly fromMs: number
  readonly toMs: number
  /** Largest amounts first. Days are in order, including days without calls. */
  readonly rows: readonly UsageRow[]
  /** If nothing was found: a sentence for each filter that names a resource that does not exist. */
  readonly unknownNames: readonly string[]
}

/** The settled usage in a span of time. @throws {CommandError} store_… */
export async function reportUsage(
  query: UsageQuery,
  storeUrl: string,
  ports: Pick<AppPorts, 'clock' | 'cwd'>,
): Promise<UsageReport> {
  return withStore(storeUrl, 'read', ports, async store => {
    const live = await store.live()
    const found = await store.accounting.usage(query)
    const rows = query.by === 'day' ? withQuietDays(found) : found
    const [fromMs, toMs] = quartersOf(query)
    return {
      currency: currencyOf(live),
      fromMs,
      toMs,
      rows,
      unknownNames: rows.length > 0 ? [] : unknownNames(live, query),
    }
  })
}

function quartersOf({ sinceMs, untilMs }: UsageQuery): readonly [number, number] {
  return [Math.floor(sinceMs / QUARTER_MS) * QUARTER_MS, Math.ceil(untilMs / QUARTER_MS) * QUARTER_MS]
}

const DAY_MS = 86_400_000
/** A row for each day from the first to the last: without the empty days a chart would mislead. */
function withQuietDays(days: readonly UsageRow[]): UsageRow[] {
  const byDate = new Map(days.map(day => [Date.parse(day.label), day]))
  const dates = [...byDate.keys()]
  const [first, last] = [dates[0] ?? 0, dates.at(-1) ?? -1]
  const all: UsageRow[] = []
  for (let date = first; date <= last; date += DAY_MS) {
    const label = new Date(date).toISOString().slice(0, 10)
    all.push(byDate.get(date) ?? { ...NO_USAGE, label })
  }
  return all
}
