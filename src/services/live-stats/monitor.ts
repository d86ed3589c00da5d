import { pause } from '../../base/clock.ts'
import type { TrafficCounters } from '../../metering/metrics/counters.ts'
import { decode } from '../../schema/kinds.ts'
import { QUARTER_MS } from '../../store/ledger/usage-sums.ts'
import { openStore } from '../../store/open.ts'
import type { Store, StoredGateway, StoredResource } from '../../store/types.ts'
import type { AppPorts } from '../context.ts'
import { isAlive } from '../gateways.ts'
import {
  type AskOwnGateway,
  answerOfOwn,
  askGateway,
  type GatewayAnswer,
  type OwnGateway,
  reachable,
} from './ask-gateway.ts'
import { type GatewayCounters, growth } from './counters.ts'
import { KeySampler, type KeysSample, nearLimits, type SampleTime } from './near-limits.ts'
import {
  rejectionsOf,
  type StoreTraffic,
  type Traffic,
  trafficOfCounters,
  trafficOfStore,
} from './traffic.ts'
import type { EndpointLiveStats, Flow, GatewayLiveStats, LiveStats } from './types.ts'

/** The sources to read. */
export interface LiveStatsSources extends GatewaySources {
  /** The address of a gateway; absent: the gateways that serve the store of this machine. */
  readonly url?: string
  readonly storeUrl: string
}

/** How gateways are asked. */
export interface GatewaySources {
  /** The token for `/metrics`; never shown. */
  readonly metricsToken?: string
  /** Asks the gateway of this process, if there is one; others are asked over HTTP. */
  readonly askOwn?: AskOwnGateway
}

type LiveStatsPorts = Pick<AppPorts, 'clock' | 'cwd' | 'signal'>

const OWN_TIMEOUT_MS = 2_000
/** The first rates come early, not after a full interval. */
const FIRST_MS = 500

export interface SampleSchedule {
  readonly intervalMs: number
  /** The number of samples with rates; absent: unlimited. */
  readonly count?: number
}

/** The number of calls for the latency from the store. */
const LAST_CALLS = 500
const LAST_CALLS_MS = 10_000

interface AskedGateway {
  readonly name: string
  readonly url: string | undefined
  readonly stored?: StoredGateway
}

const TOKEN = 'METRICS_TOKEN, the same for `gw serve` and here, also shows'
const UNSEEN: SeenEndpoint = { state: 'unknown' }

const NO_KEYS: KeysSample = { keys: [], sums: new Map(), usage: [], earlier: { usage: [], agoMs: 0 } }

/** The result of one sample. */
interface StatsSample {
  readonly atMs: number
  readonly monotonicMs: number
  readonly gateways: readonly (AskedGateway & { readonly answer: GatewayAnswer })[]
  readonly store?: StoreSample
}

interface StoreSample {
  readonly revision: number
  readonly endpoints: readonly StoredResource[]
  readonly keys: KeysSample
  /** Absent where the counters of the gateways have it. */
  readonly traffic?: StoreTraffic
}

/**
 * Samples running gateways repeatedly, and reports the difference of two samples: from the counters of the gateways if
 * all of them tell these, else from the store of this machine. A gateway tells its own process, and others with a token.
 */
export class LiveStatsMonitor {
  readonly #sources: Omit<LiveStatsSources, 'storeUrl'>
  readonly #ports: Pick<LiveStatsPorts, 'clock' | 'signal'>
  /** Reads what rates are computed from. */
  readonly #hasRates: boolean
  /** Absent if an address is given. */
  readonly #store: Store | undefined
  readonly #keys: KeySampler | undefined
  /** Store sums are compared from this time on, so that they only grow. */
  readonly #sinceMs: number
  #before: StatsSample | undefined

