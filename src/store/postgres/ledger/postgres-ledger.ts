import type { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../../base/clock.ts'
import { type CallRecord, type Hold, type HoldEnd, UndecidedHold } from '../../../schema/ledger.ts'
import type { Durability } from '../../../schema/settings.ts'
import { ByteWriter } from '../../journal/bytes.ts'
import { encodeRow } from '../../journal/row-codec.ts'
import { describeRow } from '../../ledger/alarms.ts'
import { type Answers, keyOfHold, type LedgerQuery, type Row } from '../../ledger/messages.ts'
import { ThreadedLedger, unavailable } from '../../ledger/threaded-ledger.ts'
import type { LedgerEvents } from '../../ledger/types.ts'
import type { EndJournal } from './end-journal.ts'
import type { PostgresPost, PostgresQuestion, PostgresReport } from './messages.ts'
import { UnsyncedHolds } from './unsynced-holds.ts'

/** How often rows that wait for the store are looked at. */
const CHECK_MS = 200
/** Of rows: those of a turn of the event loop under load. */
const TURN_BYTES = 65_536
/** The store usually takes a millisecond or two. */
const JOURNALED_AFTER_MS = 1_000

export interface PostgresLedgerOptions {
  readonly clock: Clock
  readonly events: LedgerEvents
  /** Runs a task at the end of the turn of the event loop. */
  readonly atTurnEnd: (task: () => void) => void
  /** How many rows may wait for the store before holds are rejected; from half of it on, call logs are dropped. */
  readonly maxQueued: number
  /** How long a hold may wait for the store. */
  readonly openTimeoutMs: number
  /** For ends while the server is away. */
  readonly journal: EndJournal
}

interface PendingHold {
  readonly hold: Hold
  readonly sinceMs: number
  readonly resolve: (number: number) => void
  readonly reject: (error: Error) => void
  /** Its caller has been rejected: if it is written nevertheless, it must be released. See {@link UndecidedHold}. */
  onDecided?: () => void
}

interface PendingEnd {
  readonly end: HoldEnd
  /** Undefined: of another gateway that this one recovers. */
  readonly hold: Hold | undefined
  readonly sinceMs: number
  readonly resolve: () => void
  isJournaled: boolean
}

/**
 * The main thread's side of the ledger in PostgreSQL: rows and questions of one turn of the event loop are one message
 * to the thread, which writes them.
 */
export class PostgresLedger extends ThreadedLedger {
  readonly lane = 0
  readonly #worker: Worker
  readonly #options: PostgresLedgerOptions
  readonly #exited: Promise<void>
  readonly #holds = new Map<number, PendingHold>()
  readonly #unsynced = new UnsyncedHolds()
  readonly #ends = new Map<number, PendingEnd>()
  /** Those without an end, by request and attempt. */
  readonly #open = new Map<string, Hold>()
  #journaling: Promise<void> = Promise.resolve()
  readonly #questions = new Map<
    number,
    { readonly resolve: (answer: never) => void; readonly reject: (error: Error) => void }
  >()
  /** The rows since the last message. */
  readonly #rows = new ByteWriter(TURN_BYTES)
  #asked: { readonly afterNumber: number; readonly question: PostgresQuestion }[] = []
  #cancelled: number[] = []
  #postedNumber = 0
  #isPostScheduled = false
  #lastNumber = 0
  #lastSeq = 0
  #queued = 0
  #durability: Durability = 'power'
  #inProblem = false
  #isFenced = false
  #ended = false
  #droppedLogs = 0
  #checkTimer: Timer | undefined

  constructor(worker: Worker, options: PostgresLedgerOptions) {
    super(options)
    this.#worker = worker
    this.#options = options
    worker.on('message', (report: PostgresReport) => this.#onReport(report))
    worker.on('error', error => this.#onDeath(error))
    this.#exited = new Promise(resolve => {
      worker.on('exit', code => {
        this.#onDeath(new Error(`the ledger's thread has ended with code ${code}`))
        resolve()
      })
    })
  }

  get healthy(): boolean {
    return !this.#ended && !this.#isFenced && this.#queued < this.#options.maxQueued
  }

  get behind(): boolean {
    return this.#inProblem
  }

  get queued(): number {
    return this.#queued
  }

  get droppedLogs(): number {
    return this.#droppedLogs
  }

  open(hold: Hold): Promise<number> {
    if (!this.healthy || this.behind) return Promise.reject(unavailable('the ledger cannot be written'))
    const number = this.#append(['hold', hold])
    if (number instanceof Error) return Promise.reject(number)
    return new Promise((resolve, reject) => {
      const sinceMs = this.#options.clock.monotonicMs()
      this.#holds.set(number, { hold, sinceMs, resolve, reject })
      this.#watch()
    })
  }

  setDurability(durability: Durability): void {
    this.#durability = durability
  }

  durable(number: number): Promise<void> | undefined {
    return this.#durability === 'power' ? this.#unsynced.synced(number) : undefined
  }

  end(end: HoldEnd): Promise<void> {
    if (this.#ended) return Promise.reject(unavailable('the ledger has ended'))
    const number = this.#append(['end', end])
    if (number instanceof Error) return Promise.reject(number)
    const hold = this.#open.get(keyOfHold(end))
    this.#open.delete(keyOfHold(end))
    const sinceMs = this.#options.clock.monotonicMs()
    return new Promise(resolve => {
      this.#ends.set(number, { end, hold, sinceMs, resolve, isJournaled: false })
      this.#watch()
    })
  }

  log(record: CallRecord): void {
    if (this.#ended || this.#queued >= this.#options.maxQueued / 2) this.#droppedLogs += 1
    else if (this.#append(['log', record]) instanceof Error) this.#droppedLogs += 1
  }

  protected async closeWithin(withinMs: number): Promise<number> {
    let timer: Timer | undefined
    const timeout = new Promise<void>(resolve => {
      timer = this.#options.clock.after(withinMs, resolve)
    })
    if (!this.#ended) {
      // The network may have lost a connection unnoticed: then the second attempt has another one. If the server is away, others recover
      // this gateway.
      const leave = () => this.ask({ query: 'leave' })
      const left = leave()
        .catch(leave)
        .catch(() => undefined)
      await Promise.race([left, timeout])
    }
    this.#journalEnds()
    await Promise.race([this.#journaled(), timeout])
    const lost = [...this.#ends.values()].filter(({ isJournaled }) => !isJournaled).length
    this.#reject('the ledger is closing')
    this.#worker.postMessage('close')
    await Promise.race([this.#exited, timeout])
    timer?.cancel()
    await this.#worker.terminate()
    return lost
  }

  /** What is left in the journal is written by the next gateway of this machine. */
  async #journaled(): Promise<void> {
    await this.#journaling
    await this.#options.journal.close(this.#ends.size === 0)
  }

  /** The number of the row; an error, after its alarm, if it cannot be stored. */
  #append(row: Row): number | Error {
    const { length } = this.#rows
    try {
      encodeRow(this.#rows, row)
    } catch (cause) {
      this.#rows.truncate(length)
      const message = `${describeRow(row)} cannot be written: ${(cause as Error).message}`
      this.#options.events.onAlarm(message)
      return new Error(message, { cause })
    }
    this.#queued += 1
    this.#postSoon()
    return ++this.#lastNumber
  }

  protected query<Query extends LedgerQuery>(query: Query): Promise<Answers[Query['query']]> {
    if (this.#ended) return Promise.reject(unavailable('the ledger has ended'))
    return new Promise((resolve, reject) => {
      const seq = ++this.#lastSeq
      this.#questions.set(seq, { resolve, reject })
      this.#asked.push({ afterNumber: this.#lastNumber, question: { seq, query } })
      this.#postSoon()
    })
  }

  #postSoon(): void {
    if (this.#isPostScheduled) return
    this.#isPostScheduled = true
    this.#options.atTurnEnd(() => {
      this.#isPostScheduled = false
      if (this.#ended) return
      const rows = new Uint8Array(this.#rows.bytes)
      const post: PostgresPost = {
        rows,
        firstNumber: this.#postedNumber + 1,
        questions: this.#asked,
        cancelled: this.#cancelled,
      }
      this.#rows.truncate(0)
      this.#asked = []
      this.#cancelled = []
      this.#postedNumber = this.#lastNumber
      this.#worker.postMessage(post, [rows.buffer])
    })
  }

  #onReport(report: PostgresReport): void {
    const { events } = this.#options
    switch (report.is) {
      case 'held':
        for (const number of report.numbers) this.#onHeld(number, report.order)
        return
      case 'rejected':
        this.#onRejected(report.number, report.fault)
        return
      case 'ended':
        this.#queued -= report.numbers.length
        for (const number of report.numbers) {
          this.#ends.get(number)?.resolve()
          this.#ends.delete(number)
        }
        this.#closeJournal()
        this.#unsynced.onSynced(report.order)
        return
      case 'answered':
        this.#questions.get(report.seq)?.resolve(report.answer as never)
        this.#questions.delete(report.seq)
        return
      case 'failed':
        this.#questions.get(report.seq)?.reject(unavailable(report.message))
        this.#questions.delete(report.seq)
        return
      case 'alarm':
        events.onAlarm(report.message)
        return
      case 'problem':
        this.#inProblem = true
        events.onProblem(report.message)
        this.#rejectHolds()
        this.#journalEnds()
        return
      case 'recovered':
        this.#inProblem = false
        events.onRecovered()
        this.#closeJournal()
        return
      case 'fenced':
        this.#onFenced()
        return
      case 'ready':
      case 'unavailable':
        return
    }
  }

  #onHeld(number: number, order: number): void {
    this.#queued -= 1
    const pending = this.#holds.get(number)
    if (!pending) return
    this.#holds.delete(number)
    if (pending.onDecided) void this.release(pending.hold).then(pending.onDecided)
    else {
      this.#unsynced.add(number, order)
      this.#open.set(keyOfHold(pending.hold), pending.hold)
      pending.resolve(number)
    }
  }

  #onRejected(number: number, fault: string): void {
    this.#queued -= 1
    const pending = this.#holds.get(number)
    this.#holds.delete(number)
    if (!pending) return
    if (pending.onDecided) {
      pending.onDecided()
      return
    }
    if (this.#isFenced) {
      pending.reject(unavailable(fault))
      return
    }
    const message = `${describeRow(['hold', pending.hold])} cannot be written: ${fault}`
    this.#options.events.onAlarm(message)
    pending.reject(new Error(message))
  }

  /** Others have its shares: this gateway may admit nothing more, and its open calls end as they would have. */
  #onFenced(): void {
    if (this.#isFenced) return
    this.#isFenced = true
    this.#options.events.onDeath(
      new Error('this gateway gave no sign of life for too long, and others have taken its limits over'),
      true,
    )
  }

  /** Looks at what waits for the store, as long as something does: whatever the thread and the server do. */
  #watch(): void {
    if (this.#checkTimer || this.#ended || this.#holds.size + this.#ends.size === 0) return
    this.#checkTimer = this.#options.clock.after(CHECK_MS, () => {
      // After a pause of this thread itself, reports may be in the queue that were not yet processed.
      setImmediate(() => {
        this.#checkTimer = undefined
        this.#rejectHolds()
        this.#journalEnds()
        this.#watch()
      })
    })
  }

  #rejectHolds(): void {
    const before = this.#options.clock.monotonicMs() - this.#options.openTimeoutMs
    for (const [number, pending] of this.#holds) {
      if (!this.#inProblem && pending.sinceMs > before) return
      if (pending.onDecided) continue
      const { promise, resolve } = Promise.withResolvers<void>()
      pending.onDecided = resolve
      this.#cancelled.push(number)
      this.#postSoon()
      pending.reject(new UndecidedHold('the ledger does not answer', promise))
    }
  }

  /** Ends that the store does not get now are durable on the local disk: their calls wait no longer. */
  #journalEnds(): void {
    const before = this.#options.clock.monotonicMs() - JOURNALED_AFTER_MS
    for (const pending of this.#ends.values()) {
      if (!this.#inProblem && pending.sinceMs > before) return
      if (pending.isJournaled || !pending.hold) continue
      pending.isJournaled = true
      this.#options.journal.append(pending.hold, pending.end).then(pending.resolve, () => {
        // The disk cannot be written either: the call waits for the server, and this is tried again.
        pending.isJournaled = false
      })
    }
  }

  /** The store has all ends again. */
  #closeJournal(): void {
    if (this.#inProblem || this.#ends.size > 0) return
    this.#journaling = this.#journaling
      .then(() => (this.#ends.size === 0 ? this.#options.journal.close(true) : undefined))
      .catch((error: Error) => this.#options.events.onAlarm(`the journal of ends: ${error.message}`))
  }

  #onDeath(error: Error): void {
    if (this.#ended) return
    this.#reject('the ledger has ended')
    this.#options.events.onDeath(error, false)
  }

  #reject(reason: string): void {
    this.#ended = true
    this.#checkTimer?.cancel()
    this.stopSampling()
    for (const { reject } of [...this.#holds.values(), ...this.#questions.values()])
      reject(unavailable(reason))
    this.#holds.clear()
    this.#questions.clear()
  }
}
