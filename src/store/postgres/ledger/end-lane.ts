import { setTimeout as pause } from 'node:timers/promises'
import type { Clock, Timer } from '../../../base/clock.ts'
import type { CallRecord, HoldEnd } from '../../../schema/ledger.ts'
import { alarmOf, describeRow } from '../../ledger/alarms.ts'
import { KINDS } from '../../ledger/columns.ts'
import type { RowFault } from '../../ledger/messages.ts'
import { type EndRow, endKeyOf, firstEndOf, insertEnds, loadEndReferences, syncStore } from './end-rows.ts'
import type { References } from './hold-rows.ts'
import type { LaneConnection } from './lane-connection.ts'
import type { PostgresQuestion, PostgresReport } from './messages.ts'
import type { OpenHolds } from './open-holds.ts'
import { isOfRow, type Outage } from './outage.ts'

/**
 * How long committed holds wait for an end that syncs them as well. A model server takes longer to its first byte, which waits
 * for the sync.
 */
const SYNC_WAIT_MS = 3
/** How long lines of the call log wait for an end, or for holds to sync, which they then cost no statement. */
const LOG_WAIT_MS = 100

export interface EndLaneContext {
  readonly clock: Clock
  /** Whose fold adds the ends up. */
  readonly instance: () => string
  /** The instance is no longer there: ends need another one. */
  readonly replaceInstance: () => Promise<void>
  readonly references: References
  readonly open: OpenHolds
  readonly outage: Outage
  readonly report: (report: PostgresReport) => void
  /** The number of the last report of written holds. */
  readonly order: () => number
  /** Resolves when the holds that came before are written or rejected. */
  readonly holdsSettled: () => Promise<void>
  /** Resolves when the server has all acknowledged holds, after it may have lost some. */
  readonly resendHolds: () => Promise<void>
  /** Answers a question whose place among the rows matters. */
  readonly answer: (question: PostgresQuestion) => Promise<void>
}

export type EndOrLog = readonly ['end', HoldEnd] | readonly ['log', CallRecord]

interface NumberedRow {
  readonly number: number
  readonly row: EndOrLog
}

type Item = NumberedRow | PostgresQuestion | { readonly passed: () => void }

/** The rows of one statement; without rows, it only syncs. */
interface Batch {
  readonly rows: readonly NumberedRow[]
  /** An earlier statement with these rows may have been carried out. */
  isUnsure: boolean
}

const NO_ROWS: Batch = { rows: [], isUnsure: false }

/**
 * Writes ends and lines of the call log in the order in which they come, a batch at a time, and answers the questions between
 * them. Lines alone, and syncs of holds, wait a little for an end, whose statement they need as well.
 *
 *     add ──▶ queue ──▶ batch ──▶ insert, synced ──▶ ended
 *                         ▲          ├──▶ ended before: compared with the first end
 *                         └─ pause ◀─┘    the server is away: the same batch once more
 */
export class EndLane {
  readonly #db: LaneConnection
  readonly #context: EndLaneContext
  readonly #batchRows: number
  readonly #queue: Item[] = []
  #batch: Batch | undefined
  /** How many of the next rows are written alone, because one of them cannot be written. */
  #alone = 0
  #isRunning = false
  #isSyncWanted = false
  #syncTimer: Timer | undefined
  #logTimer: Timer | undefined
  #areLogsDue = false
  #isClosed = false
  /** Of the connection that the last statement was on. */
  #opened = 0

  constructor(db: LaneConnection, context: EndLaneContext, batchRows: number) {
    this.#db = db
    this.#context = context
    this.#batchRows = batchRows
  }

  write(number: number, row: EndOrLog): void {
    this.#add({ number, row })
  }

  ask(question: PostgresQuestion): void {
    this.#add(question)
  }

