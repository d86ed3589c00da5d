import type { Clock, Timer } from '../../base/clock.ts'
import type { Instruments } from './instruments.ts'

/** The sources of a gateway's state, passed by `app`. Each is cheap and never throws. */
export interface StateSources {
  readonly ledger: {
    readonly healthy: boolean
    readonly queued: number
    readonly droppedLogs: number
    /** Resolves when all earlier rows are committed. */
    flush(): Promise<void>
  }
  readonly holds: () => { readonly count: number; readonly tokens: number; readonly amountNano: bigint }
  readonly config: () => { readonly revision: number; readonly ok: boolean; readonly atMs: number }
  /** Each enabled endpoint that has answered or failed, and whether it is healthy. */
  readonly endpoints: () => Iterable<readonly [name: string, healthy: boolean]>
  readonly connections: () => number
  readonly version: string
}

const NANO_PER_UNIT = 1e9

export function showState(instruments: Instruments, sources: StateSources, inFlight: () => number): void {
  const { ledger, holds, config } = sources
  instruments.gauge('gw_requests_in_flight', inFlight)
  instruments.gauge('gw_connections_open', sources.connections)
  instruments.gauges('gw_endpoint_healthy', 'endpoint', function* () {
    for (const [name, healthy] of sources.endpoints()) yield [name, Number(healthy)]
  })
  instruments.gauge('gw_holds_open', () => holds().count)
  instruments.gauge('gw_holds_tokens', () => holds().tokens)
  // A float suffices for a graph; the ledger is exact.
  instruments.gauge('gw_holds_cost', () => Number(holds().amountNano) / NANO_PER_UNIT)
  instruments.gauge('gw_ledger_healthy', () => Number(ledger.healthy))
  instruments.gauge('gw_ledger_queued_rows', () => ledger.queued)
  instruments.counter('gw_call_logs_dropped_total', () => ledger.droppedLogs)
  instruments.gauge('gw_config_revision', () => config().revision)
  instruments.gauge('gw_config_last_reload_successful', () => Number(config().ok))
  instruments.gauge('gw_config_last_reload_timestamp_seconds', () => config().atMs / 1000)
  instruments.info('gw_build_info', { version: sources.version, node: process.versions.node })
}

const SAMPLE_EVERY_MS = 1_000

/**
 * Measures the commit time of the ledger once a second: timing the rows of every request would cost too much.
 *
 * @returns a function that stops it.
 */
export function watchCommits(
  instruments: Instruments,
  ledger: StateSources['ledger'],
  clock: Clock,
): () => void {
  const commits = instruments.histogram('gw_ledger_commit_seconds')
  let since: number | undefined
  let timer: Timer | undefined
  let ended = false
  instruments.gauge('gw_ledger_lag_seconds', () =>
    since === undefined ? 0 : (clock.monotonicMs() - since) / 1000,
  )
  const measure = async (): Promise<void> => {
    since = clock.monotonicMs()
    try {
      await ledger.flush()
      commits.observe((clock.monotonicMs() - since) / 1000)
      since = undefined
    } catch {
      // The ledger has failed and logs that itself: from here on the lag only grows.
      return
    }
    if (!ended) timer = clock.after(SAMPLE_EVERY_MS, () => void measure())
  }
  timer = clock.after(SAMPLE_EVERY_MS, () => void measure())
  return () => {
    ended = true
    timer?.cancel()
  }
}
