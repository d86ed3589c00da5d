import type { Accounting } from '../../store/ledger/types.ts'

/** What was used lately, by the ledger's sums. */
export interface RecentUse extends Pick<Accounting, 'use' | 'lastUse' | 'peaks' | 'keySums'> {
  /** When the day or month of a budget began that `nowMs` is in. */
  budgetStartMs(per: 'day' | 'month', timezone: string, nowMs: number): number
}

/** Of a store that does not exist yet. */
export const NEVER_USED: RecentUse = {
  use: async () => [],
  lastUse: async () => new Map(),
  peaks: async () => new Map(),
  keySums: async queries =>
    queries.map(({ key }) => ({ key, totalTokens: 0, totalNano: 0n, windowNano: 0n })),
  budgetStartMs: (_per, _timezone, nowMs) => nowMs,
}
