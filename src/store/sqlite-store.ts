import type Database from 'better-sqlite3'
import type { Kysely } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { MaintenanceSwitch, ServedState } from '../schema/state.ts'
import type { StoredCredential } from '../schema/stored-credential.ts'
import { writeCommit } from './commit.ts'
import type { Connection } from './connection.ts'
import { findResources } from './find.ts'
import { selectGateways } from './gateways.ts'
import {
  deleteSuspension,
  endSecrets,
  insertFirstSecret,
  insertSuspension,
  replaceSecrets,
  selectSecrets,
  selectSuspensions,
} from './key-secrets.ts'
import { type AccountingPorts, SqliteAccounting } from './ledger/accounting.ts'
import { NamedAccounting } from './ledger/named-accounting.ts'
import type { Accounting } from './ledger/types.ts'
import { selectBalances } from './ledger/wallet.ts'
import { SqliteNodes } from './nodes/sqlite-nodes.ts'
import { Accounts, selectAccountNames } from './renames.ts'
import { selectCounts, selectResources } from './resources.ts'
import { readResourcesAt } from './revision-changes.ts'
import { selectHead, selectRevision, selectRevisions } from './revisions.ts'
import { SqliteServingStore } from './serving-store.ts'
import { immediately, readBare, readConsistently } from './session.ts'
import { selectStored } from './stored-credentials.ts'
import type { Tables } from './tables.ts'
import type {
  Commit,
  CommitGuard,
  EndpointNews,
  GatewayReport,
  Head,
  Live,
  ResourceQuery,
  Revision,
  StateRetention,
  Store,
  StoredGateway,
  StoredResource,
  StoredSecret,
} from './types.ts'
import { assertAuthority } from './users/authority.ts'
import { SqliteUsers } from './users/sqlite-users.ts'
import { selectTenantUsers } from './users/tenant-users.ts'
import type { Authority } from './users/types.ts'

type Db = Kysely<Tables>

/** The store in a SQLite file. Opened by `openStore`. */
export class SqliteStore implements Store {
  readonly accounting: Accounting
  readonly users: SqliteUsers
  readonly nodes: SqliteNodes
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #serving: SqliteServingStore
  /** Checked inside the transaction of each change; absent: no check. */
  readonly #authority: Authority | undefined

  constructor(
    connection: Connection,
    clock: Clock,
    serving = new SqliteServingStore(connection, clock),
    authority?: Authority,
  ) {
    this.#connection = connection
    this.#clock = clock
    this.#serving = serving
    this.#authority = authority
    const ports: AccountingPorts = {
      read: work => this.#read(work),
      readBare: work => this.#readBare(work),
      write: work => this.#writeOutside(work),
      writeBare: work => this.#writeOutside(async (_, raw) => work(raw)),
      clock,
    }
    this.accounting = new NamedAccounting(new SqliteAccounting(ports), () =>
      this.#read(async db => new Accounts(await selectAccountNames(db))),
    )
    this.users = new SqliteUsers(ports)
    this.nodes = new SqliteNodes(ports)
  }

  head(): Promise<Head> {
    return this.#serving.head()
  }

