import { CommandError } from '../../base/catalogue/command.ts'
import type { Clock } from '../../base/clock.ts'
import { storePath } from '../url.ts'
import { takeLease } from './lease.ts'
import { LedgerThread } from './ledger-thread.ts'
import { ThreadedLedger } from './threaded-ledger.ts'
import type { Ledger, LedgerEvents } from './types.ts'

export interface OpenLedgerOptions {
  readonly clock: Clock
  readonly events: LedgerEvents
  /** The folder that a relative path starts from; the working directory by default. */
  readonly folder?: string
  /** How many rows may be queued: 20,000 by default. */
  readonly maxQueued?: number
  /** How long a hold may wait while the database cannot be written: 2 s by default. */
  readonly openTimeoutMs?: number
  /** The maximum number of rows in one transaction, which bounds the waiting time of each: 1,000 by default. */
  readonly batchRows?: number
  /** A thread that was started before; otherwise one is started here. The ledger ends it, also after an error. */
  readonly thread?: LedgerThread
}

/** Time for SQLite to get a lock, and for a commit on a slow disk, on top of a hold's timeout. */
const STALL_MARGIN_MS = 3_000

/**
 * Becomes the one gateway of a store that `openStore` has migrated, with a thread that writes.
 * @throws {CommandError} store_in_use if another gateway serves the store; store_unavailable, store_missing, usage
 */
export async function openLedger(url: string, options: OpenLedgerOptions): Promise<Ledger> {
  const thread = options.thread ?? new LedgerThread()
  try {
    return await openWith(thread, url, options)
  } catch (error) {
    await thread.end()
    throw error
  }
}

async function openWith(thread: LedgerThread, url: string, options: OpenLedgerOptions): Promise<Ledger> {
  const { clock, events, openTimeoutMs = 2_000, batchRows = 1_000, maxQueued = 20_000 } = options
  const path = storePath(url, options.folder ?? '.')
  const lease = takeLease(path)
  try {
    const worker = await thread.begin({ path, openTimeoutMs, batchRows })
    const stalledAfterMs = openTimeoutMs + STALL_MARGIN_MS
    return new ThreadedLedger(worker, lease, { clock, events, maxQueued, stalledAfterMs })
  } catch (error) {
    lease.release()
    if (error instanceof CommandError) throw error
    throw new CommandError('store_unavailable', `${path} cannot be written: ${(error as Error).message}.`, {
      cause: error,
    })
  }
}
