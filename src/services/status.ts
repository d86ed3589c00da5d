import { formatNano } from '../base/decimal.ts'
import { iso } from '../base/iso.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { openStore } from '../store/open.ts'
import type { Revision, Store } from '../store/types.ts'
import type { AppPorts, Context } from './context.ts'
import { type GatewaySources, LiveStatsMonitor, type LiveStatsSources } from './live-stats/monitor.ts'
import { endpointToJson, gatewayToJson } from './live-stats/to-json.ts'
import type { LiveStats } from './live-stats/types.ts'
import { type MaintenanceShown, maintenanceOf } from './maintenance.ts'
import { currencyOf } from './settings.ts'

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

/** The document of a status report. */
export type StatusShown = AnswerOf<OperationOf<'get_status'>>

type StatusPorts = Pick<AppPorts, 'clock' | 'cwd' | 'signal'>

const HOUR_MS = 3_600_000

/** @throws {CommandError} store_… for the store, which is not read if an address is given. */
export async function statusNow(sources: LiveStatsSources, ports: StatusPorts): Promise<Status> {
  const { url, storeUrl } = sources
  if (url !== undefined) return statusOf(undefined, sources, ports)
  const store = await openStore(storeUrl, { mode: 'read', clock: ports.clock, folder: ports.cwd })
  try {
    return await statusOf(store, sources, ports)
  } finally {
    await store.close()
  }
}

/** The status of the gateways that serve the store. */
export async function showStatus(
  { store, clock, signal }: Pick<Context, 'store' | 'clock' | 'signal'>,
  sources: GatewaySources,
): Promise<StatusShown> {
  return statusToJson(await statusOf(store, sources, { clock, signal }))
}

async function statusOf(
  store: Store | undefined,
  sources: Omit<LiveStatsSources, 'storeUrl'>,
  ports: Pick<StatusPorts, 'clock' | 'signal'>,
): Promise<Status> {
  const liveStats = await LiveStatsMonitor.ofState(store, sources, ports).sample()
  const shown = store && (await storeStatus(store, ports.clock.nowMs()))
  return { liveStats, ...(shown && { store: shown }), problems: problemsOf(liveStats, shown) }
}

async function storeStatus(store: Store, untilMs: number): Promise<StoreStatus> {
  const live = await store.find({ kind: 'settings' })
  const [revision] = await store.revisions({ limit: 1 })
  const usage = await store.accounting.usage({ by: 'model', sinceMs: untilMs - HOUR_MS, untilMs })
  return {
    ...(revision && { revision }),
    resources: await store.countResources(),
    maintenance: maintenanceOf(live),
    lastHour: {
      requests: usage.reduce((sum, row) => sum + row.requests, 0),
      tokens: usage.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0),
      amountNano: usage.reduce((sum, row) => sum + row.amountNano, 0n),
    },
    currency: currencyOf(live.resources),
  }
}

function problemsOf(
  { gateways, endpoints, storeRevision }: LiveStats,
  store: StoreStatus | undefined,
): readonly string[] {
  const serving = gateways.filter(({ state }) => state !== 'silent')
  const problems = [
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
  // Workers have the same files, and gateways of a store the same server.
  return [...new Set(problems)]
}

export function statusToJson({ liveStats, store, problems }: Status): StatusShown {
  const { atMs, storeRevision, gateways, endpoints, unanswered, notes } = liveStats
  return {
    at: iso(atMs),
    store_revision: storeRevision ?? null,
    problems: [...problems],
    gateways: gateways.map(gatewayToJson),
    endpoints: endpoints.map(endpointToJson),
    unanswered,
    ...(store && storeToJson(store)),
    notes: [...notes],
  }
}

function storeToJson({ revision, resources, maintenance, lastHour, currency }: StoreStatus) {
  return {
    revision: revision
      ? {
          id: revision.id,
          at: iso(revision.createdAtMs),
          author: revision.author ?? null,
          git_commit: revision.gitCommit ?? null,
        }
      : null,
    resources: { ...resources },
    maintenance: maintenance.on,
    last_hour: {
      requests: lastHour.requests,
      tokens: lastHour.tokens,
      amount: formatNano(lastHour.amountNano),
      currency,
    },
  }
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
