import type { CallRecord, Hold, HoldEnd, KeySums, KeySumsQuery, RejectedCall } from '../../schema/ledger.ts'
import type { Adjustments } from './types.ts'

/** The rows that are sent to the writer's thread. Hold and end are those of `LedgerPort`. */
export type Row =
  | readonly [what: 'hold', hold: Hold]
  | readonly [what: 'end', end: HoldEnd]
  | readonly [what: 'log', record: CallRecord]

/** Why a row was not written, although its batch was. */
export type RowFault =
  /** The hold already exists. */
  | 'held_twice'
  /** The hold has ended differently, or with another amount. */
  | 'ended_differently'
  /** There was never such a hold. */
  | 'never_held'
  | Short

/** A prepaid hold that the balance does not cover. */
export interface Short {
  readonly balanceNano: bigint
  readonly heldNano: bigint
}

/** A query that is answered between two rows. */
export type LedgerQuery =
  | { readonly query: 'sums'; readonly queries: readonly KeySumsQuery[] }
  | { readonly query: 'balances'; readonly tenants: readonly string[] }
  | { readonly query: 'adjustments'; readonly sinceVersion: number }
  | { readonly query: 'orphaned' }
  | { readonly query: 'overdue'; readonly deadlineBeforeMs: number; readonly after?: HoldId }
  | { readonly query: 'prune'; readonly beforeMs: number; readonly maxRows: number }
  | { readonly query: 'log_rejected'; readonly calls: readonly RejectedCall[] }
  | { readonly query: 'nothing' }

/** The answer to each query. */
export interface Answers {
  readonly sums: readonly KeySums[]
  readonly balances: { readonly version: number; readonly balanceNano: readonly bigint[] }
  readonly adjustments: Adjustments
  /** Oldest first, a page at a time. */
  readonly orphaned: readonly Hold[]
  readonly overdue: readonly Hold[]
  /** How many rows were deleted. */
  readonly prune: number
  readonly log_rejected: undefined
  readonly nothing: undefined
}

export interface HoldId {
  readonly requestId: string
  readonly attempt: number
}
