import { setTimeout as pause } from 'node:timers/promises'
import type { Hold } from '../../../schema/ledger.ts'
import { describeFault } from '../../ledger/alarms.ts'
import { insertHolds, keyOf, loadReferences, type References } from './hold-rows.ts'
import type { LaneConnection } from './lane-connection.ts'
import type { NumberedHold, PostgresReport } from './messages.ts'
import type { OpenHolds } from './open-holds.ts'
import { isOfRow, type Outage } from './outage.ts'
import { toRequestBytes } from './request-id.ts'

export interface HoldLaneContext {
  readonly instance: string
  readonly references: References
  readonly open: OpenHolds
  readonly outage: Outage
  readonly ids: HoldIds
  readonly report: (report: PostgresReport) => void
  /** The number of the next report of written holds. */
  readonly nextOrder: () => number
  readonly onHeld: () => void
  /** Renews the lease. False if the instance is fenced. */
  readonly renew: () => Promise<boolean>
  readonly onFenced: () => void
}

/**
 * The ids of holds that are committed. The server counts them up, so that the holds of a statement under way have larger
 * ids than those that were known when it was sent.
 */
export class HoldIds {
  #last = 0
  readonly #sent = new Map<object, number>()

  /** Up to this one, all holds that will ever come are committed. */
  get complete(): number {
    return Math.min(this.#last, ...this.#sent.values())
  }

  begin(batch: object): void {
    if (!this.#sent.has(batch)) this.#sent.set(batch, this.#last)
  }

  end(batch: object, lastId: number | undefined): void {
    this.#sent.delete(batch)
    this.#last = Math.max(this.#last, lastId ?? 0)
  }

  /** A server that has lost its last moments may give ids out once more. */
  reset(): void {
    this.#last = 0
  }
}

/**
 * Writes holds, a batch at a time: what comes while a statement is under way is in the next one.
 *
 *     add ──▶ queue ──▶ batch ──▶ insert ──▶ held
 *                         ▲         ├──▶ fenced, held before, not covered: rejected
 *                         └─ pause ◀┘    the server is away: the same batch once more
 */
export class HoldLane {
  readonly #db: LaneConnection
  readonly #context: HoldLaneContext
  readonly #batchRows: number
  #queue: NumberedHold[] = []
  #batch: NumberedHold[] = []
  readonly #cancelled = new Set<number>()
  #running: Promise<void> | undefined
  #isClosed = false
  #opened = 0
  /** Who waits until the server has all acknowledged holds again. */
  #resends: (() => void)[] = []

  constructor(db: LaneConnection, context: HoldLaneContext, batchRows: number) {
    this.#db = db
    this.#context = context
    this.#batchRows = batchRows
  }

  add(hold: NumberedHold): void {
    this.#queue.push(hold)
    this.#start()
  }

  /** Resolves when the server has all acknowledged holds: one that was killed has lost what it had not synced. */
  resend(): Promise<void> {
    return new Promise(resolve => {
      this.#resends.push(resolve)
      this.#start()
    })
  }

  /** Their callers have been rejected: those that were not sent are dropped. */
  cancel(numbers: readonly number[]): void {
    for (const number of numbers) this.#cancelled.add(number)
  }

  /** Resolves when nothing is queued. */
  async settled(): Promise<void> {
    await this.#running
  }

  close(): void {
    this.#isClosed = true
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // The other lane may have asked for something between the end of the loop and here.
      if (this.#hasWork && !this.#isClosed) this.#start()
    })
  }

  async #run(): Promise<void> {
    await Promise.resolve()
    while (this.#hasWork && !this.#isClosed) {
      const isRetry = this.#batch.length > 0
      if (!isRetry) this.#batch = this.#nextBatch()
      try {
        await this.#sendLost()
        await this.#write(isRetry)
        this.#context.outage.succeed('holds')
      } catch (error) {
        if (isOfRow(error) && this.#batch.length > 0) this.#leaveOut(error as Error)
        else {
          const pauseMs = this.#context.outage.fail('holds', error)
          await pause(pauseMs, undefined, { ref: false })
        }
      }
    }
  }

  get #hasWork(): boolean {
    return this.#queue.length + this.#batch.length + this.#resends.length > 0
  }

