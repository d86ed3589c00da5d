import type { Clock, Timer } from '../../base/clock.ts'
import type { JournalReader, NumberedRow } from '../journal/reader.ts'
import { foldRows } from './fold.ts'
import { type LedgerRows, RowRejected } from './ledger-rows.ts'
import type { Post, Question, Report, Row, WriterSettings } from './messages.ts'
import type { LedgerQueries } from './queries.ts'

const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 1_000

/** The file that the writer has open is no longer the store: nothing may be committed into it. */
export class StoreReplaced extends Error {
  override readonly name = 'StoreReplaced'
}

export interface WriterPorts {
  readonly rows: LedgerRows
  readonly queries: LedgerQueries
  readonly journal: Pick<JournalReader, 'read' | 'nextRow' | 'takeFinished'>
  readonly clock: Clock
  /** Runs a task after all messages in the port's queue have been received. */
  readonly soon: (task: () => void) => void
  readonly report: (report: Report) => void
  /**
   * Called before each commit.
   * @throws {StoreReplaced} if the file must never be written again; any other error if it cannot be written now.
   */
  readonly assertFile: () => void
}

interface Waiting extends Question {
  readonly sinceMs: number
}

/**
 * Folds the journal into the store, and answers queries between its rows.
 *
 *     receive ──▶ rows up to the written one ──▶ batch ──▶ commit, with the number of the last row ──▶ report
 *                                                  ▲          │
 *                                                  └─ pause ◀─┘  cannot be written: the batch waits, and so do queries;
 *                                                                only prepaid holds that waited too long are dropped
 */
export class LedgerWriter {
  readonly #ports: WriterPorts
  readonly #settings: Pick<WriterSettings, 'openTimeoutMs' | 'batchRows'>
  #writtenRow: number
  #foldedRow: number
  /** Rows that were read and are not committed yet. */
  #read: readonly NumberedRow[] = []
  #questions: Waiting[] = []
  #scheduled = false
  #retry: Timer | undefined
  #inProblem = false
  #pauseMs = FIRST_PAUSE_MS

  constructor(ports: WriterPorts, settings: Pick<WriterSettings, 'openTimeoutMs' | 'batchRows'>) {
    this.#ports = ports
    this.#settings = settings
    this.#foldedRow = ports.journal.nextRow - 1
    this.#writtenRow = this.#foldedRow
  }

  receive({ writtenRow, questions }: Post): void {
    this.#writtenRow = Math.max(this.#writtenRow, writtenRow)
    const sinceMs = this.#ports.clock.monotonicMs()
    for (const question of questions) this.#questions.push({ ...question, sinceMs })
    if (!this.#retry) this.#scheduleStep()
  }

  #scheduleStep(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#ports.soon(() => {
      this.#scheduled = false
      this.#step()
    })
  }

  /** Folds one batch, or answers one query. */
  #step(): void {
    const [question] = this.#questions
    const isDue = question !== undefined && question.afterRow <= this.#foldedRow
    try {
      if (isDue) this.#answer(question)
      else if (this.#foldedRow < this.#writtenRow) this.#fold()
      else if (this.#inProblem) this.#probe()
      else return
    } catch (error) {
      this.#onFailure(error)
      return
    }
    if (this.#questions.length > 0 || this.#foldedRow < this.#writtenRow) this.#scheduleStep()
  }

  #answer({ seq, query }: Question): void {
    if (query.query === 'hold') this.#openHolds()
    else {
      this.#ports.report({ is: 'answered', seq, answer: this.#ports.queries.answer(query) })
      this.#questions.shift()
    }
    // Most queries only read, which works on a full disk: their success does not end the outage.
    if (this.#inProblem && this.#questions.length === 0) this.#probe()
  }

  /** Writes the prepaid holds at the head of the queue, in one commit. */
  #openHolds(): void {
    this.#ports.assertFile()
    const seqs: number[] = []
    const rows: Row[] = []
    for (const { seq, query, afterRow } of this.#questions) {
      if (query.query !== 'hold' || afterRow > this.#foldedRow || rows.length === this.#settings.batchRows)
        break
      seqs.push(seq)
      rows.push(['hold', query.hold])
    }
    try {
      const faults = this.#ports.rows.write(rows)
      for (const [index, seq] of seqs.entries())
        this.#ports.report({ is: 'answered', seq, answer: faults.get(index) })
      this.#questions.splice(0, seqs.length)
    } catch (error) {
      if (!(error instanceof RowRejected)) throw error
      const [rejected] = this.#questions.splice(error.index, 1)
      if (rejected) this.#ports.report({ is: 'rejected', seq: rejected.seq, message: error.message })
    }
    this.#recover()
  }

  /** Folds rows up to the next query at most: its answer has exactly the rows before it. */
  #fold(): void {
    this.#ports.assertFile()
    const { journal, rows } = this.#ports
    const upTo = Math.min(this.#writtenRow, this.#questions[0]?.afterRow ?? this.#writtenRow)
    if (this.#read.length === 0) this.#read = journal.read(this.#settings.batchRows, this.#writtenRow)
    const batch = this.#read.filter(({ number }) => number <= upTo)
    const last = batch.at(-1)
    if (!last) throw new Error(`row ${this.#foldedRow + 1} of the journal is missing`)
    const alarms = foldRows(batch, rows, this.#foldedRow)
    this.#read = this.#read.slice(batch.length)
    this.#foldedRow = last.number
    // A segment whose last rows were read and are not committed yet is still needed.
    const finished = this.#read.length === 0 ? journal.takeFinished() : []
    this.#ports.report({ is: 'folded', row: last.number, alarms, finished })
    this.#recover()
  }

  #probe(): void {
    this.#ports.assertFile()
    this.#ports.rows.probe(this.#ports.clock.nowMs())
    this.#recover()
  }

  #recover(): void {
    this.#pauseMs = FIRST_PAUSE_MS
    if (!this.#inProblem) return
    this.#inProblem = false
    this.#ports.report({ is: 'recovered' })
  }

  #onFailure(error: unknown): void {
    if (error instanceof StoreReplaced) throw error
    if (!this.#inProblem) this.#ports.report({ is: 'problem', message: describe(error) })
    this.#inProblem = true
    this.#rejectHolds()
    this.#retry = this.#ports.clock.after(this.#pauseMs, () => {
      this.#retry = undefined
      this.#step()
    })
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }

  #rejectHolds(): void {
    const limitMs = this.#ports.clock.monotonicMs() - this.#settings.openTimeoutMs
    const isExpired = ({ query, sinceMs }: Waiting) => query.query === 'hold' && sinceMs <= limitMs
    const seqs = this.#questions.filter(isExpired).map(({ seq }) => seq)
    if (seqs.length === 0) return
    this.#questions = this.#questions.filter(waiting => !isExpired(waiting))
    this.#ports.report({ is: 'expired', seqs })
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? `${error.message} (${String(error.code)})` : error.message
}
