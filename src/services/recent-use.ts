import { Calendar } from '../limits/calendar.ts'
import type { Store } from '../store/types.ts'
import type { RecentUse } from './changes/blast/use.ts'

/** Recent use according to the ledger of a store. */
export function recentUse({ accounting }: Pick<Store, 'accounting'>): RecentUse {
  const calendar = new Calendar()
  return {
    use: query => accounting.use(query),
    lastUse: query => accounting.lastUse(query),
    peaks: query => accounting.peaks(query),
    keySums: queries => accounting.keySums(queries),
    budgetStartMs: (per, timezone, nowMs) => calendar.span(per, timezone, nowMs).startMs,
  }
}
