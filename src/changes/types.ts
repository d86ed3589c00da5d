import type { Key } from '../schema/key.ts'
import type { Json, Kind, Resource } from '../schema/kinds.ts'
import type { ServedResource } from '../schema/state.ts'
import type { Counts, Origin, OwnedResource, Owner, Rename, SourceLine } from '../store/types.ts'

/**
 * One field that differs, by its path in the canonical spec, such as `timeouts.connect`. `before` is absent where
 * the field is new, `after` where it goes away. Of a secret nothing is told but that it changed.
 */
export type FieldChange =
  | { readonly path: string; readonly type: 'value'; readonly before?: Json; readonly after?: Json }
  | {
      readonly path: string
      readonly type: 'list'
      readonly added: readonly Json[]
      readonly removed: readonly Json[]
    }
  | { readonly path: string; readonly type: 'secret' }

export interface ResourceChange {
  readonly action: 'create' | 'update' | 'delete'
  readonly kind: Kind
  readonly name: string
  /** Of a created resource all its fields, of a deleted one none. */
  readonly fields: readonly FieldChange[]
  /** Of an update that takes the resource over: whose it was. From then on the files own it. */
  readonly adoptedFrom?: 'cli' | 'rest'
  /** Of an update under another name: the one that it had. */
  readonly renamedFrom?: string
  /** Where the files declare it, or declared it when it was last applied. */
  readonly place?: SourceLine
}

export interface PlanWarning {
  readonly code:
    | 'unpriced'
    | 'price_from'
    | 'no_endpoint'
    | 'no_secret'
    | 'renamed'
    | 'not_renamed'
    | 'users_disabled'
    | 'wallet_left'
  readonly kind: Kind
  readonly name: string
  /** A sentence for people. */
  readonly message: string
  /** Where the files declare it. */
  readonly place?: SourceLine
}

/** What stands in the store and is none of this set's business. */
export interface Unmanaged {
  /** Resources of other sets. */
  readonly otherSets: number
  readonly cli: number
  readonly rest: number
}

/** What an apply would do to revision `base`. Changes are sorted by kind (order of KIND_NAMES) and name. */
export interface Plan {
  readonly base: number
  /** Empty where it is of all owners: a rollback. */
  readonly set: string
  /** Of a rollback: the revision that is to stand again. */
  readonly restores?: number
  readonly changes: readonly ResourceChange[]
  /** Bindings included; done before all else. */
  readonly renames: readonly Rename[]
  /** What the command line and REST made, as it is to refer to what is renamed. */
  readonly dependents: readonly OwnedResource[]
  readonly counts: Counts
  readonly warnings: readonly PlanWarning[]
  readonly unmanaged: Unmanaged
}

/** Why a plan cannot be made: another owner has the name, or would be left with a dangling reference. */
export interface Conflict {
  readonly kind: Kind
  readonly name: string
  /** A sentence that names the other owner and, where known, the file and line. */
  readonly message: string
  /** Where this tree declares it. */
  readonly place?: SourceLine
  /** Where the other owner declares it. */
  readonly other?: SourceLine
}

/** An endpoint to probe, and the model names that it will be asked for. */
export interface ProbeOrder {
  readonly endpoint: Resource
  readonly models: readonly string[]
}

export interface ProbeFailure {
  readonly endpoint: string
  readonly model: string
  /** What went wrong, and what would hint it. Never a secret. */
  readonly cause: string
  readonly hint: string
}

/** Says why a gateway could not serve these resources; empty where it could. */
export type Check = (resources: readonly ServedResource[]) => Promise<readonly string[]>

export interface ApplyContext {
  readonly origin: Origin
  readonly author?: string
  readonly gitCommit?: string
  readonly check: Check
}

export interface Applied {
  /** The new revision, or the old one where there was nothing to do. */
  readonly revision: number
  readonly counts: Counts
}

/**
 * Why a key opens the gate or does not. `disabled`: in its configuration · `held`: by hand · `expired`: the policy,
 * or the last of its secrets · `no_secret`: none was issued.
 */
export type KeyState = 'active' | 'disabled' | 'held' | 'expired' | 'no_secret'

/** Where a key's secret comes from: minted here, or brought along by the configuration. */
export type SecretSource = 'issued' | 'hash' | 'reference'

/** A key as `gw keys list` and `gw keys show` tell of it; never a secret, never a digest. */
export interface KeyView {
  readonly name: string
  readonly kind: 'platform' | 'tenant'
  readonly displayName?: string
  readonly tenant?: string
  readonly models: readonly string[]
  readonly limits: Key['limits']
  readonly quota?: number
  readonly budget?: {
    readonly amountNano: bigint
    readonly per: 'day' | 'month' | 'total'
    readonly timezone: string
  }
  readonly expiresAtMs?: number
  readonly state: KeyState
  readonly suspendedAtMs?: number
  readonly owner: Owner
  readonly set?: string
  readonly place?: SourceLine
  readonly createdAtMs: number
  readonly secretSource?: SecretSource
  /** When the newest active secret was minted, and how long ago. */
  readonly secretCreatedAtMs?: number
  readonly secretAgeMs?: number
  /** Secrets that open the gate now: two during the grace of a rotation. */
  readonly activeSecrets: number
}

/** A secret that was just minted: the only moment at which anyone sees it. */
export interface IssuedSecret {
  readonly key: string
  readonly secret: string
  /** End of the grace of the older secrets. */
  readonly graceUntilMs?: number
}
