import type { Key } from '../../schema/key.ts'
import type { Json, Kind, Resource } from '../../schema/kinds.ts'
import type { ServedResource } from '../../schema/state.ts'
import type { Counts, Origin, OwnedResource, Owner, Rename, SourceLine } from '../../store/types.ts'

/**
 * A changed field, by its path in the canonical spec, such as `timeouts.connect`. `before` is absent for a new field,
 * `after` for a removed one. Of a secret only the fact of the change is reported.
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
  /** All fields of a created resource, none of a deleted one, except of settings: their defaults. */
  readonly fields: readonly FieldChange[]
  /** The former owner of an adopted resource; the files own it from now on. */
  readonly adoptedFrom?: Owner
  /** The former name of a renamed resource. */
  readonly renamedFrom?: string
  /** The place of the declaration, now or at the last apply. */
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
    | 'possible_rename'
    | 'users_disabled'
    | 'wallet_left'
    | 'currency_changed'
    | 'users_stay_disabled'
    | 'replaced'
    | 'maintenance'
    | 'usable_again'
    | 'no_credential'
  readonly kind: Kind
  readonly name: string
  /** A sentence for display. */
  readonly message: string
  /** The place of the declaration. */
  readonly place?: SourceLine
}

/** The counts of resources in the store that this set does not manage. */
export interface Unmanaged {
  /** Resources of other sets. */
  readonly otherSets: number
  readonly cli: number
  readonly rest: number
}

/** The changes that an apply would make to revision `base`, sorted by kind (order of KIND_NAMES) and name. */
export interface Plan {
  readonly base: number
  /** Empty for a rollback, which covers all owners. */
  readonly set: string
  /** The revision that a rollback restores. */
  readonly restores?: number
  readonly changes: readonly ResourceChange[]
  /** Bindings included; executed first. */
  readonly renames: readonly Rename[]
  /** Resources of the command line and REST, with renamed references. */
  readonly dependents: readonly OwnedResource[]
  readonly counts: Counts
  readonly warnings: readonly PlanWarning[]
  readonly unmanaged: Unmanaged
}

/** Why a plan is impossible: another owner has the name, or a reference would lose its target. */
export interface Conflict {
  readonly kind: Kind
  readonly name: string
  /** A sentence that names the other owner and, if known, the file and line. */
  readonly message: string
  /** The declaration in this tree. */
  readonly place?: SourceLine
  /** The declaration of the other owner. */
  readonly other?: SourceLine
}

/** An endpoint to probe, with the models to request. */
export interface ProbeOrder {
  readonly endpoint: Resource
  readonly models: readonly string[]
}

export interface ProbeFailure {
  readonly endpoint: string
  readonly model: string
  /** The problem, and how to fix it. Never a secret. */
  readonly cause: string
  readonly hint: string
}

/** Returns the reasons why a gateway could not serve these resources; empty if it could. */
export type Check = (resources: readonly ServedResource[]) => Promise<readonly string[]>

export interface ApplyContext {
  readonly origin: Origin
  readonly author?: string
  readonly gitCommit?: string
  readonly check: Check
}

export interface Applied {
  /** The new revision, or the old one if nothing changed. */
  readonly revision: number
  readonly counts: Counts
}

/**
 * Why a key works or not. `disabled`: in its configuration · `suspended`: manually · `expired`: the policy or the last
 * secret · `no_secret`: none was issued.
 */
export type KeyState = 'active' | 'disabled' | 'suspended' | 'expired' | 'no_secret'

/** The source of a key's secret: minted here, or from the configuration. */
export type SecretSource = 'issued' | 'hash' | 'reference'

/** A key in the format of `gw keys list` and `gw keys show`; never a secret or a digest. */
export interface KeyView {
  readonly name: string
  readonly kind: 'platform' | 'tenant'
  readonly displayName?: string
  readonly tenant?: string
  readonly models: readonly string[]
  readonly limits: Key['limits']
  readonly quota?: NonNullable<Key['quota']>
  readonly budget?: {
    readonly amountNano: bigint
    readonly per: 'day' | 'month' | 'total'
    readonly timezone: string
    readonly mode?: 'shadow'
  }
  readonly expiresAtMs?: number
  readonly state: KeyState
  readonly suspendedAtMs?: number
  readonly owner: Owner
  readonly set?: string
  readonly place?: SourceLine
  readonly createdAtMs: number
  readonly secretSource?: SecretSource
  /** The time and the age of the newest active secret. */
  readonly secretCreatedAtMs?: number
  readonly secretAgeMs?: number
  /** The number of valid secrets: two during the grace period of a rotation. */
  readonly activeSecrets: number
}
