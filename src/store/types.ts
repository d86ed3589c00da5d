import type { Kind, Resource } from '../schema/kinds.ts'
import type { MaintenanceSwitch, ServedState } from '../schema/state.ts'
import type { StoredCredential } from '../schema/stored-credential.ts'
import type { Accounting } from './ledger/types.ts'
import type { Authority, UserStore, UserStoreReads } from './users/types.ts'

/** Who may change a resource: the files of a set through `gw apply`, the command line, or REST. */
export type Owner = 'config' | 'cli' | 'rest'

/** Where a revision came from. */
export type Origin = 'apply' | 'cli' | 'rest' | 'rollback'

/** A line of a configuration file, as it was named when it was applied; counts from 1. */
export interface SourceLine {
  readonly file: string
  readonly line: number
}

/** Whose a resource is. `set` and `place` are there where the owner is `config`. */
export interface Ownership {
  readonly owner: Owner
  readonly set?: string
  readonly place?: SourceLine
}

export interface OwnedResource extends Resource, Ownership {
  /**
   * Under what usage, spend and wallet are booked: absent where that is its name. Of what is put: absent where it is
   * for the store to say.
   */
  readonly account?: string
}

/** A resource gets another name, and stays what it is. */
export interface Rename {
  readonly kind: Kind
  readonly from: string
  readonly to: string
}

/** A resource as the store holds it. */
export interface StoredResource extends OwnedResource {
  readonly createdRevision: number
  readonly updatedRevision: number
  /** When its `createdRevision` was committed. */
  readonly createdAtMs: number
}

/** The two numbers that tell whether anything that a gateway serves has moved. */
export interface Head {
  /** 0 where nothing was ever committed; grows by one with each commit. */
  readonly revision: number
  /** Grows with every change by hand: of a key's secret or hold, or of the maintenance switch. */
  readonly keyVersion: number
}

/** A minted secret. Only its digest is kept, and {@link Live} does not even show that. */
export interface StoredSecret {
  readonly id: number
  /** The name of the key. */
  readonly key: string
  readonly createdAtMs: number
  /** End of its grace after a rotation. */
  readonly expiresAtMs?: number
  readonly revokedAtMs?: number
}

/** A key that was disabled by hand. */
export interface KeyHold {
  readonly key: string
  readonly suspendedAtMs: number
}

/** Everything that stands in the store, as of one moment. */
export interface Live {
  readonly head: Head
  /** When it was read, milliseconds since the epoch: what "expired" is measured against. */
  readonly atMs: number
  /** Sorted by kind (in the order of KIND_NAMES) and name. */
  readonly resources: readonly StoredResource[]
  /** All that were ever minted for keys that exist, oldest first. */
  readonly secrets: readonly StoredSecret[]
  readonly holds: readonly KeyHold[]
  /** Users who may log in for a tenant; absent where only a part was asked for. */
  readonly tenantUsers?: readonly { readonly name: string; readonly tenant: string }[]
  /** Of the tenants that have one other than nothing; absent where only a part was asked for. */
  readonly balances?: readonly { readonly tenant: string; readonly balanceNano: bigint }[]
  /** Secrets that were given over REST, sealed; absent where only a part was asked for. */
  readonly kept?: readonly StoredCredential[]
  /** Absent while it is off. */
  readonly maintenance?: MaintenanceSwitch
}

