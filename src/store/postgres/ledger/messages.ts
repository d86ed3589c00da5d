import type { Hold } from '../../../schema/ledger.ts'
import type { Answers, LedgerQuery, Row } from '../../ledger/messages.ts'
import type { PostgresAddress } from '../address.ts'

/** The start parameters of the thread. */
export interface PostgresSettings {
  readonly address: PostgresAddress
  /** The maximum number of rows in one statement. */
  readonly batchRows: number
  /** How long this gateway keeps its shares without a sign of life. */
  readonly leaseMs: number
  /** Where gateways of this machine keep ends while the server is away. */
  readonly journalRoot: string
}

export type NumberedRow = readonly [number: number, row: Row]

export interface PostgresQuestion {
  readonly seq: number
  readonly query: LedgerQuery
}

/** A message to the thread: rows and questions in the order of their calls. */
export interface PostgresPost {
  readonly items: readonly (NumberedRow | PostgresQuestion)[]
  /** Holds whose callers have been rejected. Those that were not written are not to be written any more. */
  readonly cancelled: readonly number[]
}

/** A message from the thread. */
export type PostgresReport =
  | { readonly is: 'ready'; readonly instance: string }
  | { readonly is: 'unavailable'; readonly message: string }
  /** Holds are committed; `order` counts such reports. */
  | { readonly is: 'held'; readonly numbers: readonly number[]; readonly order: number }
  /** A hold was not written, and never will be: why. */
  | { readonly is: 'rejected'; readonly number: number; readonly fault: string }
  /** Ends and log lines are committed and synced, and so are all holds of reports up to `order`. */
  | { readonly is: 'ended'; readonly numbers: readonly number[]; readonly order: number }
  | { readonly is: 'answered'; readonly seq: number; readonly answer: Answers[LedgerQuery['query']] }
  | { readonly is: 'failed'; readonly seq: number; readonly message: string }
  | { readonly is: 'alarm'; readonly message: string }
  | { readonly is: 'problem'; readonly message: string }
  | { readonly is: 'recovered' }
  /** The shares of this gateway were given to others. */
  | { readonly is: 'fenced' }

export function isRow(item: NumberedRow | PostgresQuestion): item is NumberedRow {
  return Array.isArray(item)
}

/** A hold with the number of its row. */
export interface NumberedHold {
  readonly number: number
  readonly hold: Hold
}
