import { hostname } from 'node:os'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { BEAT_MS, CHECK_MS } from '../services/gateways.ts'
import type { SnapshotHolder } from '../snapshot/holder.ts'
import type { EndpointNews, GatewayReport, ReportedEndpoint, Store } from '../store/types.ts'
import type { EndpointHealth } from '../upstream/routing/endpoint-state.ts'

export interface HeartbeatPorts {
  readonly store: Pick<Store, 'reportGateway' | 'forgetGateway'>
  readonly holder: Pick<SnapshotHolder, 'current' | 'report'>
  /** The health of every endpoint. */
  readonly health: () => readonly EndpointHealth[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Of the gateway in the store; by default a new one. */
  readonly id?: string | undefined
  readonly supervisorPid?: number | undefined
  /** The version of gw. */
  readonly version?: string | undefined
  readonly follows?: GatewayReport['follows']
}

const ID_BYTES = 6
/** The log has the full text. */
const LONGEST_REASON = 2_000

/**
 * Reports to the store that this gateway is alive and which revision it serves, for `gw apply --wait` and `gw status`.
 */
export class Heartbeat {
  readonly #ports: HeartbeatPorts
  readonly #id: string
  readonly #startedAtMs: number
  #timer: Timer | undefined
  #reported = ''
  /** The last report of each endpoint. */
  readonly #reportedEndpoints = new Map<string, string>()
  #reportedAtMs = Number.NEGATIVE_INFINITY
  #reporting: Promise<void> = Promise.resolve()
  #left = false
  /** The URL of the gateway; empty until {@link start}. */
  #url = ''
  #hasLoggedError = false

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports
    this.#id = ports.id ?? Buffer.from(ports.random.bytes(ID_BYTES)).toString('hex')
    this.#startedAtMs = ports.clock.nowMs()
  }

  /** The id of this gateway in the store. */
  get id(): string {
    return this.#id
  }

  /** Reports from now on, until {@link leave}. Does not wait for the store. */
  start(url: string): void {
    if (this.#left) return
    this.#url = url
    this.#reporting = this.#check()
    this.#timer = this.#ports.clock.after(CHECK_MS, () => {
      void this.#reporting.then(() => this.start(url))
    })
  }

  /** Called when another revision is served: `gw apply` waits for the report. Does nothing before {@link start}. */
  served(): void {
    if (this.#url === '' || this.#left) return
    this.#reporting = this.#reporting.then(() => this.#check())
  }

  /** Removes the report. Never rejects: if the store cannot be written, the missing beats have the same meaning. */
  async leave(): Promise<void> {
    this.#left = true
    this.#timer?.cancel()
    await this.#reporting
    if (this.#reported === '') return
    try {
      await this.#ports.store.forgetGateway(this.#id)
    } catch (error) {
      this.#logOnce(error)
    }
  }

  async #check(): Promise<void> {
    const { store, clock } = this.#ports
    const report = this.#report()
    const news = JSON.stringify(report)
    const endpoints = this.#endpointChanges()
    if (!endpoints && news === this.#reported && clock.monotonicMs() - this.#reportedAtMs < BEAT_MS) return
    try {
      await store.reportGateway(report, endpoints)
      this.#reported = news
      for (const seen of endpoints?.seen ?? [])
        this.#reportedEndpoints.set(seen.endpoint, JSON.stringify(seen))
      for (const name of endpoints?.forgotten ?? []) this.#reportedEndpoints.delete(name)
      this.#reportedAtMs = clock.monotonicMs()
      this.#hasLoggedError = false
    } catch (error) {
      this.#logOnce(error)
    }
  }

  #report(): GatewayReport {
    const { holder, version, follows, supervisorPid } = this.#ports
    const { revision, rejected } = holder.report()
    return {
      id: this.#id,
      pid: process.pid,
      host: hostname(),
      ...(version !== undefined && { version }),
      ...(supervisorPid !== undefined && { supervisorPid }),
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

  /** The endpoint changes since the last report; undefined if there are none. */
  #endpointChanges(): EndpointNews | undefined {
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

  /** Logs the first error of a series. */
  #logOnce(error: unknown): void {
    if (this.#hasLoggedError) return
    this.#hasLoggedError = true
    this.#ports.log.warn({ err: error }, 'cannot report the state of this gateway to the store')
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
