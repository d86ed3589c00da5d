import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import { fromRequestId, requestIdOf } from './columns.ts'

/** What differs between the engines in queries about the ledger that are otherwise the same. */
export interface LedgerDialect {
  /** An expression for the request id of a row. */
  readonly requestIdOf: (column: string) => string
  /** A request id as a row has it. */
  readonly toRequest: (id: string) => Buffer | string
  /** A table of texts, as `value`. */
  readonly textTable: (texts: readonly string[]) => RawBuilder<unknown>
  /** The call log says which pages of ids have a value; otherwise its indexes do. */
  readonly hasLogPages: boolean
  /**
   * Called before an adjustment reads the balance: from then on neither the balance nor what gateways have leased of it changes until
   * the transaction ends.
   */
  readonly lockBalance: (db: Kysely<Tables>, tenant: string, nowMs: number) => Promise<void>
  /** The first statement of a transaction that sees one moment and reads entries: no archive moves them until it ends. */
  readonly lockEntries: (db: Kysely<Tables>) => Promise<void>
  /** Further columns of the entry of an adjustment. */
  readonly adjustmentColumns: (nowMs: number) => object
}

export const SQLITE_LEDGER: LedgerDialect = {
  requestIdOf,
  toRequest: fromRequestId,
  textTable: texts => sql`json_each(${JSON.stringify(texts)})`,
  hasLogPages: true,
  // There is one writer at a time.
  lockBalance: async () => undefined,
  lockEntries: async () => undefined,
  adjustmentColumns: () => ({}),
}
