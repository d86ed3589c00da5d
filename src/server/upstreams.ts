import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Snapshot } from '../snapshot/types.ts'
import { Deadlines } from '../upstream/deadlines.ts'
import type { ExchangePorts } from '../upstream/exchange.ts'
import { NO_NODES, type NodeDirectory, NodeTargets } from '../upstream/nodes.ts'
import { Pools } from '../upstream/pools.ts'
import type { Probe } from '../upstream/probe.ts'
import { HealthChecker } from '../upstream/routing/health-checker.ts'
import { HealthRegistry, unserved } from '../upstream/routing/health-registry.ts'
import { RetryBudget, type RoutePorts } from '../upstream/routing/route.ts'

export interface UpstreamsPorts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly probe: Pick<Probe, 'check'>
  /** Absent: no nodes. */
  readonly nodes?: NodeDirectory
}

/** The state and connections of a process for its upstreams, kept across snapshots. */
export class Upstreams {
  readonly exchangePorts: ExchangePorts
  readonly routing: RoutePorts
  readonly health: HealthRegistry
  readonly #healthChecker: HealthChecker

  constructor({ clock, random, log, probe, nodes = NO_NODES }: UpstreamsPorts) {
    this.health = new HealthRegistry(clock)
    this.#healthChecker = new HealthChecker({ health: this.health, probe, clock, random, log })
    this.exchangePorts = { pools: new Pools(clock, nodes), deadlines: new Deadlines(clock), clock }
    this.routing = {
      health: this.health,
      budget: new RetryBudget(clock),
      random,
      clock,
      nodes: new NodeTargets(nodes),
    }
  }

  adopt(snapshot: Snapshot): void {
    this.exchangePorts.pools.retain(snapshot.endpoints.values())
    this.#healthChecker.forget(this.health.adopt(snapshot))
  }

  /** A node is gone. */
  forgetNode(node: string): void {
    this.#healthChecker.forget(this.health.forgetNode(node))
    this.exchangePorts.pools.retireNode(node)
  }

  /** The models without a usable endpoint, each as `code: sentence`. */
  reasons(snapshot: Snapshot | undefined): readonly string[] {
    return snapshot ? unserved(snapshot, this.health, this.routing.nodes) : []
  }

  /** Ends every probe and closes every connection. */
  close(): void {
    this.#healthChecker.stop()
    this.exchangePorts.deadlines.stop()
    this.exchangePorts.pools.destroy()
  }
}
