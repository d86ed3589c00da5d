import type { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import {
  BalanceShort,
  type CallRecord,
  type Hold,
  type HoldEnd,
  type KeySums,
  type KeySumsQuery,
  type RejectedCall,
  type StoredResponse,
} from '../../schema/ledger.ts'
import type { Lease } from './lease.ts'
import { MessageBatcher } from './message-batcher.ts'
import type { Answers, Item, LedgerQuery, Report, RowFault, Short } from './messages.ts'
import { describeRow, LOG, type PendingEntry, PendingQueue, unavailable } from './pending-queue.ts'
import { claimOf, type RecoveryPorts, recoverHolds, sweepHolds } from './recovery.ts'
import { RejectedSample } from './rejected-calls.ts'
import type { Adjustments, Balances, Ledger, LedgerEvents } from './types.ts'

const CLOSE_WITHIN_MS = 10_000
const REJECTED_EVERY_MS = 1_000

const ALARMS: Readonly<Record<Exclude<RowFault, Short>, string>> = {
  held_twice: 'the same hold was opened before',
  ended_differently: 'the hold has ended before, in another way; the first end is final',
  never_held: 'there never was such a hold',
}

export interface ThreadedLedgerOptions {
  readonly clock: Clock
  readonly events: LedgerEvents
  /** How many rows may be queued before holds are rejected; from half of it on, call logs are dropped. */
  readonly maxQueued: number
  /** After this time without a report from the writer, pending holds are rejected. */
  readonly stalledAfterMs: number
}

/** The main thread's side of the ledger: sends rows to the writer, and resolves their promises after the commit. */
export class ThreadedLedger implements Ledger {
  readonly #worker: Worker
  readonly #lease: Lease
  readonly #options: ThreadedLedgerOptions
  readonly #exited: Promise<void>
  readonly #recovery: RecoveryPorts

  readonly #pending = new PendingQueue()
  readonly #batcher: MessageBatcher
  #stallTimer: Timer | undefined
  #inProblem = false
  #isStalled = false
  #ended = false
  #closing: Promise<number> | undefined
  #droppedLogs = 0
  readonly #rejected = new RejectedSample()
  #rejectedTimer: Timer | undefined

  constructor(worker: Worker, lease: Lease, options: ThreadedLedgerOptions) {
    this.#worker = worker
    this.#lease = lease
    this.#options = options
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#batcher = new MessageBatcher(post => worker.postMessage(post), options.clock)
    this.#recovery = {
      query: query => this.#query(query),
      end: end => this.end(end),
      log: record => this.log(record),
    }
    worker.on('message', (report: Report) => this.#onReport(report))
    worker.on('error', error => this.#onDeath(error))
    this.#exited = new Promise(resolve => {
      worker.on('exit', code => {
        this.#onDeath(new Error(`the ledger's thread has ended with code ${code}`))
        resolve()
      })
    })
  }

  get healthy(): boolean {
    const isFull = this.#pending.size >= this.#options.maxQueued
    return !(this.#ended || this.#inProblem || this.#isStalled || isFull)
  }

  get queued(): number {
    return this.#pending.size
  }

  get droppedLogs(): number {
    return this.#droppedLogs
  }

  open(hold: Hold): Promise<void> {
    if (!this.healthy) return Promise.reject(unavailable('the ledger cannot be written'))
    return new Promise((resolve, reject) => {
      this.#post(['hold', hold], { what: 'hold', hold, resolve, reject, isRejected: false })
    })
  }

  end(end: HoldEnd): Promise<void> {
    if (this.#ended) return Promise.reject(unavailable('the ledger has ended'))
    return new Promise((resolve, reject) => {
      this.#post(['end', end], { what: 'end', end, resolve, reject })
    })
  }

  log(record: CallRecord): void {
    if (!this.healthy || this.#pending.size >= this.#options.maxQueued / 2) {
      this.#droppedLogs += 1
      return
    }
    this.#pending.add(LOG)
    this.#batcher.add(['log', record])
  }

  logRejected(call: RejectedCall): void {
    if (!this.healthy || this.#closing) return
    this.#rejected.add(call)
    this.#rejectedTimer ??= this.#options.clock.after(REJECTED_EVERY_MS, () => this.#postRejected())
  }

  #postRejected(): void {
    this.#rejectedTimer?.cancel()
    this.#rejectedTimer = undefined
    const calls = this.#rejected.take()
    if (calls.length === 0 || !this.healthy) return
    // It fails only if the thread ends, which `onDeath` reports.
    this.#query({ query: 'log_rejected', calls }).catch(() => undefined)
  }

  sums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]> {
    return this.#query({ query: 'sums', queries })
  }

  async balances(tenants: readonly string[]): Promise<Balances> {
    const { version, balanceNano } = await this.#query({ query: 'balances', tenants })
    return {
      version,
      balanceNano: new Map(tenants.map((tenant, index) => [tenant, balanceNano[index] ?? 0n])),
    }
  }

  adjustments(sinceVersion: number): Promise<Adjustments> {
    return this.#query({ query: 'adjustments', sinceVersion })
  }

  stored(ids: readonly string[]): Promise<readonly (StoredResponse | undefined)[]> {
    return this.#query({ query: 'stored', ids, nowMs: this.#options.clock.nowMs() })
  }

  recover(nowMs: number): Promise<number> {
    return recoverHolds(this.#recovery, nowMs)
  }

  sweep(nowMs: number, isKnown: (requestId: string, attempt: number) => boolean = () => false) {
    return sweepHolds(this.#recovery, nowMs, isKnown)
  }

  pruneCallLogs(beforeMs: number, maxRows: number): Promise<number> {
    return this.#query({ query: 'prune', beforeMs, maxRows })
  }

  pruneStored(nowMs: number, maxRows: number): Promise<number> {
    return this.#query({ query: 'prune_stored', nowMs, maxRows })
  }

  flush(): Promise<void> {
    return this.#query({ query: 'nothing' })
  }

  close(withinMs: number = CLOSE_WITHIN_MS): Promise<number> {
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  async #close(withinMs: number): Promise<number> {
    this.#postRejected()
    let timer: Timer | undefined
    const timeout = new Promise<void>(resolve => {
      timer = this.#options.clock.after(withinMs, resolve)
    })
    // A flush fails only if the thread has ended, which `onDeath` has reported.
    await Promise.race([this.flush().catch(() => undefined), timeout])
    const left = this.#reject('the ledger is closing')
    if (left === 0) {
      // A thread that closes its connection itself leaves no write-ahead log behind.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage('close')
      await Promise.race([this.#exited, timeout])
    }
    timer?.cancel()
    await this.#worker.terminate()
    this.#lease.release()
    return left
  }

  #post(item: Item, entry: PendingEntry): void {
    this.#pending.add(entry)
    this.#batcher.put(item)
    this.#watchForStall()
  }

  #query<Query extends LedgerQuery>(query: Query): Promise<Answers[Query['query']]> {
    if (this.#ended) return Promise.reject(unavailable('the ledger has ended'))
    return new Promise((resolve, reject) => {
      this.#post(['query', query], { what: 'answer', resolve: resolve as never, reject })
    })
  }

  #onReport(report: Report): void {
    if (this.#isStalled) {
      this.#isStalled = false
      this.#options.events.onRecovered()
    }
    switch (report.is) {
      case 'ready':
        return
      case 'committed':
        for (const { seq, fault } of report.faults) this.#onFault(seq, fault)
        for (const hold of this.#pending.commit(report.upTo)) this.#releaseUnwanted(hold)
        this.#batcher.answered(report.upTo)
        return
      case 'answered': {
        this.#batcher.answered(report.seq)
        const entry = this.#pending.take(report.seq)
        if (entry?.what === 'answer') entry.resolve(report.answer)
        return
      }
      case 'rejected': {
        this.#batcher.answered(report.seq)
        const entry = this.#pending.take(report.seq)
        if (!entry) return
        const message = `${describeRow(entry)} cannot be written: ${report.message}`
        this.#options.events.onAlarm(message)
        if (entry.what !== 'log') entry.reject(new Error(message))
        return
      }
      case 'expired':
        this.#batcher.answered(report.seqs.at(-1) ?? 0)
        for (const seq of report.seqs) {
          const entry = this.#pending.take(seq)
          if (entry?.what === 'hold') entry.reject(unavailable('the ledger could not be written in time'))
        }
        return
      case 'problem':
        this.#inProblem = true
        this.#batcher.isUrgent = true
        this.#options.events.onProblem(report.message)
        return
      case 'recovered':
        this.#inProblem = false
        this.#batcher.isUrgent = false
        this.#options.events.onRecovered()
        return
    }
  }

  /** An end that contradicts the ledger resolves for its caller: the first end is final, or nothing was held. */
  #onFault(seq: number, fault: RowFault): void {
    const entry = this.#pending.take(seq)
    if (!entry) return
    if (typeof fault === 'object') {
      if (entry.what === 'hold') entry.reject(new BalanceShort(fault))
      return
    }
    const message = `${describeRow(entry)}: ${ALARMS[fault]}`
    this.#options.events.onAlarm(message)
    if (entry.what === 'hold') entry.reject(new Error(message))
    if (entry.what === 'end') entry.resolve()
  }

  /** The hold was rejected while the thread was stalled, but written afterwards: it must not stay open. */
  #releaseUnwanted(hold: Hold): void {
    const endedAtMs = this.#options.clock.nowMs()
    this.end({ ...claimOf(hold), kind: 'release', endedAtMs, reason: 'unavailable' }).catch(
      (error: Error) => {
        this.#options.events.onAlarm(`hold ${hold.requestId} was rejected and stays open: ${error.message}`)
      },
    )
  }

  /** A disk that hangs keeps the thread inside SQLite, unable to report. */
  #watchForStall(): void {
    if (this.#stallTimer || this.#ended) return
    const lastSeq = this.#pending.last
    this.#stallTimer = this.#options.clock.after(this.#options.stalledAfterMs, () => {
      // After a pause of this thread itself, reports may be in the queue that were not yet processed.
      setImmediate(() => this.#checkForStall(lastSeq))
    })
  }

  #checkForStall(lastSeq: number): void {
    this.#stallTimer = undefined
    const { oldest } = this.#pending
    if (oldest === undefined || this.#ended) return
    if (oldest <= lastSeq && !this.#inProblem && !this.#isStalled) {
      this.#isStalled = true
      const { stalledAfterMs, events } = this.#options
      events.onProblem(`the ledger's thread has not answered for ${stalledAfterMs} ms`)
    }
    if (this.#isStalled) this.#pending.rejectHolds('the ledger does not answer')
    this.#watchForStall()
  }

  #onDeath(error: Error): void {
    if (this.#ended) return
    this.#reject('the ledger has ended')
    this.#options.events.onDeath(error)
  }

  #reject(reason: string): number {
    this.#ended = true
    this.#batcher.close()
    this.#stallTimer?.cancel()
    return this.#pending.rejectAll(reason)
  }
}
