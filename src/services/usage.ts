import { iso } from '../base/iso.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { sumsToJson } from '../store/ledger/to-json.ts'
import type { UsageQuery, UsageRow } from '../store/ledger/types.ts'
import { NO_SUMS, QUARTER_MS } from '../store/ledger/usage-sums.ts'
import { ownTenant, seesEndpoints } from './calls.ts'
import type { Context } from './context.ts'
import { readCurrency } from './settings.ts'

/**
 * The document of the settled usage in a span of time: largest amounts first; days and hours in order, from the first to the last
 * one with calls, including those without.
 */
export type UsageReport = AnswerOf<OperationOf<'get_usage'>>

/** The settled usage in a span of time, of the tenant of the actor. */
export async function reportUsage({ store, actor }: Context, query: UsageQuery): Promise<UsageReport> {
  const { by, split, endpoint } = query
  const namesEndpoints = by === 'endpoint' || split === 'endpoint' || endpoint !== undefined
  const isHidden = namesEndpoints && !(await seesEndpoints({ store, actor }))
  const own = isHidden ? undefined : ownTenant(query, actor)
  const found = own ? await store.accounting.usage(own) : []
  const rows = (by === 'day' || by === 'hour') && split === undefined ? withQuietSpans(found, by) : found
  const [sinceMs, untilMs] = quartersOf(query)
  return {
    by,
    ...(split !== undefined && { split }),
    currency: await readCurrency(store),
    since: iso(sinceMs),
    until: iso(untilMs),
    // Platform keys have no tenant.
    data: rows.map(row => ({
      label: row.label === '' ? null : row.label,
      ...(split !== undefined && { split: row.split === '' ? null : row.split }),
      ...sumsToJson(row),
    })),
  }
}

/** The last time with a year of four digits. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** The quarters of an hour that overlap the requested span: sums are kept for each. */
function quartersOf({ sinceMs, untilMs }: UsageQuery): readonly [number, number] {
  const endMs = Math.ceil(untilMs / QUARTER_MS) * QUARTER_MS
  return [Math.floor(sinceMs / QUARTER_MS) * QUARTER_MS, Math.min(endMs, LAST_MS)]
}

const SPAN_MS = { day: 86_400_000, hour: 3_600_000 }

/** A row for each day or hour from the first to the last: without the empty ones a chart would mislead. */
function withQuietSpans(rows: readonly UsageRow[], by: 'day' | 'hour'): UsageRow[] {
  const byTime = new Map(rows.map(row => [Date.parse(row.label), row]))
  const times = [...byTime.keys()]
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? -1]
  const all: UsageRow[] = []
  for (let at = first; at <= last; at += SPAN_MS[by]) {
    const label = by === 'day' ? iso(at).slice(0, 10) : iso(at)
    all.push(byTime.get(at) ?? { ...NO_SUMS, label })
  }
  return all
}
