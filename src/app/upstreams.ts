import type { Chance } from '../base/chance.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Deadlines } from '../relay/deadlines.ts'
import type { RelayPorts } from '../relay/exchange.ts'
import { Pools } from '../relay/pools.ts'
import type { Probe } from '../relay/probe.ts'
import { Healer } from '../routing/healer.ts'
import { HealthBook } from '../routing/health-book.ts'
import { RetryBudget } from '../routing/retry-budget.ts'
import type { RoutePorts } from '../routing/route.ts'
import { unserved } from '../routing/unserved.ts'
import type { Snapshot } from '../snapshot/types.ts'

export interface UpstreamsPorts {
  readonly clock: Clock
  readonly chance: Chance
  readonly log: Log
  readonly probe: Pick<Probe, 'heal'>
}

/** What a process knows of its upstreams and holds of them, from one snapshot to the next. */
export class Upstreams {
  readonly relay: RelayPorts
  readonly routing: RoutePorts
  readonly health: HealthBook
  readonly #healer: Healer

  constructor({ clock, chance, log, probe }: UpstreamsPorts) {
    this.health = new HealthBook(clock)
    this.#healer = new Healer({ health: this.health, probe, clock, chance, log })
    this.relay = { pools: new Pools(), deadlines: new Deadlines(clock), clock }
    this.routing = { health: this.health, budget: new RetryBudget(clock), chance, clock }
  }

  adopt(snapshot: Snapshot): void {
    this.relay.pools.retain(snapshot.endpoints.values())
    this.#healer.forget(this.health.adopt(snapshot))
  }

  /** The models that cannot be served at the moment, each as `code: sentence`. */
  reasons(snapshot: Snapshot | undefined): readonly string[] {
    return snapshot ? unserved(snapshot, this.health) : []
  }

  /** Ends every probe and every connection. */
  async close(): Promise<void> {
    this.#healer.stop()
    this.relay.deadlines.stop()
    await this.relay.pools.destroy()
  }
}