  private constructor(
    sources: Omit<LiveStatsSources, 'storeUrl'>,
    ports: Pick<LiveStatsPorts, 'clock' | 'signal'>,
    store: Store | undefined,
    hasRates = true,
  ) {
    this.#hasRates = hasRates
    this.#sources = sources
    this.#ports = ports
    this.#store = store
    this.#sinceMs = Math.floor(ports.clock.nowMs() / QUARTER_MS) * QUARTER_MS
    this.#keys = store && new KeySampler(store, this.#sinceMs)
  }

  /** @throws {CommandError} store_… for the store, which is not opened if an address is given. */
  static async open(sources: LiveStatsSources, ports: LiveStatsPorts): Promise<LiveStatsMonitor> {
    const { url, storeUrl } = sources
    const store =
      url === undefined
        ? await openStore(storeUrl, { mode: 'read', clock: ports.clock, folder: ports.cwd })
        : undefined
    return new LiveStatsMonitor(sources, ports, store)
  }

  /** Samples a store that stays open. */
  static of(
    store: Store,
    sources: Omit<LiveStatsSources, 'storeUrl'>,
    ports: Pick<LiveStatsPorts, 'clock' | 'signal'>,
  ): Pick<LiveStatsMonitor, 'sample'> {
    return new LiveStatsMonitor(sources, ports, store)
  }

  /** Samples the state alone, without rates and limits. The store stays open. */
  static ofState(
    store: Store | undefined,
    sources: Omit<LiveStatsSources, 'storeUrl'>,
    ports: Pick<LiveStatsPorts, 'clock' | 'signal'>,
  ): Pick<LiveStatsMonitor, 'sample'> {
    return new LiveStatsMonitor(sources, ports, store, false)
  }

  /** @throws the signal's reason; {CommandError} store_… if the store fails. */
  async sample(): Promise<LiveStats> {
    const before = this.#before
    const after = await this.#sampleAll()
    this.#before = after
    return liveStatsOf(before, after, this.#sources)
  }

  async close(): Promise<void> {
    await this.#store?.close()
  }

  async #sampleAll(): Promise<StatsSample> {
    const { clock, signal } = this.#ports
    const [atMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()]
    const gateways = await this.#gateways()
    const { metricsToken: token } = this.#sources
    const own = await this.#own()
    const answered = await Promise.all(
      gateways.map(async (gateway): Promise<StatsSample['gateways'][number]> => {
        const { url, stored } = gateway
        if (own && stored?.id === own.id) return { ...gateway, answer: answerOfOwn(own) }
        return { ...gateway, answer: url === undefined ? {} : await askGateway(url, { token, signal }) }
      }),
    )
    const isMeasured = areMeasured(answered)
    const store =
      this.#store && (await this.#sampleStore(this.#store, { nowMs: atMs, monotonicMs }, isMeasured))
    return { atMs, monotonicMs, gateways: answered, ...(store && { store }) }
  }

  /** The answer of the gateway of this process; undefined if its thread is blocked. */
  async #own(): Promise<OwnGateway | undefined> {
    const { askOwn } = this.#sources
    if (!askOwn) return undefined
    const answered = new AbortController()
    const late = pause(this.#ports.clock, OWN_TIMEOUT_MS, answered.signal).then(() => undefined)
    return Promise.race([askOwn(), late]).finally(() => answered.abort())
  }

  async #gateways(): Promise<readonly AskedGateway[]> {
    const { url } = this.#sources
    if (url !== undefined || this.#store === undefined) return [{ name: url ?? '', url }]
    const stored = await this.#store.gateways()
    return stored.map(gateway => ({
      name: `${gateway.host}:${gateway.pid}`,
      url: gateway.url === undefined ? undefined : reachable(gateway.url),
      stored: gateway,
    }))
  }

