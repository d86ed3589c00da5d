import { CommandError } from '../../base/catalogue/command.ts'
import type { Clock } from '../../base/clock.ts'
import { JournalFolder, journalFolder } from '../journal/files.ts'
import { Journal } from '../journal/journal.ts'
import { isPostgresUrl, storePath } from '../url.ts'
import { JournaledLedger } from './journaled-ledger.ts'
import { type Lease, takeFreeLane } from './lease.ts'
import { LedgerThread } from './ledger-thread.ts'
import type { Ledger, LedgerEvents } from './types.ts'

export interface OpenLedgerOptions {
  readonly clock: Clock
  readonly events: LedgerEvents
  /** The folder that a relative path starts from; the working directory by default. */
  readonly folder?: string
  /** How many rows may wait for the store: 200,000 by default. */
  readonly maxUnfolded?: number
  /** How long a prepaid hold may wait while the database cannot be written: 2 s by default. */
  readonly openTimeoutMs?: number
  /** The maximum number of rows in one transaction, which bounds the waiting time of queries: 2,000 by default. */
  readonly batchRows?: number
  /** How long a gateway of a store in PostgreSQL keeps its limits without a sign of life: 10 s by default. */
  readonly leaseMs?: number
  /** The lane that was taken; by default the first free one. The ledger releases its lease, also after an error. */
  readonly place?: { readonly lane: number; readonly lease: Lease }
  /** A thread that was started before; otherwise one is started here. The ledger ends it, also after an error. */
  readonly thread?: LedgerThread
}

/** Time for SQLite to get a lock, and for a commit on a slow disk, on top of a hold's timeout. */
const STALL_MARGIN_MS = 3_000

/**
 * Becomes a gateway of a store that `openStore` has migrated, with a thread that writes it. SQLite: with a journal, which
 * the thread folds into the store. What earlier processes left in the journal of its lane is in the store when it resolves.
 * @throws {CommandError} store_in_use if no lane is free; store_unavailable, store_missing, usage; journal_damaged if
 * rows of the journal are missing
 */
export async function openLedger(url: string, options: OpenLedgerOptions): Promise<Ledger> {
  const thread = options.thread ?? new LedgerThread()
  try {
    if (isPostgresUrl(url)) {
      const { openPostgresLedger } = await import('../postgres/ledger/open.ts')
      return await openPostgresLedger(thread, url, options)
    }
    return await openWith(thread, url, options)
  } catch (error) {
    options.place?.lease.release()
    await thread.end()
    throw error
  }
}

async function openWith(thread: LedgerThread, url: string, options: OpenLedgerOptions): Promise<Ledger> {
  const { clock, events } = options
  const { openTimeoutMs = 2_000, batchRows = 2_000, maxUnfolded = 200_000 } = options
  const path = storePath(url, options.folder ?? '.')
  const { lane, lease } = options.place ?? takeFreeLane(path)
  try {
    const folder = journalFolder(path, lane)
    const settings = { path, lane, journalFolder: folder, openTimeoutMs, batchRows }
    const { worker, journalId, nextRow, alarms } = await thread.begin(settings)
    for (const alarm of alarms) events.onAlarm(alarm)
    const files = new JournalFolder(folder)
    const earlier = files.list()
    const journal = await Journal.open({
      files,
      clock,
      atTurnEnd,
      journalId,
      firstRow: nextRow,
      onProblem: error => events.onProblem(`the journal in ${folder} cannot be written: ${error.message}`),
      onRecovered: () => events.onRecovered(),
    })
    journal.release(earlier)
    const stalledAfterMs = openTimeoutMs + STALL_MARGIN_MS
    return new JournaledLedger(worker, journal, lease, {
      clock,
      events,
      lane,
      atTurnEnd,
      maxUnfolded,
      stalledAfterMs,
    })
  } catch (error) {
    lease.release()
    if (error instanceof CommandError) throw error
    throw new CommandError('store_unavailable', `${path} cannot be written: ${(error as Error).message}.`, {
      cause: error,
    })
  }
}

function atTurnEnd(task: () => void): void {
  setImmediate(task)
}
