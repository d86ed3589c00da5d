import { Limiter } from '../admission/limiter.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Snapshot } from '../snapshot/types.ts'
import type { LedgerThread } from '../store/ledger/ledger-thread.ts'
import { openLedger } from '../store/ledger/open-ledger.ts'
import type { Ledger } from '../store/ledger/types.ts'
import { yieldToEventLoop } from './yield-to-event-loop.ts'

export interface LedgerRuntimePorts {
  readonly clock: Clock
  readonly log: Log
  readonly cwd: string
  /** One that was started before everything else; by default one is started when it is needed. */
  readonly ledgerThread?: LedgerThread
  /** The ledger has ended by itself: nothing can be billed any more. */
  readonly onDeath: (error: Error) => void
}

const MAINTENANCE_MS = 1_000
const SWEEP_EVERY_TICKS = 10
const PRUNE_EVERY_TICKS = 60
/** Deleting more at once would hold up bills behind it. */
const PRUNE_ROWS = 500

/**
 * Limits and ledger of one process, kept in step: what the ledger knows is told to the limits before a snapshot is
 * served, credits made elsewhere reach them within a second or two, and what was left behind is swept up.
 */
export class LedgerRuntime {
  readonly limiter: Limiter
  readonly ledger: Ledger
  readonly #ports: LedgerRuntimePorts
  #snapshot: Snapshot | undefined
  /** The last adjustment that balances are known with; undefined until the first are known. */
  #walletVersion: number | undefined
  #ticks = 0
  #timer: Timer | undefined
  #maintenance: Promise<void> = Promise.resolve()
  #closed = false

  private constructor(ledger: Ledger, ports: LedgerRuntimePorts) {
    this.ledger = ledger
    this.limiter = new Limiter(ports.clock)
    this.#ports = ports
  }

  /**
   * Becomes the one gateway of a store, and settles what an earlier one has left open.
   *
   * @throws {CommandError} GW2006 where another gateway serves the store; GW2001, GW2003.
   */
  static async open(store: string, ports: LedgerRuntimePorts): Promise<LedgerRuntime> {
    const { clock, log, cwd, onDeath, ledgerThread } = ports
    const events = {
      onProblem: (message: string) => log.error({ problem: message }, 'the ledger cannot be written'),
      onRecovered: () => log.info('the ledger is written again, nothing was lost'),
      onAlarm: (message: string) => log.error({ alarm: message }, 'a row contradicts the ledger'),
      onDeath: (error: Error) => {
        log.error({ err: error }, 'the ledger has ended')
        onDeath(error)
      },
    }
    const thread = ledgerThread && { thread: ledgerThread }
    const ledger = await openLedger(store, { clock, events, folder: cwd, ...thread })
    const ledgerRuntime = new LedgerRuntime(ledger, ports)
    const recovered = await ledger.recover(clock.nowMs())
    if (recovered > 0) log.warn({ holds: recovered }, 'settled holds that an earlier process had left')
    ledgerRuntime.#schedule()
    return ledgerRuntime
  }

  /** Learns what a snapshot's limits must know of the past. To be awaited before it is served. */
  async prepare(snapshot: Snapshot): Promise<void> {
    const question = this.limiter.balanceQuery(snapshot)
    // Both are posted in this turn: the answers belong to this moment. Of a ledger that is closing both are rejected.
    const [sums, { version, balanceNano }] = await Promise.all([
      this.ledger.sums(question.queries),
      this.ledger.balances(question.tenants),
    ])
    question.answerSums(sums)
    question.answerBalances(balanceNano)
    // Later ones are of new tenants alone: what others were credited meanwhile is still to be heard of.
    this.#walletVersion ??= version
  }

  /** The snapshot is served from now on. */
  adopt(snapshot: Snapshot): void {
    this.#snapshot = snapshot
    this.limiter.adopt(snapshot)
  }

  /** @returns how many rows could not be committed; the next start settles their holds. */
  async close(): Promise<number> {
    this.#closed = true
    this.#timer?.cancel()
    // What is being asked of a ledger that cannot be written ends with it.
    const lost = this.ledger.close()
    await this.#maintenance
    return lost
  }

  #schedule(): void {
    if (this.#closed) return
    this.#timer = this.#ports.clock.after(MAINTENANCE_MS, () => {
      this.#maintenance = this.#runMaintenance().finally(() => this.#schedule())
    })
  }

  async #runMaintenance(): Promise<void> {
    const { clock, log } = this.#ports
    this.#ticks++
    try {
      await this.#hearAdjustments()
      if (this.#ticks % SWEEP_EVERY_TICKS === 0) {
        const overdue = this.limiter.sweep().length
        const held = this.limiter.heldRequests()
        const swept = await this.ledger.sweep(clock.nowMs(), requestId => held.has(requestId))
        if (overdue + swept > 0) log.warn({ overdue, swept }, 'ended holds past their deadline')
        await yieldToEventLoop(this.limiter.forgetting(), clock)
      }
      if (this.#ticks % PRUNE_EVERY_TICKS === 0) await this.#prune()
    } catch (error) {
      log.error({ err: error }, 'tending the books')
    }
  }

  /** Credits and debits of other processes. */
  async #hearAdjustments(): Promise<void> {
    if (this.#walletVersion === undefined) return
    const { version, changes } = await this.ledger.adjustments(this.#walletVersion)
    if (version === this.#walletVersion) return
    const question = this.limiter.walletQuery([...new Set(changes.map(({ tenant }) => tenant))])
    const balances = await this.ledger.balances(question.tenants)
    question.answerBalances(balances.balanceNano)
    this.#walletVersion = version
  }

  async #prune(): Promise<void> {
    if (!this.#snapshot) return
    const beforeMs = this.#ports.clock.nowMs() - this.#snapshot.logRetentionMs
    while (!this.#closed && (await this.ledger.pruneCallLogs(beforeMs, PRUNE_ROWS)) === PRUNE_ROWS);
  }
}
