import type { CallRecord, Hold, HoldEnd, RejectedCall } from '../schema/ledger.ts'

/**
 * The ledger as the request path uses it. `app` passes the implementation of the store.
 *
 * Calls take effect in their order, across all callers. Each promise resolves when its row is committed, in a batch with
 * the rows of the same time.
 */
export interface LedgerPort {
  /** False while rows cannot be committed, or too many wait: billed routes answer 503 then. */
  readonly healthy: boolean
  /**
   * Opens a hold. Must be awaited before dispatch: every dispatched request has a row.
   * @throws {BalanceShort} if the hold is prepaid and the balance does not cover it. {GwError} unavailable if the row
   *   cannot be written. Nothing is held then.
   */
  open(hold: Hold): Promise<void>
  /**
   * Ends a hold, once: a second end is a no-op, and logged as an alarm if its amount differs. Must be awaited before the
   * last bytes of a complete answer are sent. If the disk is full, the end stays queued and resolves when space is free.
   */
  end(end: HoldEnd): Promise<void>
  /** Queues a line of the call log. Under pressure it is dropped, and counted. */
  log(record: CallRecord): void
  /** Keeps a sample of calls that were rejected before they were dispatched, in a log of its own. */
  logRejected(call: RejectedCall): void
}
