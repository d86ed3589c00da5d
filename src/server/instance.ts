import { CommandError } from '../base/catalogue/command.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Limiter } from '../limits/limiter.ts'
import { ShareExchange } from '../limits/shares/share-exchange.ts'
import { ShareHolder } from '../limits/shares/share-holder.ts'
import type { Ledger } from '../store/ledger/types.ts'
import type { Joined, Instance as StoredInstance } from '../store/shares/instance-queries.ts'

/** How often a gateway looks for limits that others need, once it shares them. */
const LOOK_EVERY_MS = 100
/** Used units are reported at the latest after so many looks. */
const REPORT_EVERY_LOOKS = 10
const DECLARED_WITHIN_MS = 15_000
const RETURNED_WITHIN_MS = 1_000
/** How long a call waits for shares: a file may be locked by other gateways in turn, a server that is away is not waited for. */
const ANSWER_OF_FILE_MS = 5_000
const ANSWER_OF_SERVER_MS = 2_000

export interface InstancePorts {
  readonly ledger: Pick<Ledger, 'ask' | 'behind'>
  readonly limiter: Pick<Limiter, 'share'>
  readonly clock: Clock
  readonly log: Log
  /** Settles what gateways that have died left. */
  readonly recoverOthers: (instances: readonly StoredInstance[]) => Promise<void>
}

/**
 * This gateway among those of its store.
 *
 *     join ──▶ whole: all limits are its own ──▶ another one joins ──▶ declare ──▶ sharing ──▶ leave
 *       └──▶ others are there: the whole one declares first ──────────────────────▶┘
 */
export class Instance {
  readonly #ports: InstancePorts
  readonly #id: string
  readonly #leaseMs: number | undefined
  /** Monotonic clock, before it joined. */
  readonly #joinedTickMs: number
  #exchange: ShareExchange | undefined
  #timer: Timer | undefined
  #looking: Promise<void> = Promise.resolve()
  #looks = 0
  #isClosed = false

  private constructor({ instance, leaseMs }: Joined, joinedTickMs: number, ports: InstancePorts) {
    this.#id = instance
    this.#leaseMs = leaseMs
    this.#joinedTickMs = joinedTickMs
    this.#ports = ports
  }

  /**
   * Registers this gateway, and waits until no other one has the limits for itself.
   *
   * @param isShared Others will join soon: limits are shared from the start.
   * @throws {CommandError} store_in_use if another gateway does not share its limits.
   */
  static async join(isShared: boolean, ports: InstancePorts): Promise<Instance> {
    const { instances } = await ports.ledger.ask({ query: 'instances' })
    await ports.recoverOthers(instances)
    const tickMs = ports.clock.monotonicMs()
    const joined = await ports.ledger.ask({ query: 'join', isShared })
    const instance = new Instance(joined, tickMs, ports)
    if (joined.isWhole) return instance
    await instance.#othersHaveDeclared()
    instance.#beginSharing()
    return instance
  }

  /** The id of this gateway in the store. */
  get id(): string {
    return this.#id
  }

  get isSharing(): boolean {
    return this.#exchange !== undefined
  }

  /** Must be called every second: another gateway may have joined, or died. */
  async check(): Promise<void> {
    const { instances } = await this.#ports.ledger.ask({ query: 'instances' })
    if (this.#isClosed) return
    if (instances.length > 1 && !this.#exchange) this.#beginSharing()
    await this.#ports.recoverOthers(instances)
  }

  /** Returns all shares. Must be called when all calls have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    if (!this.#exchange || this.#ports.ledger.behind) return
    const returned = this.#returnAll(this.#exchange)
    let timer: Timer | undefined
    const timeout = new Promise<void>(resolve => {
      timer = this.#ports.clock.after(RETURNED_WITHIN_MS, resolve)
    })
    await Promise.race([returned, timeout])
    timer?.cancel()
  }

  async #returnAll(exchange: ShareExchange): Promise<void> {
    try {
      await this.#looking
      await exchange.returnAll()
    } catch (error) {
      // What was not returned is free when this gateway has left; of a rate it counts as used.
      this.#ports.log.warn({ err: error }, 'the shares of limits were not returned')
    }
  }

  async #othersHaveDeclared(): Promise<void> {
    const { ledger, clock, recoverOthers } = this.#ports
    const untilMs = clock.monotonicMs() + DECLARED_WITHIN_MS
    for (;;) {
      const { instances } = await ledger.ask({ query: 'instances' })
      await recoverOthers(instances)
      const whole = instances.find(({ id, isWhole }) => isWhole && id !== this.#id)
      if (!whole) return
      if (clock.monotonicMs() >= untilMs) {
        throw new CommandError(
          'store_in_use',
          `Another gateway serves this store, and has not shared its limits for ${DECLARED_WITHIN_MS / 1_000} s.`,
        )
      }
      await new Promise<void>(resolve => clock.after(LOOK_EVERY_MS, resolve))
    }
  }

  /** In one turn: what this gateway uses until now becomes its share, and later calls are admitted from shares. */
  #beginSharing(): void {
    const { ledger, limiter, clock, log } = this.#ports
    const exchange = new ShareExchange({
      holder: new ShareHolder({ instance: this.#id, leaseMs: this.#leaseMs }, this.#joinedTickMs),
      clock,
      answerWithinMs: this.#leaseMs === undefined ? ANSWER_OF_FILE_MS : ANSWER_OF_SERVER_MS,
      isReachable: () => !ledger.behind,
      send: message => ledger.ask({ query: 'share', message }),
    })
    // The ledger answers in the order of the questions: this one before the first about shares.
    ledger
      .ask({ query: 'declare', shares: limiter.share(exchange) })
      .catch((error: unknown) => log.error({ err: error }, 'the use of limits was not declared'))
    this.#exchange = exchange
    log.info({ instance: this.#id }, 'limits are shared with other gateways of this store')
    this.#lookLater()
  }

  #lookLater(): void {
    if (this.#isClosed) return
    this.#timer = this.#ports.clock.after(LOOK_EVERY_MS, () => {
      this.#looking = this.#look().finally(() => this.#lookLater())
    })
  }

  async #look(): Promise<void> {
    const { ledger, log } = this.#ports
    const exchange = this.#exchange
    if (!exchange || ledger.behind) return
    try {
      const { recalled } = await ledger.ask({ query: 'instances' })
      exchange.holder.recall(recalled)
      const isReport = ++this.#looks % REPORT_EVERY_LOOKS === 0 && exchange.holder.isDue
      if (recalled.length > 0 || isReport) await exchange.exchange()
    } catch (error) {
      if (!this.#isClosed) log.error({ err: error }, 'the shares of limits were not exchanged')
    }
  }
}