  live(): Promise<Live> {
    return this.#read(async db => ({
      head: await selectHead(db),
      atMs: this.#clock.nowMs(),
      resources: await selectResources(db),
      secrets: await selectSecrets(db),
      holds: await selectSuspensions(db),
      tenantUsers: await selectTenantUsers(db),
      balances: await selectBalances(db),
      kept: await selectStored(db),
      ...maintenanceField(await selectMaintenance(db)),
    }))
  }

  find(query: ResourceQuery): Promise<Live> {
    return this.#read(async db => ({
      head: await selectHead(db),
      atMs: this.#clock.nowMs(),
      ...(await findResources(db, query)),
      ...maintenanceField(await selectMaintenance(db)),
    }))
  }

  countResources(): Promise<Readonly<Record<string, number>>> {
    return this.#read(selectCounts)
  }

  readState(before?: ServedState): Promise<ServedState> {
    return this.#serving.readState(before)
  }

  readStateAt(revision: number): Promise<ServedState> {
    return this.#serving.readStateAt(revision)
  }

  changed(): boolean {
    return this.#serving.changed()
  }

  kept(): Promise<readonly StoredCredential[]> {
    return this.#read(selectStored)
  }

  resourcesAt(revision: number): Promise<readonly StoredResource[]> {
    return this.#readBare(raw => readResourcesAt(raw, revision))
  }

  revision(id: number): Promise<Revision> {
    return this.#read(db => selectRevision(db, id))
  }

  revisions(page: { readonly limit?: number; readonly before?: number } = {}): Promise<readonly Revision[]> {
    return this.#read(db => selectRevisions(db, page))
  }

  commit(commit: Commit, guard?: CommitGuard): Promise<Revision> {
    return this.#write(async (db, head) => {
      const { revision, keysChanged } = await writeCommit(db, head, commit, this.#clock.nowMs(), guard)
      return {
        result: revision,
        next: { revision: revision.id, keyVersion: head.keyVersion + Number(keysChanged) },
      }
    })
  }

  issueSecret(key: string, digest: string): Promise<StoredSecret> {
    return this.#changeManually(db => insertFirstSecret(db, key, digest, this.#clock.nowMs()))
  }

  rotateSecret(key: string, digest: string, graceMs: number): Promise<StoredSecret> {
    return this.#changeManually(db => replaceSecrets(db, key, digest, graceMs, this.#clock.nowMs()))
  }

  revokeSecrets(key: string): Promise<number> {
    return this.#changeManually(db => endSecrets(db, key, this.#clock.nowMs()))
  }

  suspendKey(key: string): Promise<boolean> {
    return this.#changeManually(db => insertSuspension(db, key, this.#clock.nowMs()))
  }

  resumeKey(key: string): Promise<boolean> {
    return this.#changeManually(db => deleteSuspension(db, key))
  }

  switchMaintenanceOn(more: Pick<MaintenanceSwitch, 'message' | 'author'>): Promise<boolean> {
    return this.#changeManually(db => putMaintenance(db, { ...more, sinceMs: this.#clock.nowMs() }))
  }

  switchMaintenanceOff(): Promise<boolean> {
    return this.#changeManually(deleteMaintenance)
  }

  pruneStates(retention: StateRetention, maxRows: number): Promise<number> {
    return this.#serving.pruneStates(retention, maxRows)
  }

  reportGateway(report: GatewayReport, endpoints?: EndpointNews): Promise<void> {
    return this.#serving.reportGateway(report, endpoints)
  }

  forgetGateway(id: string): Promise<void> {
    return this.#serving.forgetGateway(id)
  }

  gateways(): Promise<readonly StoredGateway[]> {
    return this.#read(selectGateways)
  }

  withAuthority(authority: Authority): Store {
    return new SqliteStore(this.#connection, this.#clock, this.#serving, authority)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /** All reads of `work` see one moment. */
  #read<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#connection.use(session => readConsistently(session, work))
  }

  /** The same without Kysely. */
  #readBare<T>(work: (raw: Database.Database) => Promise<T>): Promise<T> {
    return this.#connection.use(session => readBare(session, () => work(session.raw)))
  }

  /** Writes under the lock, then sets the head to `next`; `undefined` if nothing was written. */
  #write<T>(work: (db: Db, head: Head) => Promise<{ result: T; next?: Head }>): Promise<T> {
    return this.#connection.use(async session => {
      const { result, head, next } = await immediately(session, async db => {
        await this.#assertAuthority(db)
        const head = await selectHead(db)
        const outcome = await work(db, head)
        if (outcome.next) {
          const { revision, keyVersion } = outcome.next
          await db.updateTable('head').set({ revision, key_version: keyVersion }).execute()
        }
        return { ...outcome, head }
      })
      if (next) this.#serving.recordOwnCommit(head, next)
      return result
    })
  }

  /** A change outside of revisions; `false` means that nothing changed. */
  #changeManually<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#write(async (db, head) => {
      const result = await work(db)
      return result === false ? { result } : { result, next: { ...head, keyVersion: head.keyVersion + 1 } }
    })
  }

  /** Writes data that is not part of the served state. */
  #writeOutside<T>(work: (db: Db, raw: Database.Database) => Promise<T>): Promise<T> {
    return this.#connection.use(session =>
      immediately(session, async db => {
        await this.#assertAuthority(db)
        return work(db, session.raw)
      }),
    )
  }

  async #assertAuthority(db: Db): Promise<void> {
    if (this.#authority) await assertAuthority(db, this.#authority)
  }
}

function maintenanceField(maintenance: MaintenanceSwitch | undefined): Pick<ServedState, 'maintenance'> {
  return maintenance ? { maintenance } : {}
}

/** Undefined while it is off. */
async function selectMaintenance(db: Kysely<Tables>): Promise<MaintenanceSwitch | undefined> {
  const row = await db.selectFrom('maintenance').selectAll().executeTakeFirst()
  if (!row) return undefined
  return {
    sinceMs: row.since_ms,
    ...(row.message !== null && { message: row.message }),
    ...(row.author !== null && { author: row.author }),
  }
}

/** Switches it on, or changes its message. False if nothing changed. */
async function putMaintenance(
  db: Kysely<Tables>,
  { message, author, sinceMs }: MaintenanceSwitch,
): Promise<boolean> {
  const before = await selectMaintenance(db)
  if (before && before.message === message) return false
  const row = { message: message ?? null, author: author ?? null }
  await db
    .insertInto('maintenance')
    .values({ id: 1, ...row, since_ms: sinceMs })
    .onConflict(conflict => conflict.column('id').doUpdateSet(row))
    .execute()
  return true
}

/** False if it was off. */
async function deleteMaintenance(db: Kysely<Tables>): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('maintenance').executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
