import { Calendar } from '../../../limits/calendar.ts'
import type { Accounting, UseQuery } from '../../../store/ledger/types.ts'
import type { StoredNode } from '../../../store/nodes/types.ts'
import type { Rename, Store } from '../../../store/types.ts'

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

/** The same for names after renames: the ledger is asked for, and answers with, the names before them. */
export function underOldNames(use: RecentUse, renames: readonly Rename[]): RecentUse {
  if (renames.length === 0) return use
  const [olds, news] = [new Map<string, string>(), new Map<string, string>()]
  for (const { kind, from, to } of renames) {
    olds.set(`${kind}/${to}`, from)
    news.set(`${kind}/${from}`, to)
  }
  const oldOf = (kind: string, name: string) => olds.get(`${kind}/${name}`) ?? name
  const newOf = (kind: string, name: string) => news.get(`${kind}/${name}`) ?? name
  const asked = (query: UseQuery) => ({
    ...query,
    names: query.names.map(name => oldOf(query.by, name)),
  })
  const named = <Value>({ by }: UseQuery, found: ReadonlyMap<string, Value>) =>
    new Map([...found].map(([name, value]) => [newOf(by, name), value]))
  return {
    ...use,
    use: async query =>
      (await use.use(asked(query))).map(row => ({
        ...row,
        name: newOf(query.by, row.name),
        endpoint: newOf('endpoint', row.endpoint),
      })),
    lastUse: async query => named(query, await use.lastUse(asked(query))),
    peaks: async query => named(query, await use.peaks(asked(query))),
    keySums: async queries =>
      (await use.keySums(queries.map(query => ({ ...query, key: oldOf('key', query.key) })))).map(sums => ({
        ...sums,
        key: newOf('key', sums.key),
      })),
    nodeUse: async query =>
      (await use.nodeUse(query)).map(row => ({ ...row, endpoint: newOf('endpoint', row.endpoint) })),
  }
}
