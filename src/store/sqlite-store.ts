import type { Kysely } from 'kysely'
import { CommandError } from '../base/catalogue/command.ts'
import type { Clock } from '../base/clock.ts'
import type { KeptSecret } from '../schema/kept-secret.ts'
import type { MaintenanceSwitch, ServedResource, ServedState } from '../schema/state.ts'
import type { Connection } from './connection.ts'
import { storeFault } from './faults.ts'
import { findResources } from './find.ts'
import { deleteGateway, putGateway, selectGateways } from './gateways.ts'
import { selectKept, settleKept } from './kept-secrets.ts'
import {
  deleteHold,
  endSecrets,
  insertFirstSecret,
  insertHold,
  replaceSecrets,
  selectActiveSecrets,
  selectHolds,
  selectSecrets,
  settleKeys,
} from './key-secrets.ts'
import { type AccountingPorts, SqliteAccounting } from './ledger/accounting.ts'
import { NamedAccounting } from './ledger/named-accounting.ts'
import type { Accounting } from './ledger/types.ts'
import { deleteMaintenance, putMaintenance, selectMaintenance } from './maintenance.ts'
import { SqlitePeople } from './people/sqlite-people.ts'
import { Accounts, selectAccountNames, underNewNames, writeAccountNames, writeRenames } from './renames.ts'
import { afterCommit, selectResources, selectResourcesInPages, writeResources } from './resources.ts'
import {
  insertRevision,
  selectHead,
  selectRevision,
  selectRevisionResources,
  selectRevisions,
} from './revisions.ts'
import { immediately, type Session } from './session.ts'
import type { Tables } from './tables.ts'
import type {
  Commit,
  CommitGuard,
  GatewayReport,
  Head,
  Live,
  ResourceQuery,
  Revision,
  Store,
  StoredGateway,
  StoredResource,
  StoredSecret,
} from './types.ts'

type Db = Kysely<Tables>

/** The store in a SQLite file. Opened by `openStore`. */
export class SqliteStore implements Store {
  readonly accounting: Accounting
  readonly people: SqlitePeople
  readonly #connection: Connection
  readonly #clock: Clock

