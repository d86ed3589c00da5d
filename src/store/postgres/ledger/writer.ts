import type { Clock, Timer } from '../../../base/clock.ts'
import type { Hold } from '../../../schema/ledger.ts'
import type { Answers, LedgerQuery, Row } from '../../ledger/messages.ts'
import { endJournalFolder, readEnds, removeEnds } from './end-journal.ts'
import { EndLane } from './end-lane.ts'
import { fold } from './fold.ts'
import { HoldIds, HoldLane } from './hold-lane.ts'
import type { References } from './hold-rows.ts'
import { deleteInstance, insertInstance, renewLease } from './instance-rows.ts'
import type { LaneConnection } from './lane-connection.ts'
import {
  isRow,
  type PostgresItems,
  type PostgresQuestion,
  type PostgresReport,
  type PostgresSettings,
} from './messages.ts'
import { Interned } from './names.ts'
import { OpenHolds } from './open-holds.ts'
import { Outage } from './outage.ts'
import { dropFoldedHolds, Partitions } from './partitions.ts'
import { ownIdentity } from './process-identity.ts'
import * as queries from './queries.ts'
import { recoverInstances } from './recovery.ts'
import { PostgresShares } from './shares.ts'

const FOLD_EVERY_MS = 1_000
/** Of the time of a lease. */
const RENEWALS = 10
/** The number of rows that the main thread does not wait for; its own begin with 1. */
const UNNUMBERED = 0

export interface WriterPorts {
  /** Opens no connection before its first statement. */
  readonly connect: () => LaneConnection
  readonly clock: Clock
  readonly report: (report: PostgresReport) => void
}

/**
 * The gateway's part of the ledger in PostgreSQL. Each lane has a connection, on which one statement follows the other:
 *
 *     holds    not synced, fenced by the instance
 *     ends     synced; lines of the call log; questions whose place among the ends matters
 *     side     folds, shares of limits, recovery, retention
 */
export class PostgresWriter {
  readonly #ports: WriterPorts
  readonly #settings: Omit<PostgresSettings, 'address'>
  readonly #connections: Readonly<Record<'holds' | 'ends' | 'side', LaneConnection>>
  readonly #holdReferences = newReferences()
  readonly #endReferences = newReferences()
  readonly #open = new OpenHolds()
  readonly #ids = new HoldIds()
  readonly #holds: HoldLane
  readonly #ends: EndLane
  readonly #shares: PostgresShares
  readonly #instance: string
  /** Whose ends these are: another one if the first is no longer there. */
  #endInstance: string
  #order = 0
  #side: Promise<unknown> = Promise.resolve()
  readonly #timers: Timer[] = []
  /** Rows were written that are not in the sums. */
  #hasNews = false
  /** Monotonic clock: since then each renewal has succeeded. */
  #steadySinceMs: number
  readonly #fencedSinceMs = new Map<string, number>()
  #isLeaving = false
  #isClosed = false

  /** Registers the gateway. Throws errors of `pg`. */
  static async begin(
    ports: WriterPorts,
    settings: Omit<PostgresSettings, 'address'>,
  ): Promise<PostgresWriter> {
    const side = ports.connect()
    const instance = await insertInstance(side, ownIdentity(), settings.leaseMs)
    const writer = new PostgresWriter(ports, settings, side, instance)
    await writer.#prepare()
    return writer
  }