  #nextBatch(): NumberedHold[] {
    return this.#queue.splice(0, this.#batchRows).filter(({ number }) => {
      const isCancelled = this.#cancelled.delete(number)
      if (isCancelled) this.#context.report({ is: 'rejected', number, fault: 'cancelled' })
      return !isCancelled
    })
  }

  async #write(isRetry: boolean): Promise<void> {
    const { ids, references, instance, open, report } = this.#context
    const batch = this.#batch
    if (batch.length === 0) return
    const known = isRetry ? [] : batch.filter(({ hold }) => open.has(hold))
    if (known.length > 0) {
      for (const { number } of known) report({ is: 'rejected', number, fault: describeFault('held_twice') })
      this.#batch = batch.filter(item => !known.includes(item))
      return
    }
    const holds = batch.map(({ hold }) => hold)
    await loadReferences(this.#db, references, holds)
    ids.begin(this)
    const inserted = await insertHolds(this.#db, instance, references, holds)
    if (!inserted.isAlive) {
      await this.#onFence(isRetry)
      return
    }
    const missing = inserted.keys
      ? batch.filter(({ hold }) => !inserted.keys?.has(keyOf(toRequestBytes(hold.requestId), hold.attempt)))
      : []
    // Of a retry, the first attempt may have been carried out.
    const before = missing.length > 0 ? await this.#committed(missing.map(({ hold }) => hold)) : []
    ids.end(this, inserted.lastId)
    this.#batch = []
    const written = batch.filter(item => !missing.includes(item) || (isRetry && before.includes(item.hold)))
    this.#held(written)
    for (const item of missing)
      if (!written.includes(item))
        report({ is: 'rejected', number: item.number, fault: describeFault('held_twice') })
  }

  #held(written: readonly NumberedHold[]): void {
    const { open, report, nextOrder, onHeld } = this.#context
    if (written.length === 0) return
    for (const { hold, number } of written) {
      open.add(hold)
      this.#cancelled.delete(number)
    }
    report({ is: 'held', numbers: written.map(({ number }) => number), order: nextOrder() })
    onHeld()
  }

  /** Those of the holds that are in the table. */
  async #committed(holds: readonly Hold[]): Promise<Hold[]> {
    const found: Hold[] = []
    for (const hold of holds) {
      const { rows } = await this.#db.query(
        'select 1 from holds where request = $1 and attempt = $2 and opened_at_ms = $3',
        [toRequestBytes(hold.requestId), hold.attempt, hold.openedAtMs],
      )
      if (rows.length > 0) found.push(hold)
    }
    return found
  }

  /** After a connection was lost: what was acknowledged without a sync may be lost with the server. */
  async #sendLost(): Promise<void> {
    const { open, references, instance, ids } = this.#context
    const opened = await this.#db.connect()
    const resends = this.#resends.splice(0)
    try {
      if ((this.#opened > 0 && opened !== this.#opened) || resends.length > 0) {
        ids.reset()
        const holds = open.all()
        for (let at = 0; at < holds.length; at += this.#batchRows) {
          const some = holds.slice(at, at + this.#batchRows)
          await loadReferences(this.#db, references, some)
          await insertHolds(this.#db, instance, references, some, true)
        }
      }
    } catch (error) {
      this.#resends.unshift(...resends)
      throw error
    }
    this.#opened = opened
    for (const resolve of resends) resolve()
  }

  /** The lease may be over because the server was away: then it is renewed, unless another gateway was faster. */
  async #onFence(isRetry: boolean): Promise<void> {
    const { renew, onFenced, report, ids } = this.#context
    if (await renew()) return
    const before = isRetry ? await this.#committed(this.#batch.map(({ hold }) => hold)) : []
    onFenced()
    ids.end(this, undefined)
    const rejected = [...this.#batch.filter(({ hold }) => !before.includes(hold)), ...this.#queue]
    this.#held(this.#batch.filter(({ hold }) => before.includes(hold)))
    this.#batch = []
    this.#queue = []
    for (const { number } of rejected)
      report({ is: 'rejected', number, fault: 'the shares of this gateway were given to another one' })
  }

  /** One row cannot be written: finds it. */
  #leaveOut(error: Error): void {
    const batch = this.#batch
    if (batch.length === 1) {
      const [{ number }] = batch as [NumberedHold]
      this.#batch = []
      this.#context.ids.end(this, undefined)
      this.#context.report({ is: 'rejected', number, fault: error.message })
      return
    }
    this.#queue = [...batch.slice(1), ...this.#queue]
    this.#batch = batch.slice(0, 1)
  }
}
