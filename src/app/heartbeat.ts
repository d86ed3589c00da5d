import { hostname } from 'node:os'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { EndpointHealth } from '../routing/endpoint-state.ts'
import type { SnapshotHolder } from '../snapshot/holder.ts'
import type { EndpointNews, GatewayReport, ReportedEndpoint, Store, StoredGateway } from '../store/types.ts'

export interface HeartbeatPorts {
  readonly store: Pick<Store, 'reportGateway' | 'forgetGateway'>
  readonly holder: Pick<SnapshotHolder, 'current' | 'report'>
  /** Of every endpoint. */
  readonly health: () => readonly EndpointHealth[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Of gw. */
  readonly version?: string | undefined
  readonly follows?: GatewayReport['follows']
}

/** How soon others see what is new: a look costs nothing where nothing is. */
const CHECK_MS = 500
/** How often it is told where nothing is new, so that a gateway that was killed can be told from a calm one. */
const BEAT_MS = 5_000
/** Three beats that did not come. */
const GONE_AFTER_MS = 3 * BEAT_MS + CHECK_MS
const ID_BYTES = 6
/** The first problems say enough; the log has all. */
const LONGEST_REASON = 2_000

/** Tells everybody who reads the store that this gateway lives and what it serves: `gw apply --wait`, `gw status`. */
export class Heartbeat {
  readonly #ports: HeartbeatPorts
  readonly #id: string
  readonly #startedAtMs: number
  #timer: Timer | undefined
  #reported = ''
  /** What was told of each endpoint. */
  readonly #reportedEndpoints = new Map<string, string>()
  #reportedAtMs = Number.NEGATIVE_INFINITY
  #reporting: Promise<void> = Promise.resolve()
  #left = false
  /** Of the gateway; empty until {@link start}. */
  #url = ''
  #complained = false

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports
    this.#id = Buffer.from(ports.random.bytes(ID_BYTES)).toString('hex')
    this.#startedAtMs = ports.clock.nowMs()
  }

  /** From now on, until {@link leave}. Does not wait for the store. */
  start(url: string): void {
    if (this.#left) return
    this.#url = url
    this.#reporting = this.#check()
    this.#timer = this.#ports.clock.after(CHECK_MS, () => {
      void this.#reporting.then(() => this.start(url))
    })
  }

  /** Another revision is served: `gw apply` waits for the report. Nothing before {@link start}. */
  served(): void {
    if (this.#url === '' || this.#left) return
    this.#reporting = this.#reporting.then(() => this.#check())
  }

  /** Takes it back. Never rejects: where the store cannot be written the silence tells the same. */
  async leave(): Promise<void> {
    this.#left = true
    this.#timer?.cancel()
    await this.#reporting
    if (this.#reported === '') return
    try {
      await this.#ports.store.forgetGateway(this.#id)
    } catch (error) {
      this.#complain(error)
    }
  }

  async #check(): Promise<void> {
    const { store, clock } = this.#ports
    const report = this.#report()
    const news = JSON.stringify(report)
    const endpoints = this.#endpointNews()
    if (!endpoints && news === this.#reported && clock.monotonicMs() - this.#reportedAtMs < BEAT_MS) return
    try {
      await store.reportGateway(report, endpoints)
      this.#reported = news
      for (const seen of endpoints?.seen ?? [])
        this.#reportedEndpoints.set(seen.endpoint, JSON.stringify(seen))
      for (const name of endpoints?.forgotten ?? []) this.#reportedEndpoints.delete(name)
      this.#reportedAtMs = clock.monotonicMs()
      this.#complained = false
    } catch (error) {
      this.#complain(error)
    }
  }

  #report(): GatewayReport {
    const { holder, version, follows } = this.#ports
    const { revision, rejected } = holder.report()
    return {
      id: this.#id,
      pid: process.pid,
      host: hostname(),
      ...(version !== undefined && { version }),
      url: this.#url,
      startedAtMs: this.#startedAtMs,
      revision,
      keyVersion: holder.current()?.keyVersion ?? 0,
      ...(rejected && {
        rejected: {
          revision: rejected.revision,
          reason: rejected.problems.join('; ').slice(0, LONGEST_REASON),
        },
      }),
      ...(follows && { follows }),
    }
  }

  /** What has changed of the endpoints since they were last told of; undefined where nothing has. */
  #endpointNews(): EndpointNews | undefined {
    const known = new Map(
      this.#ports
        .health()
        .flatMap(health => reported(health) ?? [])
        .map(seen => [seen.endpoint, seen]),
    )
    const seen = [...known.values()].filter(
      each => this.#reportedEndpoints.get(each.endpoint) !== JSON.stringify(each),
    )
    const forgotten = [...this.#reportedEndpoints.keys()].filter(name => !known.has(name))
    return seen.length + forgotten.length > 0 ? { seen, forgotten } : undefined
  }

  /** Once for each trouble. */
  #complain(error: unknown): void {
    if (this.#complained) return
    this.#complained = true
    this.#ports.log.warn({ err: error }, 'what this gateway serves cannot be told to others')
  }
}

function reported({ endpoint, state, sinceMs, reason }: EndpointHealth): ReportedEndpoint | undefined {
  if (state === 'unknown') return undefined
  return {
    endpoint,
    state,
    sinceMs,
    ...(reason !== undefined && { reason: reason.slice(0, LONGEST_REASON) }),
  }
}

/** Whether a gateway was heard of lately; one that was not has been killed, or hangs. */
export function isAlive({ seenAtMs }: Pick<StoredGateway, 'seenAtMs'>, nowMs: number): boolean {
  return nowMs - seenAtMs <= GONE_AFTER_MS
}
