import type { CallRecord, Hold, HoldEnd, KeySums, KeySumsQuery, RejectedCall } from '../../schema/ledger.ts'
import type { Adjustments } from './types.ts'

/** What is written, as it crosses to the writer's thread. Hold and end are those of `LedgerPort`. */
export type Row =
  | readonly [what: 'hold', hold: Hold]
  | readonly [what: 'end', end: HoldEnd]
  | readonly [what: 'log', record: CallRecord]

/** Why a row was not written, though the batch was. */
export type RowFault =
  /** The hold is there already. */
  | 'held_twice'
  /** The hold has ended in another way, or at another amount. */
  | 'ended_differently'
  /** There never was such a hold. */
  | 'never_held'
  | Short

/** A prepaid hold that the balance does not cover. */
export interface Short {
  readonly balanceNano: bigint
  readonly heldNano: bigint
}

/** What is answered between two rows. */
export type LedgerQuery =
  | { readonly query: 'sums'; readonly queries: readonly KeySumsQuery[] }
  | { readonly query: 'balances'; readonly tenants: readonly string[] }
  | { readonly query: 'adjustments'; readonly sinceVersion: number }
  | { readonly query: 'left_behind' }
  | { readonly query: 'overdue'; readonly deadlineBeforeMs: number; readonly after?: HoldId }
  | { readonly query: 'prune'; readonly beforeMs: number; readonly maxRows: number }
  | { readonly query: 'log_rejected'; readonly calls: readonly RejectedCall[] }
  | { readonly query: 'nothing' }

/** What each question is answered with. */
export interface Answers {
  readonly sums: readonly KeySums[]
  readonly balances: { readonly version: number; readonly balanceNano: readonly bigint[] }
  readonly adjustments: Adjustments
  /** Oldest first, a page at a time. */
  readonly left_behind: readonly Hold[]
  readonly overdue: readonly Hold[]
  /** How many were deleted. */
  readonly prune: number
  readonly log_rejected: undefined
  readonly nothing: undefined
}

export interface HoldId {
  readonly requestId: string
  readonly attempt: number
}
