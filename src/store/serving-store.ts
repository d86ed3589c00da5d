import type Database from 'better-sqlite3'
import type { Clock } from '../base/clock.ts'
import type { ServedState } from '../schema/state.ts'
import type { Connection } from './connection.ts'
import { storeFault } from './faults.ts'
import { deleteGateway, putGateway } from './gateways.ts'
import { SqliteServingNodes } from './nodes/serving-nodes.ts'
import type { ServingNodes } from './nodes/types.ts'
import { dropStates, statesToKeepFrom } from './revision-changes.ts'
import { readHead, readServed, readServedAt } from './served-state.ts'
import { readBare, type Session, writeBare } from './session.ts'
import type { EndpointNews, GatewayReport, Head, ServingStore, StateRetention } from './types.ts'

/** The store in a SQLite file as a serving gateway uses it, without Kysely. Opened by `openServingStore`. */
export class SqliteServingStore implements ServingStore {
  readonly #connection: Connection
  readonly #clock: Clock
  /** Per session; prepared once, because it runs many times a second. */
  readonly #dataVersions = new WeakMap<Session, Database.Statement<[], number>>()

  /** The session of the last `readState`: a different session means a different file. */
  #readFrom: Session | undefined
  /** `PRAGMA data_version` at the last comparison of the head: it changes exactly with commits of other connections. */
  #dataVersion: number | undefined
  /** The head of the last `readState`, updated after own commits. */
  #seen: Head | undefined
  #isBehind = true

  readonly servingNodes: ServingNodes

  constructor(connection: Connection, clock: Clock) {
    this.servingNodes = new SqliteServingNodes(connection, clock)
    this.#connection = connection
    this.#clock = clock
  }

  head(): Promise<Head> {
    return this.#connection.use(session => readBare(session, async () => readHead(session.raw)))
  }

  async readState(before?: ServedState): Promise<ServedState> {
    return this.#connection.use(session =>
      readBare(session, async () => {
        // Read before the rest: the next `changed` then notices a commit in between.
        const dataVersion = this.#readDataVersion(session)
        const state = await readServed(session.raw, this.#clock.nowMs(), before)
        this.#readFrom = session
        this.#dataVersion = dataVersion
        this.#seen = { revision: state.revision, keyVersion: state.keyVersion }
        this.#isBehind = false
        return state
      }),
    )
  }

  readStateAt(revision: number): Promise<ServedState> {
    return this.#connection.use(session =>
      readBare(session, () => readServedAt(session.raw, revision, this.#clock.nowMs())),
    )
  }

  changed(): boolean {
    try {
      const session = this.#connection.peek()
      if (session === undefined || session !== this.#readFrom) return true
      const dataVersion = this.#readDataVersion(session)
      if (dataVersion !== this.#dataVersion) {
        this.#dataVersion = dataVersion
        this.#isBehind = !isSameHead(this.#seen, readHead(session.raw))
      }
      return this.#isBehind
    } catch (error) {
      throw storeFault(error, this.#connection.path)
    }
  }

  /** Records an own commit, unless another connection committed in between: `changed` must still report that. */
  recordOwnCommit(from: Head, to: Head): void {
    if (isSameHead(this.#seen, from)) this.#seen = to
  }

  pruneStates(retention: StateRetention, maxRows: number): Promise<number> {
    return this.#connection.use(async session => {
      const { from, isWorkLeft } = await readBare(session, async () =>
        statesToKeepFrom(session.raw, retention),
      )
      if (!isWorkLeft) return 0
      let dropped = 0
      await writeBare(session, () => {
        dropped = dropStates(session.raw, from, maxRows)
      })
      return dropped
    })
  }

  reportGateway(report: GatewayReport, endpoints?: EndpointNews): Promise<void> {
    return this.#connection.use(session =>
      writeBare(session, () => putGateway(session.raw, report, endpoints, this.#clock.nowMs())),
    )
  }

  forgetGateway(id: string): Promise<void> {
    return this.#connection.use(session => writeBare(session, () => deleteGateway(session.raw, id)))
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #readDataVersion(session: Session): number | undefined {
    let statement = this.#dataVersions.get(session)
    if (!statement) {
      statement = session.raw.prepare<[], number>('pragma data_version').pluck()
      this.#dataVersions.set(session, statement)
    }
    return statement.get()
  }
}

function isSameHead(a: Head | undefined, b: Head): boolean {
  return a !== undefined && a.revision === b.revision && a.keyVersion === b.keyVersion
}
