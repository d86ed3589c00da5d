import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { SnapshotHolder } from '../snapshot/holder.ts'
import type { ServingStore } from '../store/types.ts'

export interface RevisionRetentionPorts {
  readonly store: Pick<ServingStore, 'pruneStates'>
  readonly holder: Pick<SnapshotHolder, 'current'>
  readonly clock: Clock
  readonly log: Log
}

const CHECK_MS = 60_000
/** Small, because calls wait for the same write lock. */
const BATCH_ROWS = 200

/** Deletes the states of old revisions by the retention settings, once a minute, in small batches. */
export class RevisionRetention {
  readonly #ports: RevisionRetentionPorts
  #timer: Timer | undefined
  #working: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(ports: RevisionRetentionPorts) {
    this.#ports = ports
  }

  start(): void {
    if (this.#stopped) return
    this.#timer = this.#ports.clock.after(CHECK_MS, () => {
      this.#working = this.#prune().finally(() => this.start())
    })
  }

  /** Resolves after a batch in progress is written. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#working
  }

  async #prune(): Promise<void> {
    const { store, holder, clock, log } = this.#ports
    const snapshot = holder.current()
    if (!snapshot) return
    const { retentionMs, keep } = snapshot.revisions
    const retention = { keptSinceMs: clock.nowMs() - retentionMs, leastBack: keep }
    try {
      while (!this.#stopped && (await store.pruneStates(retention, BATCH_ROWS)) === BATCH_ROWS);
    } catch (error) {
      log.error({ err: error }, 'old states of the configuration cannot be deleted')
    }
  }
}
