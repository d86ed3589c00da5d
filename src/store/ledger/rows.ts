import type { CallRecord, Hold, HoldEnd, KeySums, KeySumsQuery, RefusedCall } from '../../schema/ledger.ts'
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
export type Question =
  | { readonly ask: 'sums'; readonly queries: readonly KeySumsQuery[] }
  | { readonly ask: 'balances'; readonly tenants: readonly string[] }
  | { readonly ask: 'adjustments'; readonly sinceVersion: number }
  | { readonly ask: 'left_behind' }
  | { readonly ask: 'overdue'; readonly deadlineBeforeMs: number; readonly after?: HoldId }
  | { readonly ask: 'prune'; readonly beforeMs: number; readonly maxRows: number }
  | { readonly ask: 'log_refused'; readonly calls: readonly RefusedCall[] }
  | { readonly ask: 'nothing' }

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
  readonly log_refused: undefined
  readonly nothing: undefined
}

export interface HoldId {
  readonly requestId: string
  readonly attempt: number
}
