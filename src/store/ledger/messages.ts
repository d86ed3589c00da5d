import type { Answers, LedgerQuery, Row, RowFault } from './rows.ts'

/** What waits its turn in the writer: a row, or a question between rows. */
export type Item = Row | readonly [what: 'query', question: LedgerQuery]

/** To the writer: items that came while the event loop was busy, numbered from `first` on without gaps. */
export interface Post {
  readonly first: number
  readonly items: readonly Item[]
}

/** From the writer. */
export type Report =
  | { readonly is: 'ready' }
  /** All up to this number are committed, but for those reported as rejected, and for rejected holds. */
  | { readonly is: 'committed'; readonly upTo: number; readonly faults: readonly Rejection[] }
  | { readonly is: 'answered'; readonly seq: number; readonly answer: Answers[LedgerQuery['query']] }
  /** A row that can never be written; it is out of the queue. */
  | { readonly is: 'rejected'; readonly seq: number; readonly message: string }
  /** Holds that waited too long; they are out of the queue and will not be written. */
  | { readonly is: 'expired'; readonly seqs: readonly number[] }
  | { readonly is: 'trouble'; readonly message: string }
  | { readonly is: 'recovered' }

export interface Rejection {
  readonly seq: number
  readonly fault: RowFault
}

/** What a writer's thread is started with. */
export interface WriterSettings {
  readonly path: string
  /** How long a hold may wait for a database that cannot be written. */
  readonly openPatienceMs: number
  readonly batchRows: number
}
