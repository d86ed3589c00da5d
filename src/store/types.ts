import type { Kind, Resource } from '../schema/kinds.ts'
import type { MaintenanceSwitch, ServedState } from '../schema/state.ts'
import type { StoredCredential } from '../schema/stored-credential.ts'
import type { Accounting } from './ledger/types.ts'
import type { NodeStore, ServingNodes } from './nodes/types.ts'
import type { InstanceRegistry } from './shares/registry.ts'
import type { Authority, UserStore, UserStoreReads } from './users/types.ts'

/** Who may change a resource: the files of a set through `gw apply`, the command line, or REST. */
export type Owner = 'config' | 'cli' | 'rest'

/** Where a revision came from. */
export type Origin = 'apply' | 'cli' | 'rest' | 'rollback'

/** A line of a configuration file, with the file name as given to the apply; lines count from 1. */
export interface SourceLine {
  readonly file: string
  readonly line: number
}

/** The owner of a resource. `set` and `place` are present only if the owner is `config`. */
export interface Ownership {
  readonly owner: Owner
  readonly set?: string
  readonly place?: SourceLine
}

export interface OwnedResource extends Resource, Ownership {
  /**
   * The account under which usage, spend and wallet are recorded: absent if it equals the name. In a put: absent if the
   * store chooses it.
   */
  readonly account?: string
}

/** A new name for a resource; nothing else about it changes. */
export interface Rename {
  readonly kind: Kind
  readonly from: string
  readonly to: string
}

/** A resource as the store holds it. */
export interface StoredResource extends OwnedResource {
  readonly createdRevision: number
  readonly updatedRevision: number
  /** When `createdRevision` was committed. */
  readonly createdAtMs: number
}

/** The two counters that show whether the state that a gateway serves has changed. */
export interface Head {
  /** 0 before the first commit; grows by one with each commit. */
  readonly revision: number
  /** Grows with every manual change: of a key's secrets or suspension, or of the maintenance switch. */
  readonly keyVersion: number
}

/** A minted secret. The store keeps only its digest, and {@link Live} does not include it. */
export interface StoredSecret {
  readonly id: number
  /** The name of the key. */
  readonly key: string
  readonly createdAtMs: number
  /** End of the grace period after a rotation. */
  readonly expiresAtMs?: number
  readonly revokedAtMs?: number
}

/** A key that was disabled manually. */
export interface KeySuspension {
  readonly key: string
  readonly suspendedAtMs: number
}

/** The current state of the store, as of one moment. */
export interface Live {
  readonly head: Head
  /** When the state was read, in milliseconds since the epoch: expiry is measured against it. */
  readonly atMs: number
  /** Sorted by kind (in the order of KIND_NAMES) and name. */
  readonly resources: readonly StoredResource[]
  /** All secrets ever minted for existing keys, oldest first. */
  readonly secrets: readonly StoredSecret[]
  readonly holds: readonly KeySuspension[]
  /** Users who may log in for a tenant; absent in the result of a query. */
  readonly tenantUsers?: readonly { readonly name: string; readonly tenant: string }[]
  /** Balances other than zero; absent in the result of a query. */
  readonly balances?: readonly { readonly tenant: string; readonly balanceNano: bigint }[]
  /** Credentials that were given over REST, sealed; absent in the result of a query. */
  readonly kept?: readonly StoredCredential[]
  /** Absent while it is off. */
  readonly maintenance?: MaintenanceSwitch
}

/** Selects resources: all of a kind that pass each filter, sorted by name. */
export interface ResourceQuery {
  readonly kind: Kind
  readonly name?: string
  /** Fields of the canonical spec, such as the `tenant` of a key. */
  readonly where?: Readonly<Record<string, string>>
  /** A part of the name or of the display name, in any case. */
  readonly contains?: string
  readonly owner?: Owner
  readonly set?: string
  /** Only names after this one. */
  readonly after?: string
  readonly limit?: number
}

export interface Counts {
  readonly create: number
  readonly update: number
  readonly delete: number
  readonly unchanged: number
}

/** One entry of the history. Entries are never changed or removed; a setting limits how long their states are kept. */
export interface Revision {
  readonly id: number
  /** The revision that this one replaced: always `id - 1`. */
  readonly base: number
  readonly origin: Origin
  readonly set?: string
  readonly author?: string
  readonly gitCommit?: string
  /** Of a rollback: the revision that it restored. */
  readonly restores?: number
  readonly createdAtMs: number
  readonly counts: Counts
}

/** The revisions with kept states. */
export interface StateRetention {
  /** States that were current at this moment, or later. */
  readonly keptSinceMs: number
  /** At least this many revisions before the newest, however old. */
  readonly leastBack: number
}