  /** Resolves when everything that came before is written. */
  settled(): Promise<void> {
    return new Promise(passed => this.#add({ passed }))
  }

  /** Makes the holds that are committed by now durable, unless an end does soon. */
  sync(): void {
    this.#syncTimer ??= this.#context.clock.after(SYNC_WAIT_MS, () => {
      this.#isSyncWanted = true
      this.#start()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#logTimer?.cancel()
    this.#syncTimer?.cancel()
  }

  #add(item: Item): void {
    this.#queue.push(item)
    if (!isLog(item) || this.#queue.length >= this.#batchRows) this.#start()
    else
      this.#logTimer ??= this.#context.clock.after(LOG_WAIT_MS, () => {
        this.#logTimer = undefined
        this.#areLogsDue = true
        this.#start()
      })
  }

  #start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run()
  }

  async #run(): Promise<void> {
    // What comes in this turn is in the first batch.
    await Promise.resolve()
    while (!this.#isClosed && (this.#batch || this.#isSyncWanted || this.#isQueueDue)) {
      try {
        await this.#checkConnection()
        this.#batch ??= await this.#next()
        if (this.#batch) await this.#write(this.#batch)
        this.#context.outage.succeed('ends')
      } catch (error) {
        const pauseMs = this.#context.outage.fail('ends', error)
        await pause(pauseMs, undefined, { ref: false })
      }
    }
    this.#isRunning = false
  }

  get #isQueueDue(): boolean {
    const { length } = this.#queue
    if (length === 0) this.#areLogsDue = false
    return this.#areLogsDue || length >= this.#batchRows || this.#queue.some(item => !isLog(item))
  }

  /** What is synced from here on says nothing of holds that a server has lost: it gets them first. */
  async #checkConnection(): Promise<void> {
    const opened = await this.#db.connect()
    if (this.#opened > 0 && opened !== this.#opened) await this.#context.resendHolds()
    this.#opened = opened
  }

  /** The next batch; undefined if something else was next, and is done. */
  async #next(): Promise<Batch | undefined> {
    const [head] = this.#queue
    if (!head) return NO_ROWS
    if ('passed' in head) head.passed()
    else if ('query' in head) await this.#context.answer(head)
    else {
      const rows = this.#nextRows()
      if (rows.some(({ row }) => this.#lacksHold(row))) await this.#context.holdsSettled()
      const repeated = rows.findIndex(({ row }) => this.#lacksHold(row))
      if (repeated !== 0) {
        const taken = repeated < 0 ? rows.length : repeated
        return { rows: this.#queue.splice(0, taken) as NumberedRow[], isUnsure: false }
      }
      const { number, row } = head
      if (row[0] === 'end') await this.#compare(row[1])
      this.#context.report({ is: 'ended', numbers: [number], order: 0 })
    }
    this.#queue.shift()
    return undefined
  }

  #lacksHold(row: EndOrLog): boolean {
    return row[0] === 'end' && !this.#context.open.has(row[1])
  }

  /** Up to a question, or to an end of the same hold, or with the same id of a stored response. */
  #nextRows(): NumberedRow[] {
    const rows: NumberedRow[] = []
    const ids = new Set<string>()
    const most = this.#alone > 0 ? 1 : this.#batchRows
    for (const item of this.#queue) {
      if (!('row' in item) || rows.length === most) break
      const own = idsOf(item.row)
      if (own.some(id => ids.has(id))) break
      for (const id of own) ids.add(id)
      rows.push(item)
    }
    return rows
  }

  async #write(batch: Batch): Promise<void> {
    const { references, report, order, instance, open } = this.#context
    // A hold that is committed from here on needs the next statement.
    const durable = order()
    this.#isSyncWanted = false
    this.#syncTimer?.cancel()
    this.#syncTimer = undefined
    const numbers = batch.rows.map(({ number }) => number)
    if (numbers.length === 0) await syncStore(this.#db)
    else {
      const logs = batch.rows.flatMap(({ row }) => (row[0] === 'log' ? [row[1]] : []))
      let isSent = false
      try {
        const ends = await this.#withHolds(batch)
        await loadEndReferences(this.#db, references, { ends, logs })
        isSent = true
        const written = await insertEnds(this.#db, instance(), references, {
          ends,
          // Nothing tells whether lines of the log were written: that the ends with them were, does.
          logs: batch.isUnsure ? [] : logs,
        })
        if (!written.isThere) {
          await this.#context.replaceInstance()
          return
        }
        const isRepeated = written.keys !== undefined
        if (batch.isUnsure && !isRepeated && ends.length > 0 && logs.length > 0) {
          batch.isUnsure = false
          for (const { end } of ends) open.delete(end)
          this.#batch = { rows: batch.rows.filter(({ row }) => row[0] === 'log'), isUnsure: false }
          report({ is: 'ended', numbers: numbersOf(batch, 'end'), order: durable })
          return
        }
        for (const { end } of ends) {
          // Its hold was ended by another gateway, or by an earlier statement.
          if (written.keys && !written.keys.has(endKeyOf(end))) await this.#compare(end)
        }
        // Not before: if the connection is lost during a comparison, the batch is written once more, and needs its holds.
        for (const { end } of ends) open.delete(end)
      } catch (error) {
        if (!isOfRow(error)) {
          batch.isUnsure ||= isSent
          throw error
        }
        this.#leaveOut(batch, error as Error)
        return
      }
    }
    this.#batch = undefined
    this.#alone = Math.max(0, this.#alone - numbers.length)
    report({ is: 'ended', numbers, order: durable })
  }

  async #withHolds({ rows }: Batch): Promise<EndRow[]> {
    const { open, references } = this.#context
    const ends = rows.flatMap(({ row }) => (row[0] === 'end' ? [row[1]] : []))
    await references.prices.load(
      this.#db,
      ends.map(end => open.get(end)?.price),
    )
    return ends.map(end => {
      const hold = open.get(end)
      if (!hold) throw new Error(`${describeRow(['end', end])} has no hold`)
      const { openedAtMs, amountNano, tokens, price } = hold
      return { end, hold: { openedAtMs, amountNano, tokens, priceId: references.prices.idOrNull(price) } }
    })
  }

  /** A row cannot be written: finds it. */
  #leaveOut({ rows }: Batch, error: Error): void {
    this.#batch = undefined
    const [first] = rows
    if (first && rows.length === 1) {
      this.#context.report({
        is: 'alarm',
        message: `${describeRow(first.row)} cannot be written: ${error.message}`,
      })
      this.#context.report({ is: 'ended', numbers: [first.number], order: 0 })
      this.#alone = Math.max(0, this.#alone - 1)
      this.#isSyncWanted = true
      return
    }
    this.#queue.unshift(...rows)
    this.#alone = rows.length
  }

  /** The first end is final: an equal second one is a no-op, any other raises an alarm (spec/money.md §1). */
  async #compare(end: HoldEnd): Promise<void> {
    const first = await firstEndOf(this.#db, end.requestId, end.attempt)
    const amountNano = end.kind === 'settle' ? end.amountNano : 0n
    const isSame = first && KINDS[first.kind] === end.kind && first.amountNano === amountNano
    if (isSame) return
    const fault: RowFault = first ? 'ended_differently' : 'never_held'
    this.#context.report({ is: 'alarm', message: alarmOf(['end', end], fault) })
  }
}

function isLog(item: Item): boolean {
  return 'row' in item && item.row[0] === 'log'
}

function idsOf(row: EndOrLog): readonly string[] {
  if (row[0] === 'log') return []
  const { requestId, attempt } = row[1]
  const stored = row[1].kind === 'settle' ? row[1].stored?.ids : undefined
  return [`hold ${requestId} ${attempt}`, ...(stored ?? [])]
}

function numbersOf({ rows }: Batch, what: EndOrLog[0]): number[] {
  return rows.filter(({ row }) => row[0] === what).map(({ number }) => number)
}
