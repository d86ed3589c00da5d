import { pause } from '../base/clock.ts'
import type { Accounting, CallLogQuery, StoredCall, StoredRejection } from '../store/ledger/types.ts'
import type { AppPorts } from './context.ts'
import { currencyOf } from './currency.ts'
import { unknownNames } from './names.ts'
import { withStore } from './stored.ts'

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

export interface CallsRead {
  readonly currency: string
  /** Oldest first. */
  readonly calls: readonly LoggedCall[]
  /** If nothing was found: a sentence for each filter that names a resource that does not exist. */
  readonly unknownNames: readonly string[]
}

/** The newest `limit` calls that match the filters, oldest first. @throws {CommandError} store_… */
export async function readCalls(
  filters: CallFilters,
  limit: number,
  storeUrl: string,
  ports: Pick<AppPorts, 'clock' | 'cwd'>,
): Promise<CallsRead> {
  return withStore(storeUrl, 'read', ports, async store => {
    const live = await store.live()
    const calls = await newestOfBoth(store.accounting, filters, limit)
    return {
      currency: currencyOf(live),
      calls: calls.lines,
      unknownNames: calls.lines.length > 0 ? [] : unknownNames(live, filters),
    }
  })
}

/**
 * Like {@link readCalls}, then every new call until the signal aborts. The abort is the normal end.
 * @param show receives some calls at a time, oldest first, and is awaited before the next poll.
 * @throws {CommandError} store_…
 */
export async function followCalls(
  filters: CallFilters,
  limit: number,
  storeUrl: string,
  ports: Pick<AppPorts, 'clock' | 'cwd' | 'signal'>,
  show: (read: CallsRead) => Promise<void>,
): Promise<void> {
  const { clock, signal } = ports
  await withStore(storeUrl, 'read', ports, async store => {
    const live = await store.live()
    const currency = currencyOf(live)
    const first = await newestOfBoth(store.accounting, filters, limit)
    await show({ currency, calls: first.lines, unknownNames: unknownNames(live, filters) })
    let { lastCall, lastRejection } = first
    while (!signal.aborted) {
      const page = { ...filters, limit: PAGE_ROWS }
      const calls = await store.accounting.callLogs({ ...page, after: lastCall })
      const rejected = await store.accounting.rejectedCalls({ ...page, after: lastRejection })
      const lines = [...calls, ...rejected].sort(byTime)
      if (lines.length > 0) await show({ currency, calls: lines, unknownNames: [] })
      lastCall = calls.at(-1)?.id ?? lastCall
      lastRejection = rejected.at(-1)?.id ?? lastRejection
      if (calls.length + rejected.length === 0) await pause(clock, POLL_MS, signal)
    }
  })
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
