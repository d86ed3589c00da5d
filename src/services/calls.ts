import { pause } from '../base/clock.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { callToJson, rejectionToJson } from '../store/ledger/to-json.ts'
import type {
  Accounting,
  CallLogQuery,
  StoredCall,
  StoredRejection,
  UsageFilters,
} from '../store/ledger/types.ts'
import type { Actor, Context } from './context.ts'
import { idBefore, type PageQuery, pageOf } from './paging.ts'
import { readCurrency, readSettings } from './settings.ts'

/** How often `--follow` polls for new calls. A poll costs microseconds. */
const POLL_MS = 500
const PAGE_ROWS = 1_000

/** Which calls to read. */
export type CallFilters = Omit<CallLogQuery, 'before' | 'after' | 'limit'>

/** An entry of the call log, or of the log of calls rejected before dispatch. */
export type LoggedCall = StoredCall | StoredRejection

export function isRejection(call: LoggedCall): call is StoredRejection {
  return 'count' in call
}

/** Dispatched calls, newest first, of the tenant of the actor. */
export async function listCalls(
  { store, actor }: Context,
  filters: CallFilters,
  page: PageQuery,
): Promise<AnswerOf<OperationOf<'list_calls'>>> {
  const showsEndpoints = await seesEndpoints({ store, actor })
  // A filter would reveal what the answer does not show.
  const isHidden =
    (filters.node !== undefined && actor.tenant !== undefined) ||
    (filters.endpoint !== undefined && !showsEndpoints)
  const own = isHidden ? undefined : ownTenant(filters, actor)
  const currency = await readCurrency(store)
  return pageOf(
    page,
    async (limit, mark) => (own ? store.accounting.callLogs({ ...own, limit, ...idBefore(mark) }) : []),
    call => call.id,
    call => callToJson(actor.tenant === undefined ? call : forTenant(call, showsEndpoints), currency),
  )
}

/** Calls that were rejected before dispatch, newest first, of the tenant of the actor. */
export async function listRejections(
  { store, actor }: Context,
  filters: CallFilters,
  page: PageQuery,
): Promise<AnswerOf<OperationOf<'list_rejections'>>> {
  const own = ownTenant(filters, actor)
  return pageOf(
    page,
    async (limit, mark) => (own ? store.accounting.rejectedCalls({ ...own, limit, ...idBefore(mark) }) : []),
    call => call.id,
    call => {
      const { reason, ...json } = rejectionToJson(call)
      return { id: call.id, ...json, ...(actor.tenant === undefined && reason !== undefined && { reason }) }
    },
  )
}

/**
 * Nodes, and failure reasons, which reveal endpoints and upstream errors, are for operators only; the endpoint is as well if
 * clients do not see its name.
 */
export function forTenant(
  { reason: _reason, failedAttempts: _failed, node: _node, ...call }: StoredCall,
  showsEndpoints: boolean,
): StoredCall {
  if (showsEndpoints) return call
  const { endpoint: _endpoint, ...rest } = call
  return rest
}

/** Whether the actor sees names of endpoints: of tenants, `settings.show_endpoints` decides. */
export async function seesEndpoints({ store, actor }: Pick<Context, 'store' | 'actor'>): Promise<boolean> {
  return actor.tenant === undefined || (await readSettings(store)).show_endpoints
}

/** The filters within the tenant of the actor; undefined if nothing can match. */
export function ownTenant<Filters extends UsageFilters>(
  filters: Filters,
  { tenant }: Pick<Actor, 'tenant'>,
): Filters | undefined {
  if (tenant === undefined) return filters
  return filters.tenant === undefined || filters.tenant === tenant ? { ...filters, tenant } : undefined
}

/** Both logs: dispatched calls, and calls that were rejected before dispatch. */
export interface CallsRead {
  readonly currency: string
  /** Oldest first. */
  readonly calls: readonly LoggedCall[]
}

/** The newest `limit` lines of both logs that match the filters. */
export async function readCalls(
  { store }: Pick<Context, 'store'>,
  filters: CallFilters,
  limit: number,
): Promise<CallsRead> {
  const { lines } = await newestOfBoth(store.accounting, filters, limit)
  return { currency: await readCurrency(store), calls: lines }
}

/**
 * Like {@link readCalls}, then every new line until the signal aborts. The abort is the normal end.
 * @param show receives some lines at a time, oldest first, and is awaited before the next poll.
 */
export async function followCalls(
  { store, clock, signal }: Pick<Context, 'store' | 'clock' | 'signal'>,
  filters: CallFilters,
  limit: number,
  show: (read: CallsRead) => Promise<void>,
): Promise<void> {
  const currency = await readCurrency(store)
  const first = await newestOfBoth(store.accounting, filters, limit)
  await show({ currency, calls: first.lines })
  let { lastCall, lastRejection } = first
  while (!signal.aborted) {
    const page = { ...filters, limit: PAGE_ROWS }
    const calls = await store.accounting.callLogs({ ...page, after: lastCall })
    const rejected = await store.accounting.rejectedCalls({ ...page, after: lastRejection })
    const lines = [...calls, ...rejected].sort(byTime)
    if (lines.length > 0) await show({ currency, calls: lines })
    lastCall = calls.at(-1)?.id ?? lastCall
    lastRejection = rejected.at(-1)?.id ?? lastRejection
    if (calls.length + rejected.length === 0) await pause(clock, POLL_MS, signal)
  }
}

/** The newest entries of both logs, oldest first, and the ids after which following continues. */
async function newestOfBoth(
  accounting: Accounting,
  filters: CallFilters,
  limit: number,
): Promise<{
  readonly lines: readonly LoggedCall[]
  readonly lastCall: number
  readonly lastRejection: number
}> {
  const calls = await newest(query => accounting.callLogs(query), filters, limit)
  const rejected = await newest(query => accounting.rejectedCalls(query), filters, limit)
  const lines: LoggedCall[] = [...calls.found, ...rejected.found]
  return {
    lines: lines.sort(byTime).slice(-limit),
    lastCall: calls.lastId,
    lastRejection: rejected.lastId,
  }
}

function byTime(one: LoggedCall, other: LoggedCall): number {
  return one.atMs - other.atMs
}

/**
 * `lastId` is where following continues. It is set even if nothing matched, so that a poll never reads the whole log.
 */
async function newest<Row extends { readonly id: number }>(
  read: (query: CallLogQuery) => Promise<readonly Row[]>,
  filters: CallFilters,
  limit: number,
): Promise<{ readonly found: readonly Row[]; readonly lastId: number }> {
  const [head] = await read({ limit: 1 })
  const found: Row[] = []
  while (found.length < limit) {
    const before = found.at(-1)?.id
    const page = await read({
      ...filters,
      limit: Math.min(limit - found.length, PAGE_ROWS),
      ...(before !== undefined && { before }),
    })
    if (page.length === 0) break
    found.push(...page)
  }
  // A call may have been logged between the two reads.
  const lastId = Math.max(head?.id ?? 0, found[0]?.id ?? 0)
  return { found: found.reverse(), lastId }
}
