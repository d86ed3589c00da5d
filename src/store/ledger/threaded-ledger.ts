import { asError } from '../../base/as-error.ts'
import { GwError } from '../../base/catalogue/wire.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type {
  CallRecord,
  Hold,
  HoldEnd,
  KeySums,
  KeySumsQuery,
  RejectedCall,
  StoredResponse,
} from '../../schema/ledger.ts'
import type { Durability } from '../../schema/settings.ts'
import type { InstanceAnswers, InstanceQuery } from '../shares/instance-queries.ts'
import type { Answers, LedgerQuery } from './messages.ts'
import { claimOf, type RecoveryPorts, recoverHolds, sweepHolds } from './recovery.ts'
import { RejectedSample } from './rejected-calls.ts'
import type { Adjustments, Balances, Ledger, LedgerEvents } from './types.ts'

const CLOSE_WITHIN_MS = 10_000
const REJECTED_EVERY_MS = 1_000

/** What the ledgers of both engines have in common: questions to their thread, and the sample of rejected calls. */
export abstract class ThreadedLedger implements Ledger {
  readonly #clock: Clock
  readonly #events: LedgerEvents
  readonly #recovery: RecoveryPorts
  readonly #rejected = new RejectedSample()
  #rejectedTimer: Timer | undefined
  #closing: Promise<number> | undefined

  constructor({ clock, events }: { readonly clock: Clock; readonly events: LedgerEvents }) {
    this.#clock = clock
    this.#events = events
    this.#recovery = {
      query: query => this.query(query),
      end: end => this.end(end),
      log: record => this.log(record),
    }
  }

  abstract readonly lane: number
  abstract readonly healthy: boolean
  abstract readonly behind: boolean
  abstract readonly queued: number
  abstract readonly droppedLogs: number
  abstract open(hold: Hold): Promise<number>
  abstract setDurability(durability: Durability): void
  abstract durable(hold: number): Promise<void> | undefined
  abstract end(end: HoldEnd): Promise<void>
  abstract log(record: CallRecord): void

  /** Resolves with the answer of the thread. */
  protected abstract query<Query extends LedgerQuery>(query: Query): Promise<Answers[Query['query']]>
  /** Ends the thread, once. */
  protected abstract closeWithin(withinMs: number): Promise<number>

  sums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]> {
    return this.query({ query: 'sums', queries })
  }

  async balances(tenants: readonly string[]): Promise<Balances> {
    const { version, balanceNano } = await this.query({ query: 'balances', tenants })
    return { version, balanceNano: new Map(tenants.map((tenant, at) => [tenant, balanceNano[at] ?? 0n])) }
  }

  adjustments(sinceVersion: number): Promise<Adjustments> {
    return this.query({ query: 'adjustments', sinceVersion })
  }

  stored(ids: readonly string[]): Promise<readonly (StoredResponse | undefined)[]> {
    return this.query({ query: 'stored', ids, nowMs: this.#clock.nowMs() })
  }

  recover(nowMs: number): Promise<number> {
    return recoverHolds(this.#recovery, nowMs)
  }

  sweep(nowMs: number, isKnown: (requestId: string, attempt: number) => boolean = () => false) {
    return sweepHolds(this.#recovery, nowMs, isKnown)
  }

  pruneCallLogs(beforeMs: number, maxRows: number): Promise<number> {
    return this.query({ query: 'prune', beforeMs, maxRows })
  }

  pruneStored(nowMs: number, maxRows: number): Promise<number> {
    return this.query({ query: 'prune_stored', nowMs, maxRows })
  }

  async ask<Query extends InstanceQuery>(query: Query): Promise<InstanceAnswers[Query['query']]> {
    const answer: InstanceAnswers[InstanceQuery['query']] = await this.query<Query>(query)
    return answer as InstanceAnswers[Query['query']]
  }

  flush(): Promise<void> {
    return this.query({ query: 'nothing' })
  }

  logRejected(call: RejectedCall): void {
    if (!this.healthy || this.#closing) return
    this.#rejected.add(call)
    this.#rejectedTimer ??= this.#clock.after(REJECTED_EVERY_MS, () => this.#postRejected())
  }

  close(withinMs: number = CLOSE_WITHIN_MS): Promise<number> {
    if (!this.#closing) {
      this.#postRejected()
      this.#closing = this.closeWithin(withinMs)
    }
    return this.#closing
  }

  /** No question is answered from now on. */
  protected stopSampling(): void {
    this.#rejectedTimer?.cancel()
  }

  /** The hold was rejected, and is written nevertheless: it must not stay open. Resolves when it does not. */
  protected async release(hold: Hold): Promise<void> {
    const endedAtMs = this.#clock.nowMs()
    try {
      await this.end({ ...claimOf(hold), kind: 'release', endedAtMs, reason: 'unavailable' })
    } catch (error) {
      const { message } = asError(error)
      this.#events.onAlarm(`hold ${hold.requestId} was rejected and stays open: ${message}`)
    }
  }

  #postRejected(): void {
    this.#rejectedTimer?.cancel()
    this.#rejectedTimer = undefined
    const calls = this.#rejected.take()
    if (calls.length === 0 || !this.healthy) return
    // It fails only if the thread ends, which is reported by itself, or the store is away.
    this.query({ query: 'log_rejected', calls }).catch(() => undefined)
  }
}

export function unavailable(reason: string): GwError {
  return new GwError('unavailable', undefined, { reason })
}
