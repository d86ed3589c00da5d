import type { Clock } from '../base/clock.ts'
import type { ServedState } from '../schema/state.ts'
import type { Engine } from './engine.ts'
import { deleteGateway, putGateway } from './gateways.ts'
import { DatabaseServingNodes } from './nodes/serving-nodes.ts'
import type { ServingNodes } from './nodes/types.ts'
import { dropStates, statesToKeepFrom } from './revision-changes.ts'
import { readHead, readServed, readServedAt } from './served-state.ts'
import type { EndpointNews, GatewayReport, Head, ServingStore, StateRetention } from './types.ts'

/** The store as a serving gateway uses it, without Kysely. Opened by `openServingStore`. */
export class DatabaseServingStore implements ServingStore {
  readonly servingNodes: ServingNodes
  readonly #engine: Engine
  readonly #clock: Clock

  constructor(engine: Engine, clock: Clock) {
    this.servingNodes = new DatabaseServingNodes({
      readBare: work => engine.readBare(work),
      writeBare: work => engine.writeBare(work),
      clockOffMs: () => engine.clockOffMs(),
      clock,
    })
    this.#engine = engine
    this.#clock = clock
  }

  head(): Promise<Head> {
    return this.#engine.readBare(readHead)
  }

  readState(before?: ServedState): Promise<ServedState> {
    return this.#engine.changes.readState(raw => readServed(raw, this.#clock.nowMs(), before))
  }

  readStateAt(revision: number): Promise<ServedState> {
    return this.#engine.readBare(raw => readServedAt(raw, revision, this.#clock.nowMs()))
  }

  changed(): boolean {
    return this.#engine.changes.changed()
  }

  async pruneStates(retention: StateRetention, maxRows: number): Promise<number> {
    const { from, isWorkLeft } = await this.#engine.readBare(raw => statesToKeepFrom(raw, retention))
    if (!isWorkLeft) return 0
    return this.#engine.writeBare(async raw => {
      const dropped = await dropStates(raw, from, maxRows)
      this.#engine.releaseSpace(raw)
      return dropped
    })
  }

  clockOffMs(): Promise<number> {
    return this.#engine.clockOffMs()
  }

  async reportGateway(report: GatewayReport, endpoints?: EndpointNews): Promise<void> {
    const offMs = await this.#engine.clockOffMs()
    await this.#engine.writeBare(raw =>
      putGateway(raw, report, endpoints, { nowMs: this.#clock.nowMs(), offMs }),
    )
  }

  forgetGateway(id: string): Promise<void> {
    return this.#engine.writeBare(raw => deleteGateway(raw, id))
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}
