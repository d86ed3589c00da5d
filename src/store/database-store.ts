import type { Kysely } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { MaintenanceSwitch, ServedState } from '../schema/state.ts'
import type { StoredCredential } from '../schema/stored-credential.ts'
import { writeCommit } from './commit.ts'
import type { Effort, Engine, PlainSql, StorePorts } from './engine.ts'
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
import { NamedAccounting } from './ledger/named-accounting.ts'
import type { Accounting } from './ledger/types.ts'
import { selectBalances } from './ledger/wallet.ts'
import { DatabaseNodes } from './nodes/database-nodes.ts'
import { Accounts, selectAccountNames } from './renames.ts'
import { selectCounts, selectResources } from './resources.ts'
import { readResourcesAt } from './revision-changes.ts'
import { selectHead, selectRevision, selectRevisions } from './revisions.ts'
import type { InstanceRegistry } from './shares/registry.ts'
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
  ServingStore,
  StateRetention,
  Store,
  StoredGateway,
  StoredResource,
  StoredSecret,
} from './types.ts'
import { assertAuthority } from './users/authority.ts'
import { DatabaseUsers } from './users/database-users.ts'
import { selectTenantUsers } from './users/tenant-users.ts'
import type { Authority } from './users/types.ts'

type Db = Kysely<Tables>

/** What differs between engines. */
export interface StoreParts<Raw extends PlainSql> {
  readonly engine: Engine<Raw>
  readonly serving: ServingStore
  /** The ledger by accounts, on the given transactions. */
  readonly accountingOf: (ports: StorePorts<Raw>) => Accounting
  readonly registryOf: (ports: StorePorts<Raw>) => InstanceRegistry
}

/** The store in a database. Opened by `openStore`. */
export class DatabaseStore<Raw extends PlainSql> implements Store {
  readonly accounting: Accounting
  readonly users: DatabaseUsers
  readonly nodes: DatabaseNodes
  readonly instances: InstanceRegistry
  readonly #parts: StoreParts<Raw>
  readonly #clock: Clock
  /** Checked inside the transaction of each change; absent: no check. */
  readonly #authority: Authority | undefined

  constructor(parts: StoreParts<Raw>, clock: Clock, authority?: Authority) {
    this.#parts = parts
    this.#clock = clock
    this.#authority = authority
    const { engine, accountingOf, registryOf } = parts
    const ports: StorePorts<Raw> = {
      read: work => engine.read(work),
      readBare: (work, effort) => engine.readBare(work, effort),
      write: (work, effort) => this.#writeOutside(work, effort),
      writeBare: (work, effort) => this.#writeOutside(async (_, raw) => work(raw), effort),
      clockOffMs: () => engine.clockOffMs(),
      clock,
    }
    this.accounting = new NamedAccounting(accountingOf(ports), () =>
      engine.read(async db => new Accounts(await selectAccountNames(db))),
    )
    this.users = new DatabaseUsers(ports)
    this.nodes = new DatabaseNodes(ports)
    this.instances = registryOf(ports)
  }

  head(): Promise<Head> {
    return this.#parts.serving.head()
  }

  live(): Promise<Live> {
    return this.#parts.engine.read(async db => ({
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
    return this.#parts.engine.read(async db => ({
      head: await selectHead(db),
      atMs: this.#clock.nowMs(),
      ...(await findResources(db, query)),
      ...maintenanceField(await selectMaintenance(db)),
    }))
  }

  countResources(): Promise<Readonly<Record<string, number>>> {
    return this.#parts.engine.read(selectCounts)
  }

  readState(before?: ServedState): Promise<ServedState> {
    return this.#parts.serving.readState(before)
  }

  readStateAt(revision: number): Promise<ServedState> {
    return this.#parts.serving.readStateAt(revision)
  }

  changed(): boolean {
    return this.#parts.serving.changed()
  }

  kept(): Promise<readonly StoredCredential[]> {
    return this.#parts.engine.read(selectStored)
  }

  resourcesAt(revision: number): Promise<readonly StoredResource[]> {
    return this.#parts.engine.readBare(raw => readResourcesAt(raw, revision))
  }

  revision(id: number): Promise<Revision> {
    return this.#parts.engine.read(db => selectRevision(db, id))
  }

  revisions(page: { readonly limit?: number; readonly before?: number } = {}): Promise<readonly Revision[]> {
    return this.#parts.engine.read(db => selectRevisions(db, page))
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

  issueSecrets(secrets: readonly { readonly key: string; readonly digest: string }[]): Promise<void> {
    return this.#changeManually(async db => {
      for (const { key, digest } of secrets) await insertFirstSecret(db, key, digest, this.#clock.nowMs())
    })
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
    return this.#parts.serving.pruneStates(retention, maxRows)
  }

  reportGateway(report: GatewayReport, endpoints?: EndpointNews): Promise<void> {
    return this.#parts.serving.reportGateway(report, endpoints)
  }

  forgetGateway(id: string): Promise<void> {
    return this.#parts.serving.forgetGateway(id)
  }

  async gateways(): Promise<readonly StoredGateway[]> {
    const { engine } = this.#parts
    const offMs = await engine.clockOffMs()
    return engine.read(db => selectGateways(db, offMs))
  }

  withAuthority(authority: Authority): Store {
    return new DatabaseStore(this.#parts, this.#clock, authority)
  }

  close(): Promise<void> {
    return this.#parts.engine.close()
  }

  /** Writes under the lock, then sets the head to `next`; `undefined` if nothing was written. */
  async #write<T>(work: (db: Db, head: Head) => Promise<{ result: T; next?: Head }>): Promise<T> {
    const { engine } = this.#parts
    const { result, head, next } = await engine.write(async db => {
      await this.#assertAuthority(db)
      const head = await selectHead(db)
      const outcome = await work(db, head)
      if (outcome.next) {
        const { revision, keyVersion } = outcome.next
        await db.updateTable('head').set({ revision, key_version: keyVersion }).execute()
      }
      return { ...outcome, head }
    })
    if (next) engine.changes.recordOwnCommit(head, next)
    return result
  }

  /** A change outside of revisions; `false` means that nothing changed. */
  #changeManually<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#write(async (db, head) => {
      const result = await work(db)
      return result === false ? { result } : { result, next: { ...head, keyVersion: head.keyVersion + 1 } }
    })
  }

  /** Writes data that is not part of the served state. */
  #writeOutside<T>(work: (db: Db, raw: Raw) => Promise<T>, effort?: Effort): Promise<T> {
    return this.#parts.engine.write(async (db, raw) => {
      await this.#assertAuthority(db)
      return work(db, raw)
    }, effort)
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
