import type {
  CallRecord,
  Hold,
  HoldEnd,
  KeySums,
  KeySumsQuery,
  RejectedCall,
  StoredResponse,
} from '../../schema/ledger.ts'
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
  | { readonly query: 'stored'; readonly ids: readonly string[]; readonly nowMs: number }
  | { readonly query: 'orphaned' }
  | { readonly query: 'overdue'; readonly deadlineBeforeMs: number; readonly after?: HoldId }
  | { readonly query: 'prune'; readonly beforeMs: number; readonly maxRows: number }
  | { readonly query: 'prune_stored'; readonly nowMs: number; readonly maxRows: number }
  | { readonly query: 'log_rejected'; readonly calls: readonly RejectedCall[] }
  | { readonly query: 'nothing' }

/** The answer to each query. */
export interface Answers {
  readonly sums: readonly KeySums[]
  readonly balances: { readonly version: number; readonly balanceNano: readonly bigint[] }
  readonly adjustments: Adjustments
  readonly stored: readonly (StoredResponse | undefined)[]
  /** Oldest first, a page at a time. */
  readonly orphaned: readonly Hold[]
  readonly overdue: readonly Hold[]
  /** How many rows were deleted. */
  readonly prune: number
  readonly prune_stored: number
  readonly log_rejected: undefined
  readonly nothing: undefined
}

export interface HoldId {
  readonly requestId: string
  readonly attempt: number
}

/** An item in the writer's queue: a row, or a query between rows. */
export type Item = Row | readonly [what: 'query', query: LedgerQuery]

/** A message to the writer: the items of one batch, numbered from `first` on without gaps. */
export interface Post {
  readonly first: number
  readonly items: readonly Item[]
}

/** A message from the writer. */
export type Report =
  | { readonly is: 'ready' }
  /** All rows up to this number are committed, except those in `faults` and those reported as rejected or expired. */
  | { readonly is: 'committed'; readonly upTo: number; readonly faults: readonly Rejection[] }
  | { readonly is: 'answered'; readonly seq: number; readonly answer: Answers[LedgerQuery['query']] }
  /** A row that can never be written; it has left the queue. */
  | { readonly is: 'rejected'; readonly seq: number; readonly message: string }
  /** Holds that waited too long; they have left the queue and will not be written. */
  | { readonly is: 'expired'; readonly seqs: readonly number[] }
  | { readonly is: 'problem'; readonly message: string }
  | { readonly is: 'recovered' }

export interface Rejection {
  readonly seq: number
  readonly fault: RowFault
}

/** The start parameters of the writer's thread. */
export interface WriterSettings {
  readonly path: string
  /** How long a hold may wait while the database cannot be written. */
  readonly openTimeoutMs: number
  readonly batchRows: number
}