/** The change from revision `base` to the next one. */
export interface Commit
  extends Pick<Revision, 'base' | 'origin' | 'set' | 'author' | 'gitCommit' | 'restores' | 'counts'> {
  /** Applied first: `deletes` and `puts` use the new names. */
  readonly renames?: readonly Rename[]
  /**
   * Resources to create or to replace. A put that changes only the line of a resource is not an update: its
   * `updatedRevision` stays.
   */
  readonly puts: readonly OwnedResource[]
  /**
   * Deleting a key also deletes its secrets and its suspension; deleting an endpoint also deletes its stored
   * credential.
   */
  readonly deletes: readonly { readonly kind: Kind; readonly name: string }[]
  /**
   * What happens to users of a deleted tenant who may log in: `reject` fails the commit (still_referenced); by default they are
   * disabled, and their sessions end. A later tenant of the same name is a different tenant.
   */
  readonly tenantUsers?: 'reject'
  /** Credentials that `puts` refer to, sealed. Each replaces the stored credential for the same use. */
  readonly kept?: readonly StoredCredential[]
}

/** A resource that a commit names: its present state, under its new name, and its state after the commit. */
export interface Changed {
  readonly before?: StoredResource
  readonly after?: StoredResource
}

/** The effect of a commit, as seen inside its transaction. */
export interface CommitView {
  /** The resources that the commit puts, deletes and renames. */
  readonly changed: readonly Changed[]
  /**
   * Resources as they would be after the commit. Reads nothing else, so that a small change of a large store stays
   * cheap.
   */
  find(query: ResourceQuery): Promise<readonly StoredResource[]>
  /** All resources as they would be after the commit. */
  all(): Promise<readonly StoredResource[]>
}

/**
 * A last check inside the transaction. An error that it throws rolls the transaction back and reaches the caller of
 * `commit` unchanged. The guard must not call the store: the connection is in use.
 */
export type CommitGuard = (view: CommitView) => Promise<void>

/** What a serving gateway reports of itself, every few seconds and after each change. */
export interface GatewayReport {
  /** New at each start. */
  readonly id: string
  readonly pid: number
  readonly host: string
  /** The process that started it with others. */
  readonly supervisorPid?: number
  /** The version of gw. */
  readonly version?: string
  /** The address on which it alone listens. */
  readonly url?: string
  readonly startedAtMs: number
  /** The revision that it serves; 0 before the first one. */
  readonly revision: number
  readonly keyVersion: number
  /** The newest state that it could not serve, with the reason; absent if it serves the newest. */
  readonly rejected?: { readonly revision: number; readonly reason: string }
  /** The files that it applies automatically, with `watch` after each save; absent if there are none. */
  readonly follows?: { readonly paths: readonly string[]; readonly watch: boolean }
}

/** The health of an endpoint, as a gateway has observed it. */
export interface ReportedEndpoint {
  readonly endpoint: string
  readonly state: 'healthy' | 'unhealthy'
  readonly sinceMs: number
  /** Why it is unhealthy. */
  readonly reason?: string
}

/** Changes of endpoint health since the last report of a gateway. */
export interface EndpointNews {
  readonly seen: readonly ReportedEndpoint[]
  /** Endpoints without known health from now on. */
  readonly forgotten: readonly string[]
}

export interface StoredGateway extends GatewayReport {
  /** Sorted by name; the health of any other endpoint is unknown. */
  readonly endpoints: readonly ReportedEndpoint[]
  /** When the gateway last reported. A killed gateway never reports again. */
  readonly seenAtMs: number
}

/**
 * The database of the configuration, its history and the secrets of keys. All methods but `changed` are asynchronous,
 * so that a database across a network fits the same interface.
 * Every method may throw CommandError store_unavailable (the database fails), store_missing (it no longer exists) or store_locked (it was
 * locked for seconds).
 */
