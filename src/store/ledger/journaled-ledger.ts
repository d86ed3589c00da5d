import type { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import {
  BalanceShort,
  type CallRecord,
  type Hold,
  type HoldEnd,
  type StoredResponse,
} from '../../schema/ledger.ts'
import type { Durability } from '../../schema/settings.ts'
import type { Journal } from '../journal/journal.ts'
import type { InstanceAnswers, InstanceQuery } from '../shares/instance-queries.ts'
import { describeFault, describeRow } from './alarms.ts'
import type { Lease } from './lease.ts'
import type { Answers, LedgerQuery, Post, Question, Report, Row } from './messages.ts'
import { ThreadedLedger, unavailable } from './threaded-ledger.ts'
import type { LedgerEvents } from './types.ts'

/** Rows are folded into the store so often while calls come, in batches that cost less than each row alone. */
const FOLD_EVERY_MS = 100
/** After a pause, a row is folded sooner: readers of the store see a single call almost at once. */
const FIRST_FOLD_MS = 5
/** When another gateway has folded what it wrote before, under load as well. */
const FOLDED_ELSEWHERE_MS = 2 * FOLD_EVERY_MS

export interface JournaledLedgerOptions {
  readonly clock: Clock
  readonly events: LedgerEvents
  readonly lane: number
  /** Runs a task at the end of the turn of the event loop, after those that were given before. */
  readonly atTurnEnd: (task: () => void) => void
  /** How many rows may wait for the store before holds are rejected; from half of it on, call logs are dropped. */
  readonly maxUnfolded: number
  /** After this time without a report from the writer, pending prepaid holds are rejected. */
  readonly stalledAfterMs: number
}

interface Pending {
  readonly query: LedgerQuery
  readonly resolve: (answer: Answers[LedgerQuery['query']]) => void
  readonly reject: (error: Error) => void
  /** The caller of a prepaid hold has been rejected; if it is written nevertheless, it must be released. */
  isRejected: boolean
}

/**
 * The main thread's side of the ledger: rows go to the journal; the writer's thread reads them there and folds them into
 * the store. Queries, and prepaid holds, go to the writer, which has folded all earlier rows when it answers.
 */
export class JournaledLedger extends ThreadedLedger {
  readonly #worker: Worker
  readonly #journal: Journal
  readonly #lease: Lease
  readonly #options: JournaledLedgerOptions
  readonly #exited: Promise<void>

  readonly #pending = new Map<number, Pending>()
  #questions: Question[] = []
  #lastSeq = 0
  #lastRow: number
  #foldedRow: number
  #foldTimer: Timer | undefined
  #foldedAtMs = Number.NEGATIVE_INFINITY
  #isPostScheduled = false
  #stallTimer: Timer | undefined
  #inProblem = false
  #isStalled = false
  #ended = false
  #droppedLogs = 0
  /** The store knows of this gateway, until it leaves. */
  #hasJoined = false
  #hasOthers = false

  constructor(worker: Worker, journal: Journal, lease: Lease, options: JournaledLedgerOptions) {
    super(options)
    this.#worker = worker
    this.#journal = journal
    this.#lease = lease
    this.#options = options
    this.#lastRow = journal.writtenRow
    this.#foldedRow = this.#lastRow
    worker.on('message', (report: Report) => this.#onReport(report))
    worker.on('error', error => this.#onDeath(error))
    this.#exited = new Promise(resolve => {
      worker.on('exit', code => {
        this.#onDeath(new Error(`the ledger's thread has ended with code ${code}`))
        resolve()
      })
    })
  }

  get lane(): number {
    return this.#options.lane
  }

  get healthy(): boolean {
    return !this.#ended && this.#journal.healthy && this.queued < this.#options.maxUnfolded
  }

  get behind(): boolean {
    return this.#inProblem || this.#isStalled
  }

  get queued(): number {
    return this.#lastRow - this.#foldedRow
  }

  get droppedLogs(): number {
    return this.#droppedLogs
  }

  async open(hold: Hold): Promise<number> {
    if (!this.healthy) throw unavailable('the ledger cannot be written')
    if (hold.prepaid && hold.amountNano > 0n) return this.#openPrepaid(hold)
    const row = this.#append(['hold', hold])
    try {
      await this.#journal.written(row)
      return row
    } catch {
      // Its row may be written once the disk works again.
      void this.release(hold)
      throw unavailable('the ledger could not be written')
    }
  }

  /** The balance and the debits of all processes are known only in the store. */
  async #openPrepaid(hold: Hold): Promise<number> {
    if (this.behind) throw unavailable('the ledger cannot be written')
    const fault = await this.query({ query: 'hold', hold })
    if (fault === undefined) return 0
    if (typeof fault === 'object') throw new BalanceShort(fault)
    const message = `${describeRow(['hold', hold])}: ${describeFault(fault)}`
    this.#options.events.onAlarm(message)
    throw new Error(message)
  }

  setDurability(durability: Durability): void {
    this.#journal.setDurability(durability)
  }

  durable(row: number): Promise<void> | undefined {
    return this.#journal.acknowledged(row)
  }

  end(end: HoldEnd): Promise<void> {
    if (this.#ended) return Promise.reject(unavailable('the ledger has ended'))
    try {
      return this.#journal.acknowledged(this.#append(['end', end])) ?? Promise.resolve()
    } catch (error) {
      const message = `${describeRow(['end', end])} cannot be written: ${(error as Error).message}`
      this.#options.events.onAlarm(message)
      return Promise.reject(new Error(message, { cause: error }))
    }
  }

  log(record: CallRecord): void {
    if (!this.healthy || this.queued >= this.#options.maxUnfolded / 2) {
      this.#droppedLogs += 1
      return
    }
    try {
      this.#append(['log', record])
    } catch (error) {
      this.#droppedLogs += 1
      this.#options.events.onAlarm(
        `${describeRow(['log', record])} cannot be written: ${(error as Error).message}`,
      )
    }
  }

  /** @throws {RangeError} for a row that cannot be stored. */
  #append(row: Row): number {
    this.#lastRow = this.#journal.append(row)
    this.#foldSoon()
    return this.#lastRow
  }

  #foldSoon(): void {
    if (this.#foldTimer || this.#ended) return
    const { clock } = this.#options
    const sinceMs = clock.monotonicMs() - this.#foldedAtMs
    const inMs = sinceMs < FOLD_EVERY_MS ? FOLD_EVERY_MS - sinceMs : FIRST_FOLD_MS
    this.#foldTimer = clock.after(inMs, () => {
      this.#foldTimer = undefined
      this.#foldedAtMs = clock.monotonicMs()
      this.#post()
      if (this.#journal.writtenRow < this.#lastRow) this.#foldSoon()
    })
  }

  override async stored(
    ids: readonly string[],
    mayWait = true,
  ): Promise<readonly (StoredResponse | undefined)[]> {
    const found = await super.stored(ids)
    if (!mayWait || !this.#hasOthers || !found.includes(undefined)) return found
    // Another gateway may have it in its journal.
    await new Promise<void>(resolve => this.#options.clock.after(FOLDED_ELSEWHERE_MS, resolve))
    return super.stored(ids)
  }

  override async ask<Query extends InstanceQuery>(query: Query): Promise<InstanceAnswers[Query['query']]> {
    this.#hasJoined ||= query.query === 'join'
    const answer = await super.ask(query)
    const known: InstanceAnswers[InstanceQuery['query']] = answer
    if (known && 'instances' in known) this.#hasOthers = known.instances.length > 1
    return answer
  }

  protected async closeWithin(withinMs: number): Promise<number> {
    const { clock } = this.#options
    const untilMs = clock.monotonicMs() + withinMs
    let timer: Timer | undefined
    const timeout = new Promise<void>(resolve => {
      timer = clock.after(withinMs, resolve)
    })
    // A flush fails only if the thread has ended, which `onDeath` has reported.
    const flushed = this.#hasJoined && !this.behind ? this.ask({ query: 'leave' }) : this.flush()
    await Promise.race([flushed.catch(() => undefined), timeout])
    const isFolded = this.queued === 0
    this.#reject('the ledger is closing')
    const left = await this.#journal.close(Math.max(0, untilMs - clock.monotonicMs()), isFolded)
    if (isFolded) {
      // A thread that closes its connection itself leaves no write-ahead log behind.
      this.#worker.postMessage('close')
      await Promise.race([this.#exited, timeout])
    }
    timer?.cancel()
    await this.#worker.terminate()
    this.#lease.release()
    return left
  }

  protected query<Query extends LedgerQuery>(query: Query): Promise<Answers[Query['query']]> {
    if (this.#ended) return Promise.reject(unavailable('the ledger has ended'))
    return new Promise((resolve, reject) => {
      const seq = ++this.#lastSeq
      this.#pending.set(seq, { query, resolve: resolve as never, reject, isRejected: false })
      this.#questions.push({ seq, afterRow: this.#lastRow, query })
      if (!this.#isPostScheduled) {
        this.#isPostScheduled = true
        // The journal has written the rows of this turn by then.
        this.#options.atTurnEnd(() => {
          this.#isPostScheduled = false
          this.#post()
        })
      }
      this.#watchForStall()
    })
  }

  #post(): void {
    if (this.#ended) return
    const questions = this.#questions
    this.#questions = []
    const post: Post = { writtenRow: this.#journal.writtenRow, questions }
    this.#worker.postMessage(post)
    // Rows that could not be written yet: the writer must hear of them later.
    if (post.writtenRow < this.#lastRow) this.#foldSoon()
  }

  #onReport(report: Report): void {
    if (this.#isStalled) {
      this.#isStalled = false
      this.#options.events.onRecovered()
    }
    switch (report.is) {
      case 'folded':
        this.#foldedRow = Math.max(this.#foldedRow, report.row)
        for (const alarm of report.alarms) this.#options.events.onAlarm(alarm)
        if (report.finished.length > 0) this.#journal.release(report.finished)
        return
      case 'answered': {
        const pending = this.#take(report.seq)
        if (!pending) return
        if (pending.isRejected && pending.query.query === 'hold') {
          if (report.answer === undefined) void this.release(pending.query.hold)
        } else pending.resolve(report.answer)
        return
      }
      case 'rejected': {
        const pending = this.#take(report.seq)
        if (pending?.query.query !== 'hold') return
        const message = `${describeRow(['hold', pending.query.hold])} cannot be written: ${report.message}`
        this.#options.events.onAlarm(message)
        pending.reject(new Error(message))
        return
      }
      case 'expired':
        for (const seq of report.seqs)
          this.#take(seq)?.reject(unavailable('the ledger could not be written in time'))
        return
      case 'problem':
        this.#inProblem = true
        this.#options.events.onProblem(report.message)
        return
      case 'recovered':
        this.#inProblem = false
        this.#options.events.onRecovered()
        return
      case 'ready':
      case 'damaged':
        return
    }
  }

  #take(seq: number): Pending | undefined {
    const pending = this.#pending.get(seq)
    this.#pending.delete(seq)
    return pending
  }

  /** A disk that hangs keeps the thread inside SQLite, unable to report. */
  #watchForStall(): void {
    if (this.#stallTimer || this.#ended) return
    const lastSeq = this.#lastSeq
    this.#stallTimer = this.#options.clock.after(this.#options.stalledAfterMs, () => {
      // After a pause of this thread itself, reports may be in the queue that were not yet processed.
      setImmediate(() => this.#checkForStall(lastSeq))
    })
  }

  #checkForStall(lastSeq: number): void {
    this.#stallTimer = undefined
    const [oldest] = this.#pending.keys()
    if (oldest === undefined || this.#ended) return
    if (oldest <= lastSeq && !this.#inProblem && !this.#isStalled) {
      this.#isStalled = true
      const { stalledAfterMs, events } = this.#options
      events.onProblem(`the ledger's thread has not answered for ${stalledAfterMs} ms`)
    }
    if (this.#isStalled) this.#rejectHolds()
    this.#watchForStall()
  }

  #rejectHolds(): void {
    for (const pending of this.#pending.values()) {
      if (pending.query.query !== 'hold' || pending.isRejected) continue
      pending.isRejected = true
      pending.reject(unavailable('the ledger does not answer'))
    }
  }

  #onDeath(error: Error): void {
    if (this.#ended) return
    this.#reject('the ledger has ended')
    this.#options.events.onDeath(error, false)
  }

  #reject(reason: string): void {
    this.#ended = true
    this.#stallTimer?.cancel()
    this.#foldTimer?.cancel()
    this.stopSampling()
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject } of pending) reject(unavailable(reason))
  }
}
