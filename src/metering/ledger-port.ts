import type { CallRecord, Hold, HoldEnd, RejectedCall } from '../schema/ledger.ts'

/**
 * What the path of a request needs of the ledger. `app` hands in the one that is behind the store.
 *
 * Calls take effect in the order in which they are made, whoever makes them; each promise resolves when its row is
 * committed, together with all that fell due at the same moment.
 */
export interface LedgerPort {
  /** False while rows cannot be committed, or too many wait: billed routes answer 503 then. */
  readonly healthy: boolean
  /**
   * Opens a hold. To be awaited before dispatch: a request that an upstream has seen has a row.
   * @throws {BalanceShort} where the hold is prepaid and the balance does not cover it. {GwError} unavailable, where
   *   the row cannot be written. Nothing is held then.
   */
  open(hold: Hold): Promise<void>
  /**
   * Ends a hold, once: a second end is a no-op, and one with another amount an alarm in the log. To be awaited
   * before the last bytes of a complete answer go out. Where the disk fails it stays queued and resolves when
   * space is back.
   */
  end(end: HoldEnd): Promise<void>
  /** Queues a line of the call log. Under pressure it is dropped, and counted. */
  log(record: CallRecord): void
  /** Keeps a sample of calls that were rejected before they were dispatched, in a log of its own. */
  logRejected(call: RejectedCall): void
}
