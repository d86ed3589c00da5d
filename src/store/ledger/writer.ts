import type { Clock, Timer } from '../../base/clock.ts'
import { type LedgerRows, RowRejected } from './ledger-rows.ts'
import type { Item, Post, Report, Row, WriterSettings } from './messages.ts'
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

interface Waiting {
  readonly seq: number
  readonly item: Item
  readonly sinceMs: number
}

/**
 * The queue in front of `LedgerRows`. A row leaves it only with its commit.
 *
 *     receive ──▶ queue ──▶ batch ──▶ commit ──▶ report
 *                   ▲                   │
 *                   └── pause ◀─────────┘  cannot be written: all rows stay queued, except holds that have waited
 *                                          too long: their requests are rejected, and these holds are dropped
 */
export class LedgerWriter {
  readonly #ports: WriterPorts
  readonly #settings: Pick<WriterSettings, 'openTimeoutMs' | 'batchRows'>
  #queue: Waiting[] = []
  #scheduled = false
  #retry: Timer | undefined
  #inProblem = false
  #pauseMs = FIRST_PAUSE_MS

  constructor(ports: WriterPorts, settings: Pick<WriterSettings, 'openTimeoutMs' | 'batchRows'>) {
    this.#ports = ports
    this.#settings = settings
  }

  receive({ first, items }: Post): void {
    const sinceMs = this.#ports.clock.monotonicMs()
    for (const [index, item] of items.entries()) this.#queue.push({ seq: first + index, item, sinceMs })
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

  /** Processes one batch or one query, so that rows that arrive meanwhile join the next batch. */
  #step(): void {
    const [head] = this.#queue
    try {
      if (head?.item[0] === 'query') this.#answer(head.seq, head.item[1])
      else if (head) this.#writeBatch()
      else if (this.#inProblem) this.#probe()
    } catch (error) {
      this.#onFailure(error)
      return
    }
    if (this.#queue.length > 0) this.#scheduleStep()
  }

  #answer(seq: number, query: Parameters<LedgerQueries['answer']>[0]): void {
    const answer = this.#ports.queries.answer(query)
    this.#queue.shift()
    this.#ports.report({ is: 'answered', seq, answer })
    // Most queries only read, which works on a full disk: their success does not end the outage.
    if (this.#inProblem && this.#queue.length === 0) this.#probe()
  }

  #writeBatch(): void {
    this.#ports.assertFile()
    const batch: Waiting[] = []
    const rows: Row[] = []
    for (const waiting of this.#queue) {
      if (waiting.item[0] === 'query' || rows.length === this.#settings.batchRows) break
      batch.push(waiting)
      rows.push(waiting.item)
    }
    try {
      const rejected = this.#ports.rows.write(rows)
      this.#queue.splice(0, batch.length)
      const faults = [...rejected].map(([index, fault]) => ({ seq: seqAt(batch, index), fault }))
      this.#ports.report({ is: 'committed', upTo: seqAt(batch, batch.length - 1), faults })
      this.#recover()
    } catch (error) {
      if (!(error instanceof RowRejected)) throw error
      const seq = seqAt(batch, error.index)
      this.#queue.splice(error.index, 1)
      this.#ports.report({ is: 'rejected', seq, message: error.message })
    }
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
    const isExpired = ({ item, sinceMs }: Waiting) => item[0] === 'hold' && sinceMs <= limitMs
    const seqs = this.#queue.filter(isExpired).map(({ seq }) => seq)
    if (seqs.length === 0) return
    this.#queue = this.#queue.filter(waiting => !isExpired(waiting))
    this.#ports.report({ is: 'expired', seqs })
  }
}

function seqAt(batch: readonly Waiting[], index: number): number {
  const waiting = batch[index]
  if (!waiting) throw new RangeError(`no row ${index} in a batch of ${batch.length}`)
  return waiting.seq
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? `${error.message} (${String(error.code)})` : error.message
}
