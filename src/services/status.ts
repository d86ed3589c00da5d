import type { Revision, Store } from '../store/types.ts'
import type { AppPorts } from './context.ts'
import { currencyOf } from './currency.ts'
import { LiveStatsMonitor, type LiveStatsSources } from './live-stats/monitor.ts'
import type { LiveStats } from './live-stats/types.ts'
import { type MaintenanceShown, maintenanceOf } from './maintenance.ts'

/** A single status report. */
export interface Status {
  /** Without rates. */
  readonly liveStats: LiveStats
  /** Absent if the address of a gateway was given. */
  readonly store?: StoreStatus
  /** The problems found, in sentences. */
  readonly problems: readonly string[]
}

export interface StoreStatus {
  /** The newest; absent if nothing was ever applied. */
  readonly revision?: Revision
  readonly resources: Readonly<Record<string, number>>
  readonly maintenance: MaintenanceShown
  /** Of the last hour, rounded to quarters. */
  readonly lastHour: { readonly requests: number; readonly tokens: number; readonly amountNano: bigint }
  readonly currency: string
}

type StatusPorts = Pick<AppPorts, 'clock' | 'cwd' | 'signal'>

const HOUR_MS = 3_600_000

/** @throws {CommandError} store_… for the store, which is not read if an address is given. */
export async function statusNow(sources: LiveStatsSources, ports: StatusPorts): Promise<Status> {
  const monitor = await LiveStatsMonitor.open(sources, ports)
  try {
    const liveStats = await monitor.sample()
    const store = monitor.store && (await storeStatus(monitor.store, ports.clock.nowMs()))
    return { liveStats, ...(store && { store }), problems: problemsOf(liveStats, store) }
  } finally {
    await monitor.close()
  }
}

async function storeStatus(store: Store, untilMs: number): Promise<StoreStatus> {
  const live = await store.live()
  const [revision] = await store.revisions({ limit: 1 })
  const usage = await store.accounting.usage({ by: 'model', sinceMs: untilMs - HOUR_MS, untilMs })
  const resources: Record<string, number> = {}
  for (const { kind } of live.resources) resources[kind] = (resources[kind] ?? 0) + 1
  return {
    ...(revision && { revision }),
    resources,
    maintenance: maintenanceOf(live),
    lastHour: {
      requests: usage.reduce((sum, row) => sum + row.requests, 0),
      tokens: usage.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0),
      amountNano: usage.reduce((sum, row) => sum + row.amountNano, 0n),
    },
    currency: currencyOf(live),
  }
}

function problemsOf(
  { gateways, endpoints, storeRevision }: LiveStats,
  store: StoreStatus | undefined,
): readonly string[] {
  const serving = gateways.filter(({ state }) => state !== 'silent')
  return [
    ...(serving.length === 0 ? ['No gateway serves.'] : []),
    ...gateways.flatMap(({ name, state, isBehind, revision, reasons }) => [
      ...(state === 'silent' && serving.length > 0 ? [`${name} is silent.`] : []),
      ...(isBehind && state !== 'silent'
        ? [`${name} serves revision ${revision}, and the store holds ${storeRevision}.`]
        : []),
      ...reasons,
    ]),
    ...endpoints
      .filter(({ state }) => state === 'unhealthy')
      .map(
        ({ name, reason }) =>
          `Endpoint ${name} is unhealthy${reason === undefined ? '.' : `: ${sentence(reason)}`}`,
      ),
    ...(store?.maintenance.on && serving.length === 0 ? ['Maintenance is on.'] : []),
  ]
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