  /** The session of the last `readState`: another one means another file. */
  #readFrom: Session | undefined
  /** `PRAGMA data_version` when the head was last compared: it moves with every foreign commit, and only then. */
  #dataVersion: unknown
  /** What the last `readState` gave, moved along with own commits. */
  #seen: Head | undefined
  #isBehind = true

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection
    this.#clock = clock
    const ports: AccountingPorts = {
      read: work => this.#read(work),
      write: work => this.#beside(work),
      clock,
    }
    this.accounting = new NamedAccounting(new SqliteAccounting(ports), () =>
      this.#read(async db => new Accounts(await selectAccountNames(db))),
    )
    this.people = new SqlitePeople(ports)
  }

  head(): Promise<Head> {
    return this.#read(selectHead)
  }

  live(): Promise<Live> {
    return this.#read(async db => ({
      head: await selectHead(db),
      atMs: this.#clock.nowMs(),
      resources: await selectResources(db),
      secrets: await selectSecrets(db),
      holds: await selectHolds(db),
      kept: await selectKept(db),
      ...present(await selectMaintenance(db)),
    }))
  }

  find(query: ResourceQuery): Promise<Live> {
    return this.#read(async db => ({
      head: await selectHead(db),
      atMs: this.#clock.nowMs(),
      ...(await findResources(db, query)),
      ...present(await selectMaintenance(db)),
    }))
  }

  async readState(): Promise<ServedState> {
    const { state, session, dataVersion } = await this.#read(async (db, session) => {
      // Asked before the rest is read: a commit in between is then seen by the next `changed`.
      const dataVersion = readDataVersion(session)
      const resources = await selectResourcesInPages(db)
      return {
        state: await this.#state(db, (await selectHead(db)).revision, resources),
        session,
        dataVersion,
      }
    })
    this.#readFrom = session
    this.#dataVersion = dataVersion
    this.#seen = { revision: state.revision, keyVersion: state.keyVersion }
    this.#isBehind = false
    return state
  }

  readStateAt(revision: number): Promise<ServedState> {
    return this.#read(async db => this.#state(db, revision, await selectRevisionResources(db, revision)))
  }

  changed(): boolean {
    try {
      const session = this.#connection.peek()
      if (session === undefined || session !== this.#readFrom) return true
      const dataVersion = readDataVersion(session)
      if (dataVersion !== this.#dataVersion) {
        this.#dataVersion = dataVersion
        this.#isBehind = !isSameHead(this.#seen, readHead(session))
      }
      return this.#isBehind
    } catch (error) {
      throw storeFault(error, this.#connection.path)
    }
  }

  kept(): Promise<readonly KeptSecret[]> {
    return this.#read(selectKept)
  }

  resourcesAt(revision: number): Promise<readonly StoredResource[]> {
    return this.#read(db => selectRevisionResources(db, revision))
  }

  revision(id: number): Promise<Revision> {
    return this.#read(db => selectRevision(db, id))
  }

  revisions(page: { readonly limit?: number; readonly before?: number } = {}): Promise<readonly Revision[]> {
    return this.#read(db => selectRevisions(db, page))
  }

  commit(commit: Commit, guard?: CommitGuard): Promise<Revision> {
    return this.#write(async (db, head) => {
      if (head.revision !== commit.base) {
        throw new CommandError(
          'GW4001',
          `The plan was made against revision ${commit.base}, but the store is at ${head.revision}.`,
        )
      }
      const nowMs = this.#clock.nowMs()
      const before = await selectResources(db)
      const { renames = [] } = commit
      const names = await selectAccountNames(db)
      const renamed = underNewNames(before, renames)
      const after = afterCommit(renamed, commit, commit.base + 1, nowMs, names)
      await guard?.(before, after)
      const revision = await insertRevision(db, commit, nowMs, after)
      await writeRenames(db, renames)
      await writeResources(db, commit, after)
      await settleKept(db, commit.kept ?? [], after)
      await writeAccountNames(db, after, names)
      const keysMoved = await settleKeys(db, commit, renamed, nowMs)
      return {
        result: revision,
        next: { revision: revision.id, keyVersion: head.keyVersion + Number(keysMoved) },
      }
    })
  }

  issueSecret(key: string, digest: string): Promise<StoredSecret> {
    return this.#moveByHand(db => insertFirstSecret(db, key, digest, this.#clock.nowMs()))
  }

  rotateSecret(key: string, digest: string, graceMs: number): Promise<StoredSecret> {
    return this.#moveByHand(db => replaceSecrets(db, key, digest, graceMs, this.#clock.nowMs()))
  }

  revokeSecrets(key: string): Promise<number> {
    return this.#moveByHand(db => endSecrets(db, key, this.#clock.nowMs()))
  }

  holdKey(key: string): Promise<boolean> {
    return this.#moveByHand(db => insertHold(db, key, this.#clock.nowMs()))
  }

  releaseKey(key: string): Promise<boolean> {
    return this.#moveByHand(db => deleteHold(db, key))
  }

  switchMaintenanceOn(more: Pick<MaintenanceSwitch, 'message' | 'author'>): Promise<boolean> {
    return this.#moveByHand(db => putMaintenance(db, { ...more, sinceMs: this.#clock.nowMs() }))
  }

  switchMaintenanceOff(): Promise<boolean> {
    return this.#moveByHand(deleteMaintenance)
  }

  reportGateway(report: GatewayReport): Promise<void> {
    return this.#beside(db => putGateway(db, report, this.#clock.nowMs()))
  }

  forgetGateway(id: string): Promise<void> {
    return this.#beside(db => deleteGateway(db, id))
  }

  gateways(): Promise<readonly StoredGateway[]> {
    return this.#read(selectGateways)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  async #state(db: Db, revision: number, resources: readonly ServedResource[]): Promise<ServedState> {
    const holds = await selectHolds(db)
    const kept = await selectKept(db)
    return {
      revision,
      keyVersion: (await selectHead(db)).keyVersion,
      resources: resources.map(served),
      secrets: await selectActiveSecrets(db, this.#clock.nowMs()),
      heldKeys: holds.map(hold => hold.key),
      ...(kept.length > 0 && { kept }),
      ...present(await selectMaintenance(db)),
    }
  }

  /** All that `work` reads is of one moment. */
  #read<T>(work: (db: Db, session: Session) => Promise<T>): Promise<T> {
    return this.#run(session => session.db.transaction().execute(db => work(db, session)))
  }

  /** Writes under the lock, then moves the head to `next`; `undefined` where nothing was written. */
  #write<T>(work: (db: Db, head: Head) => Promise<{ result: T; next?: Head }>): Promise<T> {
    return this.#run(async session => {
      const { result, head, next } = await immediately(session, async db => {
        const head = await selectHead(db)
        const done = await work(db, head)
        if (done.next) {
          const { revision, keyVersion } = done.next
          await db.updateTable('head').set({ revision, key_version: keyVersion }).execute()
        }
        return { ...done, head }
      })
      // Only where nothing foreign came in between: otherwise `changed` must still tell of that.
      if (next && isSameHead(this.#seen, head)) this.#seen = next
      return result
    })
  }

  /** A change beside the revisions; one that answers `false` has changed nothing. */
  #moveByHand<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#write(async (db, head) => {
      const result = await work(db)
      return result === false ? { result } : { result, next: { ...head, keyVersion: head.keyVersion + 1 } }
    })
  }

  /** Writes what is not part of the state that a gateway serves. */
  #beside<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#run(session => immediately(session, work))
  }

  async #run<T>(work: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#connection.current())
    } catch (error) {
      throw storeFault(error, this.#connection.path)
    }
  }
}

function served({ kind, name, spec, createdAtMs, account }: ServedResource): ServedResource {
  return { kind, name, spec, createdAtMs, ...(account !== undefined && { account }) }
}

function present(maintenance: MaintenanceSwitch | undefined): Pick<ServedState, 'maintenance'> {
  return maintenance ? { maintenance } : {}
}

function readDataVersion({ raw }: Session): unknown {
  return raw.pragma('data_version', { simple: true })
}

function readHead({ raw }: Session): Head {
  return raw.prepare('select revision, key_version as keyVersion from head').get() as Head
}

function isSameHead(a: Head | undefined, b: Head): boolean {
  return a !== undefined && a.revision === b.revision && a.keyVersion === b.keyVersion
}
