import type { Store } from '../../store/types.ts'
import type { AppPorts } from '../context.ts'
import { type GatewaySources, LiveStatsMonitor } from './monitor.ts'
import { type LiveStatsShown, liveStatsToJson } from './to-json.ts'

/** How long readers share a sample: each asks once in two seconds. */
const SHARED_MS = 1_900
/** Rates since an older sample say nothing about the present. */
const STALE_MS = 10_000
/** A store may have thousands of keys. */
const MAX_KEYS = 50

/**
 * The live statistics for any number of readers, who share each sample. Nothing is sampled without a reader; the first
 * sample after a while has no rates yet.
 */
export class SharedLiveStats {
  readonly #open: () => Pick<LiveStatsMonitor, 'sample'>
  readonly #clock: AppPorts['clock']
  #monitor: Pick<LiveStatsMonitor, 'sample'>
  #latest: Promise<LiveStatsShown> | undefined
  #sampledAtMs = Number.NEGATIVE_INFINITY

  constructor(store: Store, sources: GatewaySources, ports: Pick<AppPorts, 'clock' | 'signal'>) {
    this.#open = () => LiveStatsMonitor.of(store, sources, ports)
    this.#clock = ports.clock
    this.#monitor = this.#open()
  }

  /** @throws {CommandError} store_… */
  latest(): Promise<LiveStatsShown> {
    const nowMs = this.#clock.monotonicMs()
    const ageMs = nowMs - this.#sampledAtMs
    if (this.#latest && ageMs < SHARED_MS) return this.#latest
    if (ageMs > STALE_MS) this.#monitor = this.#open()
    this.#sampledAtMs = nowMs
    const latest = this.#sample()
    this.#latest = latest
    // A failure is not shared with later readers.
    latest.catch(() => {
      this.#latest = undefined
    })
    return latest
  }

  async #sample(): Promise<LiveStatsShown> {
    const { keys, ...liveStats } = await this.#monitor.sample()
    return liveStatsToJson({ ...liveStats, keys: keys.slice(0, MAX_KEYS) })
  }
}
