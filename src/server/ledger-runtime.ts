import { CommandError } from '../base/catalogue/command.ts'
import { HEALTH_REASONS, healthReason } from '../base/catalogue/health.ts'
import { GwError, reasonOf } from '../base/catalogue/wire.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { yieldToEventLoop } from '../base/yield-to-event-loop.ts'
import { Limiter } from '../limits/limiter.ts'
import type { Snapshot } from '../snapshot/types.ts'
import type { LedgerThread } from '../store/ledger/ledger-thread.ts'
import { openLedger } from '../store/ledger/open-ledger.ts'
import { recoverOthers } from '../store/ledger/recover-lanes.ts'
import type { Ledger, LedgerEvents } from '../store/ledger/types.ts'
import { Instance } from './instance.ts'
import { StoreClock } from './store-clock.ts'

export interface LedgerRuntimePorts {
  readonly clock: Clock
  /** Resolves with the milliseconds that the store's clock is ahead; by default they agree. */
  readonly clockOffMs?: () => Promise<number>
  readonly log: Log
  readonly cwd: string
  /** A thread that was started early; by default one is started on first use. */
  readonly ledgerThread?: LedgerThread
  /** Creates the threads that fold the journals of gateways that have died. */
  readonly createLedgerThread?: () => LedgerThread
  /** Other gateways of this store start at the same time: limits are shared from the start. */
  readonly isShared?: boolean
  /** Aborts the start: the process is about to close. */
  readonly signal?: AbortSignal
  /** As of `LedgerEvents`. */
  readonly onDeath: LedgerEvents['onDeath']
}

const MAINTENANCE_MS = 1_000
const SWEEP_EVERY_TICKS = 10
const PRUNE_EVERY_TICKS = 60
/** Nothing is served yet: there are no bills to write. */
const CLOSE_AT_START_MS = 500
/** A larger delete would delay the writes of charges behind it. */
const PRUNE_ROWS = 500

/**
 * Keeps the limits and the ledger of one process in sync: loads past usage into the limits before a snapshot is
 * served, passes credits of other processes to them within two seconds, and ends abandoned holds.
 */
export class LedgerRuntime {
  readonly limiter: Limiter
  readonly ledger: Ledger
  /** For all dates that the ledger has, and that limits depend on. */
  readonly clock: StoreClock
  readonly #ports: LedgerRuntimePorts
  #instance: Instance | undefined
  #snapshot: Snapshot | undefined
  /** The adjustment version of the loaded balances; undefined until the first load. */
  #walletVersion: number | undefined
  #ticks = 0
  #timer: Timer | undefined
  #maintenance: Promise<void> = Promise.resolve()
  #checkTimer: Timer | undefined
  #checking: Promise<void> = Promise.resolve()
  #checkProblem = ''
  #closed = false

  private constructor(ledger: Ledger, clock: StoreClock, ports: LedgerRuntimePorts) {
    this.ledger = ledger
    this.clock = clock
    this.limiter = new Limiter(clock)
    this.#ports = ports
  }