export interface Store {
  /** Wallets, usage, call logs, and whether the ledger adds up. */
  readonly accounting: Accounting
  /** The users of the control plane, and their audit log. */
  readonly users: UserStore
  /** Machines that dial in. */
  readonly nodes: NodeStore
  /** The gateways that have joined, and what they hold. */
  readonly instances: InstanceRegistry
  head(): Promise<Head>
  live(): Promise<Live>
  /** The part of the current state that a query selects; secrets and suspensions only of the keys in the result. */
  find(query: ResourceQuery): Promise<Live>
  /** The number of resources of each kind that has any. */
  countResources(): Promise<Readonly<Record<string, number>>>
  /**
   * The state that a gateway serves now. From then on `changed` compares with it.
   * @param before An earlier state: its unchanged objects are reused.
   */
  readState(before?: ServedState): Promise<ServedState>
  /**
   * The resources of an earlier revision with the current secrets and suspensions, for a gateway that falls back.
   * Anything closed since then stays closed: see {@link ServedState.suspendedKeys}.
   * @throws {CommandError} not_found if there is no such revision.
   */
  readStateAt(revision: number): Promise<ServedState>
  /**
   * Whether another connection has committed since the last `readState` (true until the first), or the database was
   * replaced. Costs microseconds, so it may be called often. Commits of this store do not count.
   */
  changed(): boolean
  /** The stored credentials of all current resources, and of their earlier states; sealed. */
  kept(): Promise<readonly StoredCredential[]>
  /**
   * All resources as of a revision. For resources that the revision changed, a line refers to the files of that
   * revision; for any other resource it is the last line that this version of the resource had.
   * @throws {CommandError} not_found if there is no such revision, or its state is no longer kept.
   */
  resourcesAt(revision: number): Promise<readonly StoredResource[]>
  /** @throws {CommandError} not_found */
  revision(id: number): Promise<Revision>
  /** Newest first. */
  revisions(page?: { readonly limit?: number; readonly before?: number }): Promise<readonly Revision[]>
  /**
   * @throws {CommandError} revision_changed if the store has moved past `commit.base`, not_servable if an endpoint would refer to a
   * credential that is not stored.
   */
  commit(commit: Commit, guard?: CommitGuard): Promise<Revision>

  /**
   * Adds the first secrets of keys: all of them, or none.
   * @throws {CommandError} not_found without such a key, has_secret if it already has an active secret.
   */
  issueSecrets(secrets: readonly { readonly key: string; readonly digest: string }[]): Promise<void>
  /**
   * Adds a secret; older secrets end after `graceMs`, at once if that is 0.
   * @throws {CommandError} not_found without such a key.
   */
  rotateSecret(key: string, digest: string, graceMs: number): Promise<StoredSecret>
  /**
   * Ends every secret of a key at once, and returns how many were active.
   * @throws {CommandError} not_found without such a key.
   */
  revokeSecrets(key: string): Promise<number>
  /** Disables a key manually. False if it was already suspended. @throws {CommandError} not_found */
  suspendKey(key: string): Promise<boolean>
  /** Ends the suspension. False if there was none. @throws {CommandError} not_found */
  resumeKey(key: string): Promise<boolean>

  /** Switches maintenance on, or changes its message. False if nothing changed. */
  switchMaintenanceOn(more: Pick<MaintenanceSwitch, 'message' | 'author'>): Promise<boolean>
  /** False if it was off. */
  switchMaintenanceOff(): Promise<boolean>

  /**
   * Deletes the stored history of revisions older than a retention, oldest first, at most `maxRows` rows. Returns how
   * many rows it deleted; the entries in the history stay.
   */
  pruneStates(retention: StateRetention, maxRows: number): Promise<number>

  /** Stores the report, and deletes gateways that have not reported for an hour. */
  reportGateway(report: GatewayReport, endpoints?: EndpointNews): Promise<void>
  /** Deletes a gateway that has ended. */
  forgetGateway(id: string): Promise<void>
  /** All known gateways, the longest-serving first. */
  gateways(): Promise<readonly StoredGateway[]>

  /**
   * The same store for changes under an authority: each change checks inside its transaction that the authority is
   * still valid, and throws {ApiError} not_logged_in or not_found if it is not. Only the original store can be closed.
   */
  withAuthority(authority: Authority): Store

  close(): Promise<void>
}

/** The read-only part of a store. */
export interface StoreReads
  extends Pick<
    Store,
    'head' | 'live' | 'find' | 'kept' | 'resourcesAt' | 'revision' | 'revisions' | 'gateways'
  > {
  readonly accounting: Omit<Accounting, 'credit' | 'debit' | 'adjust'>
  readonly users: UserStoreReads
  readonly nodes: Pick<NodeStore, 'all' | 'joinTokens'>
  readonly instances: Pick<InstanceRegistry, 'all'>
}

/** The part of the store that a serving gateway uses. */
export type ServingStore = Pick<
  Store,
  | 'head'
  | 'readState'
  | 'readStateAt'
  | 'changed'
  | 'pruneStates'
  | 'reportGateway'
  | 'forgetGateway'
  | 'close'
> & {
  readonly servingNodes: ServingNodes
  /** By how many milliseconds the clock that all gateways of the store share is ahead of this machine's; 0 within a second. */
  clockOffMs(): Promise<number>
}