/** Which resources to read: all of a kind that pass each filter, by name. */
export interface ResourceQuery {
  readonly kind: Kind
  readonly name?: string
  /** Fields of the canonical spec, such as the `tenant` of a key. */
  readonly where?: Readonly<Record<string, string>>
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

/** One entry of the history. Entries are never changed and never removed; for how long what stood then can be told is a setting. */
export interface Revision {
  readonly id: number
  /** The revision that it replaced: always `id - 1`. */
  readonly base: number
  readonly origin: Origin
  readonly set?: string
  readonly author?: string
  readonly gitCommit?: string
  /** Of a rollback: the revision that it made stand again. */
  readonly restores?: number
  readonly createdAtMs: number
  readonly counts: Counts
}

/** Of which revisions it can be told what stood at them. */
export interface StateRetention {
  /** What stood at this moment, or came later. */
  readonly keptSinceMs: number
  /** So many before the newest, however old they are. */
  readonly leastBack: number
}

/** What makes the next revision out of revision `base`. */
export interface Commit {
  readonly base: number
  readonly origin: Origin
  readonly set?: string
  readonly author?: string
  readonly gitCommit?: string
  readonly restores?: number
  readonly counts: Counts
  /** Done first: what is deleted and put goes by the new names. */
  readonly renames?: readonly Rename[]
  /**
   * Resources to create or to replace. One whose spec and owner stay the same and whose line alone has moved is
   * not an update: it keeps its `updatedRevision`.
   */
  readonly puts: readonly OwnedResource[]
  /** A key that goes away takes its secrets and its hold with it, an endpoint the credential that is kept for it. */
  readonly deletes: readonly { readonly kind: Kind; readonly name: string }[]
  /**
   * Of the users who are bound to a tenant that is deleted, those who may log in: `reject` deletes nothing then (GW4010);
   * by default they are disabled, and their sessions end. A later tenant of that name is another one.
   */
  readonly tenantUsers?: 'reject'
  /** Credentials that `puts` refer to, sealed. Each replaces the one that was kept for the same use. */
  readonly kept?: readonly StoredCredential[]
}

/** A resource that a commit names: as it stood, under the name that it gets, and as it would stand. */
export interface Changed {
  readonly before?: StoredResource
  readonly after?: StoredResource
}

/** What a commit would bring about, inside its transaction. */
export interface CommitView {
  /** What it puts, deletes and renames. */
  readonly changed: readonly Changed[]
  /** Resources as they would stand. Reads nothing else: a small change of a large store stays small. */
  find(query: ResourceQuery): Promise<readonly StoredResource[]>
  /** All that would stand. */
  all(): Promise<readonly StoredResource[]>
}

/**
 * A last look inside the transaction. Whatever it throws rolls the transaction back and reaches the caller of `commit`
 * as it is. It must not ask the store: the connection is taken.
 */
export type CommitGuard = (view: CommitView) => Promise<void>

/** What a gateway that serves the store tells of itself, every few seconds and whenever it has something new. */
export interface GatewayReport {
  /** Made anew at each start. */
  readonly id: string
  readonly pid: number
  readonly host: string
  /** Of gw. */
  readonly version?: string
  /** Where it listens. */
  readonly url?: string
  readonly startedAtMs: number
  /** What it serves; 0 where that is nothing yet. */
  readonly revision: number
  readonly keyVersion: number
  /** The newest state that it could not serve, and why; absent where it serves the newest. */
  readonly rejected?: { readonly revision: number; readonly reason: string }
  /** The files that it applies by itself, with `watch` on each save; absent where there are none. */
  readonly follows?: { readonly paths: readonly string[]; readonly watch: boolean }
}

/** What a gateway has seen of an endpoint. */
export interface ReportedEndpoint {
  readonly endpoint: string
  readonly state: 'healthy' | 'unhealthy'
  readonly sinceMs: number
  /** Why it is unhealthy. */
  readonly reason?: string
}

/** What has changed of what a gateway knows of its endpoints since it last reported. */
export interface EndpointNews {
  readonly seen: readonly ReportedEndpoint[]
  /** Nothing is known of these any more. */
  readonly forgotten: readonly string[]
}

export interface StoredGateway extends GatewayReport {
  /** By name; of those that are not here it knows nothing. */
  readonly endpoints: readonly ReportedEndpoint[]
  /** When it was last heard of. One that was killed is never heard of again. */
  readonly seenAtMs: number
}

/**
 * The database that holds the configuration, its history and the secrets of keys. All methods but `changed`
 * are asynchronous, so that a database across a network can stand behind the same interface.
 *
 * Every method may throw CommandError GW2001 (the database fails), GW2003 (it has gone) or GW2005 (it is
 * locked for seconds).
 */
export interface Store {
  /** Wallets, usage, call logs, and whether the ledger adds up. */
  readonly accounting: Accounting
  /** Who may log in to the control plane, and what they did there. */
  readonly users: UserStore
  head(): Promise<Head>
  live(): Promise<Live>
  /** The part of what stands that a query asks for; secrets and holds are those of the keys in it. */
  find(query: ResourceQuery): Promise<Live>
  /**
   * What a gateway serves now. From then on `changed` compares with it.
   *
   * @param before An earlier one: what has not changed since is given as the same objects.
   */
  readState(before?: ServedState): Promise<ServedState>
  /**
   * The resources of an earlier revision with the secrets and holds of now, for a gateway that falls back. What was
   * closed since stays closed: see {@link ServedState.suspendedKeys}.
   * @throws {CommandError} GW4005 where there is no such revision.
   */
  readStateAt(revision: number): Promise<ServedState>
  /**
   * Whether someone else has committed since the last `readState` (true until the first), or the database was
   * replaced. Costs microseconds, so it may be asked often. Own commits do not count: who commits knows.
   */
  changed(): boolean
  /** The secrets that are kept for what stands, and for where it stood before; sealed. */
  kept(): Promise<readonly StoredCredential[]>
  /**
   * All that stood at a revision. A line is that of the files that made the revision, of what they changed in it; of
   * anything else the last one that this version of it had.
   * @throws {CommandError} GW4005 where there is no such revision, or its state is no longer kept.
   */
  resourcesAt(revision: number): Promise<readonly StoredResource[]>
  /** @throws {CommandError} GW4005 */
  revision(id: number): Promise<Revision>
  /** Newest first. */
  revisions(page?: { readonly limit?: number; readonly before?: number }): Promise<readonly Revision[]>
  /**
   * @throws {CommandError} GW4001 where the store is no longer at `commit.base`, GW3002 where an endpoint would refer
   * to a credential that is not kept.
   */
  commit(commit: Commit, guard?: CommitGuard): Promise<Revision>

