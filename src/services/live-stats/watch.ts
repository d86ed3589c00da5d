import { pause } from '../../base/clock.ts'
import type { AppPorts } from '../context.ts'
import { LiveStatsMonitor, type LiveStatsSources } from './monitor.ts'
import type { LiveStats } from './types.ts'

type WatchPorts = Pick<AppPorts, 'clock' | 'cwd' | 'signal'>

/** The first rates come early, not after a full interval. */
const FIRST_MS = 500

export interface Rhythm {
  readonly intervalMs: number
  /** The number of samples with rates; absent: unlimited. */
  readonly count?: number
}

/**
 * Yields samples until the signal aborts. The first has no rates, and the second follows soon.
 *
 * @throws {CommandError} store_… for the store.
 */
export async function* watchLiveStats(
  sources: LiveStatsSources,
  { intervalMs, count = Number.POSITIVE_INFINITY }: Rhythm,
  ports: WatchPorts,
): AsyncGenerator<LiveStats> {
  const { signal } = ports
  const monitor = await LiveStatsMonitor.open(sources, ports)
  try {
    yield await monitor.sample()
    for (let made = 0; made < count && !signal.aborted; made++) {
      await pause(ports.clock, made === 0 ? Math.min(FIRST_MS, intervalMs) : intervalMs, ports.signal)
      if (!signal.aborted) yield await monitor.sample()
    }
  } catch (error) {
    // An aborted sample is not a failure.
    if (!signal.aborted) throw error
  } finally {
    await monitor.close()
  }
}
