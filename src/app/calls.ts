import { pause } from '../base/clock.ts'
import type { Accounting, CallLogQuery, StoredCall } from '../store/ledger/types.ts'
import { currencyOf } from './currency.ts'
import { strangers } from './names.ts'
import type { AppPorts } from './ports.ts'
import { withStore } from './stored.ts'

/** How often a follower looks for new calls: soon enough for a person, and a look costs microseconds. */
const POLL_MS = 500
const PAGE_ROWS = 1_000

/** Which calls to read. */
export interface CallFilters extends Omit<CallLogQuery, 'before' | 'after' | 'limit'> {
  /** At most this status: with `minStatus` 400 and this at 499 all that the client did wrong. */
  readonly maxStatus?: number
}

export interface CallsRead {
  readonly currency: string
  /** Oldest first. */
  readonly calls: readonly StoredCall[]
  /** Where nothing was found: a sentence for each filter that names nothing that stands. */
  readonly strangers: readonly string[]
}

/** The newest `limit` calls that the filters let through, oldest first. @throws {CommandError} GW2xxx */
export async function readCalls(
  filters: CallFilters,
  limit: number,
  storeUrl: string,
  ports: Pick<AppPorts, 'clock' | 'cwd'>,
): Promise<CallsRead> {
  return withStore(storeUrl, 'read', ports, async store => {
    const live = await store.live()
    const { calls } = await newest(store.accounting, filters, limit)
    return { currency: currencyOf(live), calls, strangers: calls.length > 0 ? [] : strangers(live, filters) }
  })
}

/**
 * As {@link readCalls}, and then every new call, until the signal comes; that is its ordinary end.
 *
 * @param show is handed some calls at a time, oldest first, and awaited before the next look.
 * @throws {CommandError} GW2xxx
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
    const first = await newest(store.accounting, filters, limit)
    await show({ currency, calls: first.calls, strangers: strangers(live, filters) })
    let seen = first.lastId
    while (!signal.aborted) {
      const page = await store.accounting.callLogs({ ...asked(filters), after: seen, limit: PAGE_ROWS })
      const calls = page.filter(call => passes(call, filters))
      if (calls.length > 0) await show({ currency, calls, strangers: [] })
      seen = page.at(-1)?.id ?? seen
      if (page.length === 0) await pause(clock, POLL_MS, signal)
    }
  })
}

/** `lastId`: that of the newest call which the store gave, let through or not; 0 where it gave none. */
async function newest(
  accounting: Accounting,
  filters: CallFilters,
  limit: number,
): Promise<{ readonly calls: readonly StoredCall[]; readonly lastId: number }> {
  const found: StoredCall[] = []
  let lastId: number | undefined
  let before: number | undefined
  while (found.length < limit) {
    const needed = filters.maxStatus === undefined ? limit - found.length : PAGE_ROWS
    const page = await accounting.callLogs({
      ...asked(filters),
      limit: Math.min(needed, PAGE_ROWS),
      ...(before !== undefined && { before }),
    })
    const oldest = page.at(-1)
    if (!oldest) break
    lastId ??= page[0]?.id
    found.push(...page.filter(call => passes(call, filters)))
    before = oldest.id
  }
  return { calls: found.slice(0, limit).reverse(), lastId: lastId ?? 0 }
}

/** What the store itself can look for. */
function asked({ maxStatus: _ours, ...query }: CallFilters): CallLogQuery {
  return query
}

function passes({ status }: StoredCall, { maxStatus }: CallFilters): boolean {
  return maxStatus === undefined || status <= maxStatus
}
