import type { Hold } from '../../../schema/ledger.ts'
import { ByteReader, type TextCache } from '../../journal/bytes.ts'
import { decodeRow } from '../../journal/row-codec.ts'
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

/** A message to the thread. Objects cost three times as much to send as bytes. */
export interface PostgresPost {
  /** Rows with consecutive numbers, as in a journal. */
  readonly rows: Uint8Array
  readonly firstNumber: number
  /** In their order; each follows the rows up to a number. */
  readonly questions: readonly { readonly afterNumber: number; readonly question: PostgresQuestion }[]
  /** As {@link PostgresItems.cancelled}. */
  readonly cancelled: readonly number[]
}

/** Rows and questions in the order of their calls. */
export interface PostgresItems {
  readonly items: readonly (NumberedRow | PostgresQuestion)[]
  /** Holds whose callers have been rejected. Those that were not written are not to be written any more. */
  readonly cancelled: readonly number[]
}

/** A message from the thread. */
export type PostgresReport =
  | { readonly is: 'ready'; readonly instance: string }
  /** The ledger cannot begin. */
  | { readonly is: 'unavailable'; readonly message: string; readonly hint: string | undefined }
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

/** What a message has. @param texts Of the messages before it. */
export function unpack(
  { rows, firstNumber, questions, cancelled }: PostgresPost,
  texts: TextCache,
): PostgresItems {
  const items: (NumberedRow | PostgresQuestion)[] = []
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength)
  const reader = new ByteReader(bytes, 0, bytes.length, texts)
  let asked = 0
  for (let number = firstNumber; !reader.done; number++) {
    for (; (questions[asked]?.afterNumber ?? number) < number; asked++) add(questions[asked])
    items.push([number, decodeRow(reader)])
  }
  for (; asked < questions.length; asked++) add(questions[asked])
  return { items, cancelled }

  function add(asked: PostgresPost['questions'][number] | undefined): void {
    if (asked) items.push(asked.question)
  }
}

/** A hold with the number of its row. */
export interface NumberedHold {
  readonly number: number
  readonly hold: Hold
}
