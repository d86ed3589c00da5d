import { type Clock, pause } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { ServingWorker, ToWorker } from './messages.ts'

/** A process that serves the gateway. */
export interface WorkerProcess {
  readonly pid: number
  /** Resolves when it serves; never rejects: see `ended`. */
  readonly serving: Promise<ServingWorker>
  /** Resolves when it has ended. */
  readonly ended: Promise<WorkerEnd>
  /** Does nothing if it has ended. */
  send(message: ToWorker): void
  kill(): void
}

export interface WorkerEnd {
  /** Null: by a signal, or never started. */
  readonly code: number | null
  readonly signal: string | null
  /** Why the process could not be started. */
  readonly fault?: string
}

export interface SupervisorPorts {
  readonly fork: () => WorkerProcess
  readonly clock: Clock
  readonly log: Log
}

/** A worker that ended before it served. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'
  readonly end: WorkerEnd
  constructor(end: WorkerEnd) {
    super(`a worker ended before it served: ${describe(end)}`)
    this.end = end
  }
}

interface Worker {
  readonly process: WorkerProcess
  serving: ServingWorker | undefined
  /** It was asked to end. */
  isLeaving: boolean
}

/** A worker that ends sooner than this after its start is replaced later each time. */
const STABLE_AFTER_MS = 10_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000
/** The same while no worker serves. */
const LONGEST_OUTAGE_MS = 1_000
/** How often a restart tries to start a worker: another process may hold a lock of the store for a moment. */
const RESTART_ATTEMPTS = 4

/**
 * Keeps a number of workers serving.
 *
 *     start ──▶ all serve ──▶ one ends by itself ──▶ another one takes its place
 *                   │
 *                   ├──▶ restart: for each one, another one serves before it drains
 *                   └──▶ close: all drain
 */
export class Supervisor {
  readonly #count: number
  readonly #ports: SupervisorPorts
  readonly #workers = new Set<Worker>()
  #restarting: Promise<void> = Promise.resolve()
  #pauseMs = FIRST_PAUSE_MS
  #reasons: readonly string[] = []
  /** Aborted when it closes. */
  readonly #closing = new AbortController()

  /** @param count At least 1. */
  constructor(count: number, ports: SupervisorPorts) {
    this.#count = count
    this.#ports = ports
  }

  /** The processes of the workers that serve, in the order of their start. */
  get pids(): readonly number[] {
    return this.#present.map(({ process }) => process.pid)
  }