  /**
   * Takes a lane of the store, settles the holds that earlier processes left open, and joins the other gateways.
   *
   * @throws {CommandError} store_in_use if no lane is free, or another gateway does not share its limits;
   *   store_unavailable, store_missing.
   */
  static async open(store: string, ports: LedgerRuntimePorts): Promise<LedgerRuntime> {
    const { log, cwd, onDeath, ledgerThread } = ports
    const clock = new StoreClock(ports.clock, ports.clockOffMs ?? (async () => 0))
    const events = {
      onProblem: (message: string) => log.error({ problem: message }, 'the ledger cannot be written'),
      onRecovered: () => log.info('the ledger can be written again, nothing was lost'),
      onAlarm: (message: string) => log.error({ alarm: message }, 'a row contradicts the ledger entries'),
      onDeath: (error: Error, canBill: boolean) => {
        log.error({ err: error }, canBill ? 'this gateway must end' : 'the ledger has ended')
        onDeath(error, canBill)
      },
    }
    const thread = ledgerThread && { thread: ledgerThread }
    const ledger = await openLedger(store, { clock, events, folder: cwd, ...thread })
    const others = {
      clock,
      ownLane: ledger.lane,
      folder: cwd,
      createThread: ports.createLedgerThread,
      events: { ...events, onDeath: (error: Error) => log.error({ err: error }, 'a recovery has ended') },
    }
    const ledgerRuntime = new LedgerRuntime(ledger, clock, ports)
    // While the store cannot be written, the recovery waits: the close ends it.
    const closed = () => void ledger.close(CLOSE_AT_START_MS)
    ports.signal?.addEventListener('abort', closed, { once: true })
    try {
      await clock.follow()
      reportRecovered(await ledger.recover(clock.nowMs()), log)
      const { limiter } = ledgerRuntime
      ledgerRuntime.#instance = await Instance.join(ports.isShared === true, {
        ledger,
        limiter,
        clock,
        log,
        recoverOthers: async instances =>
          reportRecovered(await recoverOthers(store, ledger, instances, others), log),
      })
    } catch (error) {
      await ledger.close()
      throw ports.signal?.aborted ? ports.signal.reason : startFault(error)
    } finally {
      ports.signal?.removeEventListener('abort', closed)
    }
    ledgerRuntime.#schedule()
    ledgerRuntime.#scheduleCheck()
    return ledgerRuntime
  }

  /** The id of this gateway in the store. */
  get instanceId(): string | undefined {
    return this.#instance?.id
  }

  /** Whether other gateways share the limits. */
  get isSharing(): boolean {
    return this.#instance?.isSharing ?? false
  }

  /** Loads the past usage that a snapshot's limits need. Await it before the snapshot is served. */
  async prepare(snapshot: Snapshot): Promise<void> {
    const query = this.limiter.balanceQuery(snapshot)
    // Both are posted in the same turn, so the answers belong to one moment. A closing ledger rejects both.
    const [sums, { version, balanceNano }] = await Promise.all([
      this.ledger.sums(query.queries),
      this.ledger.balances(query.tenants),
    ])
    query.answerSums(sums)
    query.answerBalances(balanceNano)
    // Later calls load only new tenants; credits of the others arrive through the adjustments since the first version.
    this.#walletVersion ??= version
  }

  /** Called when the snapshot is served. */
  adopt(snapshot: Snapshot): void {
    this.#snapshot = snapshot
    this.limiter.adopt(snapshot)
    this.ledger.setDurability(snapshot.durability)
  }

  /** Why the process is degraded, see `HEALTH_REASONS`. */
  reasons(): string[] {
    const { healthy, behind } = this.ledger
    return healthy && behind ? [healthReason('ledger_behind', HEALTH_REASONS.ledger_behind.title)] : []
  }

  /** @returns the number of rows that could not be committed; the next start settles their holds. */
  async close(): Promise<number> {
    this.#closed = true
    this.#timer?.cancel()
    this.#checkTimer?.cancel()
    const returned = this.#instance?.close()
    if (this.isSharing) await returned
    // The close also ends queries that wait for an unwritable ledger.
    const lost = this.ledger.close()
    await Promise.all([this.#maintenance, this.#checking])
    return lost
  }

  #schedule(): void {
    if (this.#closed) return
    this.#timer = this.clock.after(MAINTENANCE_MS, () => {
      this.#maintenance = this.#runMaintenance().finally(() => this.#schedule())
    })
  }

  #scheduleCheck(): void {
    if (this.#closed) return
    this.#checkTimer = this.clock.after(MAINTENANCE_MS, () => {
      this.#checking = this.#checkInstances().finally(() => this.#scheduleCheck())
    })
  }

  async #checkInstances(): Promise<void> {
    try {
      await this.clock.follow()
      await this.#instance?.check()
      this.#checkProblem = ''
    } catch (error) {
      // Logged once: a journal that is damaged stays so.
      const problem = reasonOf(error)
      if (problem !== this.#checkProblem && !this.#closed)
        this.#ports.log.error({ err: error }, 'what other gateways left cannot be settled')
      this.#checkProblem = problem
    }
  }

  async #runMaintenance(): Promise<void> {
    const { log } = this.#ports
    this.#ticks++
    try {
      await this.#loadAdjustments()
      if (this.#ticks % SWEEP_EVERY_TICKS === 0) {
        const overdue = this.limiter.sweep().length
        const held = this.limiter.heldRequests()
        const swept = await this.ledger.sweep(this.clock.nowMs(), requestId => held.has(requestId))
        if (overdue + swept > 0) log.warn({ overdue, swept }, 'ended holds past their deadline')
        await yieldToEventLoop(this.limiter.forgetting(), this.clock)
      }
      if (this.#ticks % PRUNE_EVERY_TICKS === 0) await this.#prune()
    } catch (error) {
      log.error({ err: error }, 'ledger maintenance failed')
    }
  }

  /** Loads credits and debits of other processes. */
  async #loadAdjustments(): Promise<void> {
    if (this.#walletVersion === undefined) return
    const { version, changes } = await this.ledger.adjustments(this.#walletVersion)
    if (version === this.#walletVersion) return
    const query = this.limiter.walletQuery([...new Set(changes.map(({ tenant }) => tenant))])
    const balances = await this.ledger.balances(query.tenants)
    query.answerBalances(balances.balanceNano)
    this.#walletVersion = version
  }

  async #prune(): Promise<void> {
    if (!this.#snapshot) return
    const nowMs = this.clock.nowMs()
    const beforeMs = nowMs - this.#snapshot.logRetentionMs
    while (!this.#closed && (await this.ledger.pruneCallLogs(beforeMs, PRUNE_ROWS)) === PRUNE_ROWS);
    while (!this.#closed && (await this.ledger.pruneStored(nowMs, PRUNE_ROWS)) === PRUNE_ROWS);
  }
}

/** The ledger fails as it does for a call; before anything is served, an operator reads why. */
function startFault(error: unknown): unknown {
  if (!(error instanceof GwError)) return error
  const reason = reasonOf(error).replace(/\.$/, '')
  return new CommandError('store_unavailable', `The ledger cannot be used: ${reason}.`, { cause: error })
}

function reportRecovered(holds: number, log: Log): void {
  if (holds > 0) log.warn({ holds }, 'settled holds that an earlier process left open')
}