  private constructor(
    ports: WriterPorts,
    settings: Omit<PostgresSettings, 'address'>,
    side: LaneConnection,
    instance: string,
  ) {
    this.#ports = ports
    this.#settings = settings
    this.#instance = instance
    this.#endInstance = instance
    this.#steadySinceMs = ports.clock.monotonicMs()
    const { connect, report } = ports
    this.#connections = { holds: connect(), ends: connect(), side }
    const { holds, ends } = this.#connections
    const outage = new Outage(report)
    const { batchRows } = settings
    this.#holds = new HoldLane(
      holds,
      {
        instance,
        references: this.#holdReferences,
        open: this.#open,
        outage,
        ids: this.#ids,
        report,
        nextOrder: () => ++this.#order,
        onHeld: () => this.#onHeld(),
        renew: () => renewLease(holds, instance, settings.leaseMs),
        onFenced: () => report({ is: 'fenced' }),
      },
      batchRows,
    )
    this.#ends = new EndLane(
      ends,
      {
        clock: ports.clock,
        instance: () => this.#endInstance,
        replaceInstance: async () => {
          this.#endInstance = await insertInstance(ends, ownIdentity(), undefined)
        },
        references: this.#endReferences,
        open: this.#open,
        outage,
        report: ended => this.#reportEnded(ended),
        order: () => this.#order,
        holdsSettled: () => this.#holds.settled(),
        resendHolds: () => this.#holds.resend(),
        answer: question => this.#answer(question),
      },
      batchRows,
    )
    this.#shares = new PostgresShares(side, instance, settings.leaseMs)
    this.#every(settings.leaseMs / RENEWALS, () => this.#renew())
    this.#every(FOLD_EVERY_MS, () => this.#foldNews())
  }

  get instance(): string {
    return this.#instance
  }

  /** The first call finds its connections open and its partitions there. */
  async #prepare(): Promise<void> {
    const { holds, ends } = this.#connections
    const now = [this.#ports.clock.nowMs()]
    const { partitions } = this.#endReferences
    await Promise.all([
      this.#holdReferences.partitions.ensure(holds, 'holds', now),
      partitions.ensure(ends, 'ledger', now).then(() => partitions.ensure(ends, 'call_logs', now)),
    ])
  }

  receive({ items, cancelled }: PostgresItems): void {
    this.#holds.cancel(cancelled)
    for (const item of items) {
      if (isRow(item)) this.#add(item[0], item[1])
      else if (isOrdered(item.query)) this.#ends.ask(item)
      else void this.#aside(item)
    }
  }

  /** Ends without waiting for anything. What is committed stays; `leave` comes before it. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#timers) timer.cancel()
    for (const lane of [this.#holds, this.#ends]) lane.close()
    await Promise.all(Object.values(this.#connections).map(connection => connection.close()))
  }

  #add(number: number, row: Row): void {
    if (row[0] !== 'hold') this.#ends.write(number, row)
    else this.#holds.add({ number, hold: row[1] })
  }

  /** Of rows that the main thread has sent: those of a journal have the number {@link UNNUMBERED}. */
  #reportEnded(ended: PostgresReport): void {
    if (ended.is !== 'ended') {
      this.#ports.report(ended)
      return
    }
    if (ended.numbers.length > 0) this.#hasNews = true
    this.#ports.report({ ...ended, numbers: ended.numbers.filter(number => number !== UNNUMBERED) })
  }

  #onHeld(): void {
    this.#hasNews = true
    this.#ends.sync()
  }

  /** A question beside the rows; those about shares follow all earlier ends. */
  async #aside(question: PostgresQuestion): Promise<void> {
    const follows = question.query.query === 'share' || question.query.query === 'leave'
    const before = follows ? Promise.all([this.#ends.settled(), this.#side]) : this.#side
    const answered = before.then(() => this.#answer(question))
    this.#side = answered
    await answered
  }

  async #answer({ seq, query }: PostgresQuestion): Promise<void> {
    try {
      this.#ports.report({ is: 'answered', seq, answer: await this.#answerTo(query) })
    } catch (error) {
      this.#ports.report({ is: 'failed', seq, message: (error as Error).message })
    }
  }

  async #answerTo(query: LedgerQuery): Promise<Answers[LedgerQuery['query']]> {
    const { ends, side } = this.#connections
    switch (query.query) {
      case 'sums':
        await this.#fold(ends)
        return queries.selectSums(ends, query.queries)
      case 'balances':
        return queries.selectBalances(ends, query.tenants)
      case 'adjustments':
        return queries.selectAdjustments(ends, query.sinceVersion)
      case 'stored':
        return queries.selectStored(ends, query.ids, query.nowMs)
      case 'nothing':
        await this.#fold(ends)
        return undefined
      case 'orphaned': {
        const holds = await recoverInstances(side, this.#shares, this.#instance, {
          tickMs: this.#ports.clock.monotonicMs(),
          fencedSinceMs: this.#fencedSinceMs,
          mayExpire: this.#isSteady,
          left: {
            write: instance => this.#writeLeft(instance),
            remove: instance => removeEnds(endJournalFolder(this.#settings.journalRoot, instance)),
          },
          foldOwn: () => this.#fold(side),
        })
        // Their ends come from here.
        for (const hold of holds) this.#open.add(hold)
        return holds
      }
      case 'overdue':
        return this.#overdue(query.deadlineBeforeMs, query.after)
      case 'prune':
        await dropFoldedHolds(side)
        return queries.pruneCallLogs(side, query.beforeMs, query.maxRows)
      case 'prune_stored':
        return queries.pruneStored(side, query.nowMs, query.maxRows)
      case 'log_rejected':
        return queries.insertRejected(side, query.calls)
      case 'leave':
        return this.#leave()
      case 'join':
      case 'instances':
      case 'declare':
        return this.#shares.answer(query)
      case 'share':
        await this.#fold(side)
        return this.#shares.answer(query)
      case 'hold':
        throw new Error('gateways share prepaid balances: no hold is compared with one')
    }
  }

  /** Ends this instance. A renewal of the lease finds its row fenced meanwhile, which is no report. */
  async #leave(): Promise<undefined> {
    const { side } = this.#connections
    this.#isLeaving = true
    try {
      await this.#fold(side)
      await this.#shares.leave()
      await deleteInstance(side, this.#instance)
    } catch (error) {
      this.#isLeaving = false
      throw error
    }
  }

  /** The store has all of them; those of this gateway are in memory as well. */
  #overdue(
    beforeMs: number,
    after: { readonly requestId: string; readonly attempt: number } | undefined,
  ): Hold[] {
    if (after) return []
    return this.#open.all().filter(({ deadlineMs }) => deadlineMs <= beforeMs)
  }

  /** The ends that a gateway has left in its journal. They belong to this one's sums. */
  async #writeLeft(instance: string): Promise<void> {
    const { journalRoot } = this.#settings
    const left = readEnds(journalRoot, instance)
    for (const { hold, end } of left) {
      this.#open.add(hold)
      this.#ends.write(UNNUMBERED, ['end', end])
    }
    await this.#ends.settled()
  }

  async #renew(): Promise<void> {
    const { clock } = this.#ports
    const sinceMs = clock.monotonicMs()
    try {
      const isAlive = await renewLease(this.#connections.holds, this.#instance, this.#settings.leaseMs)
      // A gateway without calls has no hold that is rejected, and without shares it admits none.
      if (!isAlive && !this.#isLeaving) this.#ports.report({ is: 'fenced' })
    } catch (error) {
      this.#steadySinceMs = Number.POSITIVE_INFINITY
      throw error
    }
    if (this.#steadySinceMs === Number.POSITIVE_INFINITY) this.#steadySinceMs = sinceMs
  }

  /** After an outage the leases of all gateways are over: each gets the time to renew its own. */
  get #isSteady(): boolean {
    return this.#ports.clock.monotonicMs() - this.#steadySinceMs > this.#settings.leaseMs
  }

  async #fold(db: LaneConnection): Promise<void> {
    await fold(db, this.#instance, this.#ids.complete)
    if (this.#endInstance !== this.#instance) await fold(db, this.#endInstance, 0)
  }

  async #foldNews(): Promise<void> {
    if (!this.#hasNews) return
    this.#hasNews = false
    const folded = this.#side.then(() => this.#fold(this.#connections.side))
    this.#side = folded.catch(() => undefined)
    try {
      await folded
    } catch {
      // What was not folded is added up the next time; an outage is reported by the lanes.
      this.#hasNews = true
    }
  }

  /** Runs a task again and again, with pauses; its failures are those of the server, which the lanes report. */
  #every(ms: number, task: () => Promise<void>): void {
    const at = this.#timers.length
    const run = async () => {
      await task().catch(() => undefined)
      if (!this.#isClosed) schedule()
    }
    const schedule = () => {
      this.#timers[at] = this.#ports.clock.after(ms, () => void run())
    }
    schedule()
  }
}

/** The answer has exactly the ends before it. */
function isOrdered({ query }: LedgerQuery): boolean {
  return ['sums', 'balances', 'adjustments', 'stored', 'nothing'].includes(query)
}

/** Each lane has its own: what it has added is committed before its rows, on its connection. */
function newReferences(): References {
  return {
    names: new Interned('ledger_names', 'name'),
    prices: new Interned('ledger_prices', 'price'),
    partitions: new Partitions(),
  }
}