  async #sampleStore(store: Store, time: SampleTime, isMeasured: boolean): Promise<StoreSample> {
    const { nowMs } = time
    const span = { sinceMs: this.#sinceMs, untilMs: nowMs }
    const { revision } = await store.head()
    const { resources: endpoints } = await store.find({ kind: 'endpoint' })
    if (!this.#hasRates || !this.#keys) return { revision, endpoints, keys: NO_KEYS }
    const keys = await this.#keys.sample(revision, time)
    if (isMeasured) return { revision, endpoints, keys }
    const byEndpoint = await store.accounting.usage({ by: 'endpoint', ...span })
    const byModel = await store.accounting.usage({ by: 'model', ...span })
    const calls = await store.accounting.callLogs({ sinceMs: nowMs - LAST_CALLS_MS, limit: LAST_CALLS })
    return { revision, endpoints, keys, traffic: { byEndpoint, byModel, calls } }
  }
}

/**
 * Yields samples until the signal aborts. The first has no rates, and the second follows soon.
 *
 * @throws {CommandError} store_… for the store.
 */
export async function* watchLiveStats(
  sources: LiveStatsSources,
  { intervalMs, count = Number.POSITIVE_INFINITY }: SampleSchedule,
  ports: LiveStatsPorts,
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

function liveStatsOf(
  before: StatsSample | undefined,
  after: StatsSample,
  sources: Pick<LiveStatsSources, 'metricsToken'>,
): LiveStats {
  const seconds = before ? Math.max(0.001, (after.monotonicMs - before.monotonicMs) / 1_000) : 0
  const all = after.gateways.flatMap(({ answer }) => answer.counters ?? [])
  const isMeasured = areMeasured(after.gateways)
  const traffic = before && trafficBetween(before, after, seconds, isMeasured)
  const grown = before ? grownSince(before, after) : []
  const rejections = all.length > 0 ? rejectionsOf(grown, all, seconds) : undefined
  const gateways = after.gateways.map(gateway => gatewayLiveStats(gateway, after))
  const endpoints = endpointLiveStats(traffic?.endpoints ?? new Map(), seenBy(after), after.store?.endpoints)
  return {
    atMs: after.atMs,
    seconds,
    ...(after.store && { storeRevision: after.store.revision }),
    gateways,
    endpoints,
    unanswered: unansweredIn(endpoints, after),
    models: [...(traffic?.models.values() ?? [])],
    ...(rejections && { rejections }),
    keys: after.store ? nearLimits(before?.store?.keys, after.store.keys, seconds) : [],
    total: {
      requestsPerSecond: traffic?.requestsPerSecond ?? 0,
      tokensPerSecond: traffic?.tokensPerSecond ?? 0,
      inFlight: gateways.reduce((sum, { inFlight }) => sum + inFlight, 0),
      ...(rejections && { rejectedPerSecond: rejections.reduce((sum, { perSecond }) => sum + perSecond, 0) }),
    },
    notes: notesOn(after, sources, isMeasured),
  }
}

function trafficBetween(
  before: StatsSample,
  after: StatsSample,
  seconds: number,
  isMeasured: boolean,
): Traffic | undefined {
  if (isMeasured) return trafficOfCounters(grownSince(before, after), seconds)
  if (!before.store?.traffic || !after.store?.traffic) return undefined
  return trafficOfStore(before.store.traffic, after.store.traffic, seconds)
}

/** Compared per gateway: each has its own counters, and a gateway without an earlier sample has no growth. */
function grownSince(before: StatsSample, after: StatsSample): readonly TrafficCounters[] {
  const earlier = new Map(
    before.gateways.map(({ name, answer }): [string, GatewayCounters | undefined] => [name, answer.counters]),
  )
  return after.gateways.flatMap(({ name, answer }) => {
    const known = earlier.get(name)
    return known && answer.counters ? growth(known, answer.counters) : []
  })
}

/** Whether each gateway that answers has given its counters: without those of one, sums would be too small. */
function areMeasured(gateways: StatsSample['gateways']): boolean {
  const answering = gateways.filter(({ answer }) => answer.health !== undefined)
  return answering.length > 0 && answering.every(({ answer }) => answer.counters !== undefined)
}

function gatewayLiveStats(
  { name, url, stored, answer }: StatsSample['gateways'][number],
  { atMs, store }: StatsSample,
): GatewayLiveStats {
  const { health } = answer
  const revision = health?.revision ?? stored?.revision ?? 0
  const isSilent = health === undefined || (stored !== undefined && !isAlive(stored, atMs))
  const rejected = stored?.rejected && [
    `rejects revision ${stored.rejected.revision}: ${stored.rejected.reason}`,
  ]
  return {
    name,
    ...(url !== undefined && { url }),
    revision,
    isBehind: store !== undefined && revision < store.revision,
    state: isSilent ? 'silent' : health.status,
    reasons: health?.reasons ?? rejected ?? [],
    inFlight: health?.in_flight ?? 0,
    ...(stored?.version !== undefined && { version: stored.version }),
    ...(stored && { startedAtMs: stored.startedAtMs }),
  }
}

type SeenEndpoint = Pick<EndpointLiveStats, 'state' | 'sinceMs' | 'reason'>

/** The endpoint states that gateways report. If they disagree, unhealthy wins. */
function seenBy({ gateways, atMs }: StatsSample): ReadonlyMap<string, SeenEndpoint> {
  const health = new Map<string, SeenEndpoint>()
  for (const { stored, answer } of gateways) {
    const own = new Map<string, SeenEndpoint>()
    if (stored && isAlive(stored, atMs))
      for (const { endpoint, ...seen } of stored.endpoints) own.set(endpoint, seen)
    // Newer than the store, but without the reasons.
    for (const [endpoint, isHealthy] of answer.counters?.endpoints ?? []) {
      const state = isHealthy ? 'healthy' : 'unhealthy'
      if (own.get(endpoint)?.state !== state) own.set(endpoint, { state })
    }
    for (const [endpoint, seen] of own)
      if (health.get(endpoint)?.state !== 'unhealthy') health.set(endpoint, seen)
  }
  return health
}

/** The configured endpoints, and those known only from traffic. */
function endpointLiveStats(
  flows: ReadonlyMap<string, Flow>,
  health: ReadonlyMap<string, SeenEndpoint>,
  declared: readonly StoredResource[] = [],
): readonly EndpointLiveStats[] {
  const disabled = new Set(
    declared.filter(({ spec }) => !decode('endpoint', spec).enabled).map(({ name }) => name),
  )
  const names = new Set([...declared.map(({ name }) => name), ...health.keys(), ...flows.keys()])
  return [...names].map(name => {
    const flow = flows.get(name) ?? { name, requestsPerSecond: 0, tokensPerSecond: 0, failed: 0, results: [] }
    return { ...flow, ...(disabled.has(name) ? { state: 'disabled' } : (health.get(name) ?? UNSEEN)) }
  })
}

/** Enabled endpoints without an answer or failure so far; 0 if no gateway serves. */
function unansweredIn(endpoints: readonly EndpointLiveStats[], { gateways, store }: StatsSample): number {
  const serving = gateways.filter(({ answer }) => answer.health !== undefined)
  if (serving.length === 0) return 0
  if (store) return endpoints.filter(({ state }) => state === 'unknown').length
  return Math.min(...serving.map(({ answer }) => answer.health?.endpoints?.unknown ?? 0))
}

function notesOn(
  { gateways, store }: StatsSample,
  sources: Pick<LiveStatsSources, 'metricsToken'>,
  isMeasured: boolean,
): readonly string[] {
  if (gateways.length === 0) return ['No gateway serves this store: start one with `gw serve`.']
  const rejections = gateways.flatMap(({ name, answer }) =>
    answer.rejected ? [`${name}: ${answer.rejected}.`] : [],
  )
  if (isMeasured || rejections.length > 0) return rejections
  if (store) return [`${TOKEN} rejections and the latency of every request.`]
  return sources.metricsToken === undefined ? [`${TOKEN} endpoints, their health, and rejections.`] : []
}
