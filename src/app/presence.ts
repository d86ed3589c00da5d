import { hostname } from 'node:os'
import type { Chance } from '../base/chance.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { EndpointHealth } from '../routing/endpoint-state.ts'
import type { SnapshotHolder } from '../snapshot/holder.ts'
import type { EndpointNews, GatewayReport, ReportedEndpoint, Store, StoredGateway } from '../store/types.ts'

export interface PresencePorts {
  readonly store: Pick<Store, 'reportGateway' | 'forgetGateway'>
  readonly holder: Pick<SnapshotHolder, 'current' | 'report'>
  /** Of every endpoint. */
  readonly health: () => readonly EndpointHealth[]
  readonly clock: Clock
  readonly chance: Chance
  readonly log: Log
  /** Of gw. */
  readonly version?: string | undefined
  readonly follows?: GatewayReport['follows']
}

/** How soon others see what is new: a look costs nothing where nothing is. */
const LOOK_MS = 500
/** How often it is told where nothing is new, so that a gateway that was killed can be told from a calm one. */
const BEAT_MS = 5_000
/** Three beats that did not come. */
const GONE_AFTER_MS = 3 * BEAT_MS + LOOK_MS
const ID_BYTES = 6
/** The first problems say enough; the log has all. */
const LONGEST_REASON = 2_000

/** Tells everybody who reads the store that this gateway lives and what it serves: `gw apply --wait`, `gw status`. */
export class Presence {
  readonly #ports: PresencePorts
  readonly #id: string
  readonly #startedAtMs: number
  #timer: Timer | undefined
  #told = ''
  /** What was told of each endpoint. */
  readonly #toldEndpoints = new Map<string, string>()
  #toldAtMs = Number.NEGATIVE_INFINITY
  #telling: Promise<void> = Promise.resolve()
  #left = false
  /** Of the gateway; empty until {@link tell}. */
  #url = ''
  #complained = false

  constructor(ports: PresencePorts) {
    this.#ports = ports
    this.#id = Buffer.from(ports.chance.bytes(ID_BYTES)).toString('hex')
    this.#startedAtMs = ports.clock.nowMs()
  }

  /** From now on, until {@link leave}. Does not wait for the store. */
  tell(url: string): void {
    if (this.#left) return
    this.#url = url
    this.#telling = this.#look()
    this.#timer = this.#ports.clock.after(LOOK_MS, () => {
      void this.#telling.then(() => this.tell(url))
    })
  }

  /** Another revision is served: `gw apply` waits for the report. Nothing before {@link tell}. */
  served(): void {
    if (this.#url === '' || this.#left) return
    this.#telling = this.#telling.then(() => this.#look())
  }

  /** Takes it back. Never rejects: where the store cannot be written the silence tells the same. */
  async leave(): Promise<void> {
    this.#left = true
    this.#timer?.cancel()
    await this.#telling
    if (this.#told === '') return
    try {
      await this.#ports.store.forgetGateway(this.#id)
    } catch (error) {
      this.#complain(error)
    }
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#ports
    const report = this.#report()
    const news = JSON.stringify(report)
    const endpoints = this.#endpointNews()
    if (!endpoints && news === this.#told && clock.monotonicMs() - this.#toldAtMs < BEAT_MS) return
    try {
      await store.reportGateway(report, endpoints)
      this.#told = news
      for (const seen of endpoints?.seen ?? []) this.#toldEndpoints.set(seen.endpoint, JSON.stringify(seen))
      for (const name of endpoints?.forgotten ?? []) this.#toldEndpoints.delete(name)
      this.#toldAtMs = clock.monotonicMs()
      this.#complained = false
    } catch (error) {
      this.#complain(error)
    }
  }

  #report(): GatewayReport {
    const { holder, version, follows } = this.#ports
    const { revision, refused } = holder.report()
    return {
      id: this.#id,
      pid: process.pid,
      host: hostname(),
      ...(version !== undefined && { version }),
      url: this.#url,
      startedAtMs: this.#startedAtMs,
      revision,
      keyVersion: holder.current()?.keyVersion ?? 0,
      ...(refused && {
        refused: {
          revision: refused.revision,
          reason: refused.problems.join('; ').slice(0, LONGEST_REASON),
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
      each => this.#toldEndpoints.get(each.endpoint) !== JSON.stringify(each),
    )
    const forgotten = [...this.#toldEndpoints.keys()].filter(name => !known.has(name))
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