  /**
   * Adds the first secret of a key.
   * @throws {CommandError} GW4005 without such a key, GW4006 where it has an active secret already.
   */
  issueSecret(key: string, digest: string): Promise<StoredSecret>
  /**
   * Adds a secret; the older ones end after `graceMs`, at once where that is 0.
   * @throws {CommandError} GW4005 without such a key.
   */
  rotateSecret(key: string, digest: string, graceMs: number): Promise<StoredSecret>
  /**
   * Ends every secret of a key at once. How many worked until now.
   * @throws {CommandError} GW4005 without such a key.
   */
  revokeSecrets(key: string): Promise<number>
  /** Disables a key by hand. False where it was held already. @throws {CommandError} GW4005 */
  suspendKey(key: string): Promise<boolean>
  /** Takes the hold away again. False where there was none. @throws {CommandError} GW4005 */
  resumeKey(key: string): Promise<boolean>

  /** Switches maintenance on, or gives it another message. False where both were so already. */
  switchMaintenanceOn(more: Pick<MaintenanceSwitch, 'message' | 'author'>): Promise<boolean>
  /** False where it was off. */
  switchMaintenanceOff(): Promise<boolean>

  /**
   * Deletes what it takes to tell what stood at revisions that are older than a retention, at most so many rows of it,
   * oldest first. How many there were; their entries in the history stay.
   */
  pruneStates(retention: StateRetention, maxRows: number): Promise<number>

  /** Keeps the report, and forgets gateways that were not heard of for an hour. */
  reportGateway(report: GatewayReport, endpoints?: EndpointNews): Promise<void>
  /** The gateway has ended. */
  forgetGateway(id: string): Promise<void>
  /** Those that were not forgotten, the longest-serving first. */
  gateways(): Promise<readonly StoredGateway[]>

  /**
   * The same store for changes by that right: each of them looks inside its transaction whether the right still stands,
   * and throws {ApiError} not_logged_in or not_found where it does not. Only the original closes.
   */
  withAuthority(authority: Authority): Store

  close(): Promise<void>
}

/** What may be asked of a store without changing anything. */
export interface StoreReads
  extends Pick<
    Store,
    'head' | 'live' | 'find' | 'kept' | 'resourcesAt' | 'revision' | 'revisions' | 'gateways'
  > {
  readonly accounting: Omit<Accounting, 'credit' | 'debit' | 'adjust'>
  readonly users: UserStoreReads
}

/** What a gateway asks of the store while it serves. */
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
>
