import { CommandError } from '../base/catalogue/command.ts'
import { Calendar } from '../limits/calendar.ts'
import type { Store } from '../store/types.ts'
import { NEVER_USED, type RecentUse } from './changes/blast/use.ts'
import type { AppPorts } from './context.ts'
import { withStore } from './stored.ts'

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

/** Opens the store for the duration of `work`. A store that does not exist yet has no use. */
export async function withRecentUse<T>(
  url: string,
  ports: Pick<AppPorts, 'clock' | 'cwd'>,
  work: (use: RecentUse) => Promise<T>,
): Promise<T> {
  try {
    return await withStore(url, 'read', ports, store => work(recentUse(store)))
  } catch (error) {
    const isMissing =
      error instanceof CommandError && (error.code === 'store_missing' || error.code === 'store_outdated')
    if (isMissing) return work(NEVER_USED)
    throw error
  }
}
