import type { Answers, LedgerQuery, Row, RowFault } from './rows.ts'

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
