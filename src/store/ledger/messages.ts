import type {
  CallRecord,
  Hold,
  HoldEnd,
  KeySums,
  KeySumsQuery,
  RejectedCall,
  StoredResponse,
} from '../../schema/ledger.ts'
import type { InstanceAnswers, InstanceQuery } from '../shares/instance-queries.ts'
import type { Adjustments } from './types.ts'

/** The rows of the journal. Hold and end are those of `LedgerPort`. */
export type Row =
  | readonly [what: 'hold', hold: Hold]
  | readonly [what: 'end', end: HoldEnd]
  | readonly [what: 'log', record: CallRecord]

/** Why a row was not folded into the store, although its batch was. */
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
  /** Writes a prepaid hold into the store at once: only there, balance and debits of all processes are known. */
  | { readonly query: 'hold'; readonly hold: Hold }
  | { readonly query: 'sums'; readonly queries: readonly KeySumsQuery[] }
  | { readonly query: 'balances'; readonly tenants: readonly string[] }
  | { readonly query: 'adjustments'; readonly sinceVersion: number }
  | { readonly query: 'stored'; readonly ids: readonly string[]; readonly nowMs: number }
  | { readonly query: 'orphaned' }
  | { readonly query: 'overdue'; readonly deadlineBeforeMs: number; readonly after?: HoldId }
  | { readonly query: 'prune'; readonly beforeMs: number; readonly maxRows: number }
  | { readonly query: 'prune_stored'; readonly nowMs: number; readonly maxRows: number }
  | { readonly query: 'log_rejected'; readonly calls: readonly RejectedCall[] }
  | InstanceQuery
  | { readonly query: 'nothing' }

/** The answer to each query. */
export interface Answers extends InstanceAnswers {
  readonly hold: RowFault | undefined
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

/** A key of maps. Most calls have one attempt, and no new text. No request id has a blank. */
export function keyOfHold({ requestId, attempt }: HoldId): string {
  return attempt === 1 ? requestId : `${requestId} ${attempt}`
}

/** A query, to be answered when all rows up to `afterRow` are in the store. */
export interface Question {
  readonly seq: number
  readonly afterRow: number
  readonly query: LedgerQuery
}

/** A message to the writer: rows up to this one can be read from the journal. */
export interface Post {
  readonly writtenRow: number
  readonly questions: readonly Question[]
}

/** A message from the writer. */
export type Report =
  /** The journal of earlier processes is in the store. */
  | {
      readonly is: 'ready'
      readonly journalId: string
      readonly nextRow: number
      readonly alarms: readonly string[]
    }
  /** The journal of an earlier process cannot be read to its end. */
  | { readonly is: 'damaged'; readonly message: string }
  /** All rows up to this number are in the store. The segments are not needed any more. */
  | {
      readonly is: 'folded'
      readonly row: number
      readonly alarms: readonly string[]
      readonly finished: readonly number[]
    }
  | { readonly is: 'answered'; readonly seq: number; readonly answer: Answers[LedgerQuery['query']] }
  /** A prepaid hold that can never be written, or that waited too long; it will not be written. */
  | { readonly is: 'rejected'; readonly seq: number; readonly message: string }
  | { readonly is: 'expired'; readonly seqs: readonly number[] }
  | { readonly is: 'problem'; readonly message: string }
  | { readonly is: 'recovered' }

/** The start parameters of the writer's thread. */
export interface WriterSettings {
  /** Of the database. */
  readonly path: string
  readonly lane: number
  /** The folder of the journal of the lane. */
  readonly journalFolder: string
  /** How long a prepaid hold may wait while the database cannot be written. */
  readonly openTimeoutMs: number
  /** The maximum number of rows in one transaction. */
  readonly batchRows: number
}
