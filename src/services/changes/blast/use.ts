import { Calendar } from '../../../limits/calendar.ts'
import type { Accounting } from '../../../store/ledger/types.ts'
import type { StoredNode } from '../../../store/nodes/types.ts'
import type { Store } from '../../../store/types.ts'

/** Recent use, from the sums of the ledger. */
export interface RecentUse extends Pick<Accounting, 'use' | 'lastUse' | 'peaks' | 'keySums' | 'nodeUse'> {
  /** The start of the budget window that contains `nowMs`. */
  budgetStartMs(per: 'day' | 'month', timezone: string, nowMs: number): number
  /** The nodes that have joined. */
  nodes(): Promise<readonly StoredNode[]>
}

/** For a store that does not exist yet. */
export const NEVER_USED: RecentUse = {
  use: async () => [],
  lastUse: async () => new Map(),
  peaks: async () => new Map(),
  keySums: async queries =>
    queries.map(({ key }) => ({ key, totalTokens: 0, totalNano: 0n, windowNano: 0n })),
  budgetStartMs: (_per, _timezone, nowMs) => nowMs,
  nodeUse: async () => [],
  nodes: async () => [],
}

/** Recent use according to the ledger of a store. */
export function recentUse({ accounting, nodes }: Pick<Store, 'accounting' | 'nodes'>): RecentUse {
  const calendar = new Calendar()
  return {
    use: query => accounting.use(query),
    lastUse: query => accounting.lastUse(query),
    peaks: query => accounting.peaks(query),
    keySums: queries => accounting.keySums(queries),
    nodeUse: query => accounting.nodeUse(query),
    nodes: () => nodes.all(),
    budgetStartMs: (per, timezone, nowMs) => calendar.span(per, timezone, nowMs).startMs,
  }
}