  /** How many workers are missing. */
  get missing(): number {
    return Math.max(0, this.#count - this.#present.length)
  }

  get #present(): readonly Worker[] {
    return [...this.#workers].filter(({ serving, isLeaving }) => serving && !isLeaving)
  }

  /** @param reasons Why this process is degraded, as each worker reports it from now on. */
  report(reasons: readonly string[]): void {
    if (reasons.join('\n') === this.#reasons.join('\n')) return
    this.#reasons = reasons
    this.#sendWorkers()
  }

  /** Resolves when all serve. @throws {WorkerFailed} if one ends before; the others are ended then. */
  async start(): Promise<ServingWorker> {
    try {
      const [first] = await Promise.all(Array.from({ length: this.#count }, () => this.#add()))
      if (!first) throw new RangeError('a supervisor needs a worker')
      return first
    } catch (error) {
      await this.close(0)
      throw error
    }
  }

  /** Replaces all workers, one after the other. What one of them serves goes on. Never rejects. */
  restart(): Promise<void> {
    this.#restarting = this.#restarting.then(() => this.#restartOnce())
    return this.#restarting
  }

  /** Resolves when all have ended; after `withinMs` they are killed. */
  async close(withinMs: number): Promise<void> {
    this.#closing.abort()
    const workers = [...this.#workers]
    for (const worker of workers) this.#drain(worker)
    const timer = this.#ports.clock.after(withinMs, () => workers.forEach(({ process }) => process.kill()))
    await Promise.all(workers.map(({ process }) => process.ended))
    timer.cancel()
  }

  async #restartOnce(): Promise<void> {
    const { log } = this.#ports
    try {
      for (const worker of [...this.#workers].filter(({ isLeaving }) => !isLeaving)) {
        if (this.#isClosed) return
        await this.#addUnless(() => !this.#workers.has(worker) && this.#isComplete)
        this.#drain(worker)
      }
      // A worker that ended while an old and a new one served for the same place was not replaced then.
      while (!this.#isClosed && !this.#isComplete) await this.#addUnless(() => this.#isComplete)
    } catch (error) {
      if (this.#isClosed) return
      log.error({ err: error }, 'the restart has ended: the workers that are left go on')
      if (!this.#isComplete) void this.#replace(this.#pauseMs)
      return
    }
    if (!this.#isClosed) log.info({ workers: this.pids }, 'all workers were replaced')
  }

  /**
   * Starts a worker, after a failure once more, unless it is superfluous by then.
   * @throws {WorkerFailed} of the last attempt, or of any once it closes
   */
  async #addUnless(isSuperfluous: () => boolean): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if (isSuperfluous()) return
      try {
        await this.#add()
        return
      } catch (error) {
        if (attempt === RESTART_ATTEMPTS || this.#isClosed) throw error
        this.#ports.log.warn({ err: error, attempt }, 'a worker did not start: another attempt follows')
        await this.#pause(FIRST_PAUSE_MS * 2 ** (attempt - 1))
        if (this.#isClosed) throw error
      }
    }
  }

  /** Starts a worker. @throws {WorkerFailed} */
  async #add(): Promise<ServingWorker> {
    const { fork, clock } = this.#ports
    const startedAtMs = clock.monotonicMs()
    const worker: Worker = { process: fork(), serving: undefined, isLeaving: false }
    this.#workers.add(worker)
    const { serving, ended } = worker.process
    void ended.then(end => this.#onEnded(worker, end, startedAtMs))
    const served = await Promise.race([serving, ended.then(end => new WorkerFailed(end))])
    if (served instanceof WorkerFailed) throw served
    worker.serving = served
    this.#sendWorkers()
    return served
  }

  #onEnded(worker: Worker, end: WorkerEnd, startedAtMs: number): void {
    this.#workers.delete(worker)
    this.#sendWorkers()
    if (worker.isLeaving || !worker.serving || this.#isClosed) return
    const { clock, log } = this.#ports
    log.error({ pid: worker.process.pid, ...end }, 'a worker has ended: another one takes its place')
    const isStable = clock.monotonicMs() - startedAtMs >= STABLE_AFTER_MS
    if (isStable) this.#pauseMs = FIRST_PAUSE_MS
    void this.#replace(isStable ? 0 : this.#pauseMs)
  }

  async #replace(afterMs: number): Promise<void> {
    if (afterMs > 0) this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
    await this.#pause(this.#present.length > 0 ? afterMs : Math.min(afterMs, LONGEST_OUTAGE_MS))
    if (this.#isClosed || this.#isComplete) return
    try {
      await this.#add()
    } catch (error) {
      if (this.#isClosed) return
      this.#ports.log.error({ err: error }, 'a worker could not be replaced')
      await this.#replace(this.#pauseMs)
    }
  }

  /** Whether as many workers as wanted serve, or start: a restart may have started one in the place of one that ended. */
  get #isComplete(): boolean {
    return [...this.#workers].filter(({ isLeaving }) => !isLeaving).length >= this.#count
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Resolves sooner if it closes. */
  #pause(durationMs: number): Promise<void> {
    return pause(this.#ports.clock, durationMs, this.#closing.signal)
  }

  #drain(worker: Worker): void {
    worker.isLeaving = true
    worker.process.send({ is: 'drain' })
    this.#sendWorkers()
  }

  #sendWorkers(): void {
    const serving = [...this.#workers].filter(({ isLeaving }) => !isLeaving)
    const peers = serving.flatMap(worker => worker.serving?.peer ?? [])
    for (const { process, serving: isServing } of this.#workers)
      if (isServing) process.send({ is: 'workers', peers, wanted: this.#count, reasons: this.#reasons })
  }
}

function describe({ code, signal, fault }: WorkerEnd): string {
  if (fault !== undefined) return fault
  return signal === null ? `exit code ${code}` : signal
}
