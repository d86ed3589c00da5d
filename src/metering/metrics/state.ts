import { HEALTH_REASONS } from '../../base/catalogue/health.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Instruments } from './instruments.ts'

/** A node that files declare, or that is connected. */
export interface NodeFigures {
  readonly node: string
  /** It is connected, and speaks. */
  readonly isAlive: boolean
  readonly engines: readonly {
    readonly engine: string
    readonly isUp: boolean
    /** By its own figures; absent if it has none. */
    readonly load?: { readonly running: number; readonly waiting: number; readonly cache?: number }
  }[]
}

/** An endpoint on one of its nodes. */
export interface NodeEndpointFigures {
  readonly endpoint: string
  readonly node: string
  /** Undefined before its first result. */
  readonly healthy: boolean | undefined
  readonly inFlight: number
}

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
  /** The codes of the present reasons of `/health`. */
  readonly reasons: () => readonly string[]
  readonly config: () => { readonly revision: number; readonly ok: boolean; readonly atMs: number }
  /** Each enabled endpoint that has answered or failed, and whether it is healthy. */
  readonly endpoints: () => Iterable<readonly [name: string, healthy: boolean]>
  readonly nodes: () => Iterable<NodeFigures>
  readonly nodeEndpoints: () => Iterable<NodeEndpointFigures>
  readonly connections: () => number
  readonly version: string
}

const NANO_PER_UNIT = 1e9

export function showState(instruments: Instruments, sources: StateSources, inFlight: () => number): void {
  const { ledger, holds, config } = sources
  instruments.gauge('gw_requests_in_flight', inFlight)
  instruments.gauge('gw_connections_open', sources.connections)
  instruments.gauges('gw_endpoint_healthy', function* () {
    for (const [endpoint, healthy] of sources.endpoints()) yield [{ endpoint }, Number(healthy)]
  })
  showNodes(instruments, sources)
  instruments.gauge('gw_holds_open', () => holds().count)
  instruments.gauge('gw_holds_tokens', () => holds().tokens)
  // A float suffices for a graph; the ledger is exact.
  instruments.gauge('gw_holds_cost', () => Number(holds().amountNano) / NANO_PER_UNIT)
  instruments.gauge('gw_ledger_healthy', () => Number(ledger.healthy))
  instruments.gauge('gw_ledger_queued_rows', () => ledger.queued)
  instruments.counter('gw_call_logs_dropped_total', () => ledger.droppedLogs)
  instruments.gauges('gw_health_reason', function* () {
    const present = new Set(sources.reasons())
    for (const reason of Object.keys(HEALTH_REASONS)) yield [{ reason }, Number(present.has(reason))]
  })
  instruments.gauge('gw_config_revision', () => config().revision)
  instruments.gauge('gw_config_last_reload_successful', () => Number(config().ok))
  instruments.gauge('gw_config_last_reload_timestamp_seconds', () => config().atMs / 1000)
  instruments.info('gw_build_info', { version: sources.version, node: process.versions.node })
}

function showNodes(instruments: Instruments, { nodes, nodeEndpoints }: StateSources): void {
  instruments.gauges('gw_node_connected', function* () {
    for (const { node, isAlive } of nodes()) yield [{ node }, Number(isAlive)]
  })
  instruments.gauges('gw_node_engine_up', function* () {
    for (const { node, engines } of nodes())
      for (const { engine, isUp } of engines) yield [{ node, engine }, Number(isUp)]
  })
  instruments.gauges('gw_node_engine_requests', function* () {
    for (const { node, engines } of nodes()) {
      for (const { engine, load } of engines) {
        if (!load) continue
        yield [{ node, engine, state: 'running' }, load.running]
        yield [{ node, engine, state: 'waiting' }, load.waiting]
      }
    }
  })
  instruments.gauges('gw_node_engine_cache_usage', function* () {
    for (const { node, engines } of nodes())
      for (const { engine, load } of engines)
        if (load?.cache !== undefined) yield [{ node, engine }, load.cache]
  })
  instruments.gauges('gw_node_requests_in_flight', function* () {
    for (const { endpoint, node, inFlight } of nodeEndpoints()) yield [{ endpoint, node }, inFlight]
  })
  instruments.gauges('gw_node_endpoint_healthy', function* () {
    for (const { endpoint, node, healthy } of nodeEndpoints())
      if (healthy !== undefined) yield [{ endpoint, node }, Number(healthy)]
  })
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
    since ??= clock.monotonicMs()
    try {
      await ledger.flush()
      commits.observe((clock.monotonicMs() - since) / 1000)
      since = undefined
    } catch {
      // The ledger logs its failure itself: the lag grows until it has recovered.
    }
    if (!ended) timer = clock.after(SAMPLE_EVERY_MS, () => void measure())
  }
  timer = clock.after(SAMPLE_EVERY_MS, () => void measure())
  return () => {
    ended = true
    timer?.cancel()
  }
}
