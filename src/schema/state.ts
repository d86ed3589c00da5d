import type { Resource } from './kinds.ts'
import type { StoredCredential } from './stored-credential.ts'

/** The state that a gateway serves: one revision of the configuration, and the manual changes beside it. */
export interface ServedState {
  /** 0 before the first apply. */
  readonly revision: number
  /**
   * Changes with every change of a key's secret, of a suspension, or of the maintenance switch, but not with revisions.
   */
  readonly keyVersion: number
  /** All resources of the revision, in canonical form. */
  readonly resources: readonly ServedResource[]
  readonly secrets: readonly KeySecret[]
  /**
   * Names of manually suspended keys, until the configuration disables them, too. For an earlier revision also the keys
   * that the newest revision has disabled or deleted.
   */
  readonly suspendedKeys: readonly string[]
  /** Credentials that were set over REST; absent if there are none. */
  readonly kept?: readonly StoredCredential[]
  /** Present while `gw maintenance` is on, regardless of the settings of the revision. */
  readonly maintenance?: MaintenanceSwitch
}

/** The manual maintenance switch: on until it is switched off manually. */
export interface MaintenanceSwitch {
  /** The error message for clients; absent: the message of the settings. */
  readonly message?: string
  /** The user who switched it on. */
  readonly author?: string
  /** Milliseconds since the epoch. */
  readonly sinceMs: number
}

export interface ServedResource extends Resource {
  /** When it was first applied, milliseconds since the epoch. */
  readonly createdAtMs: number
  /** The account for usage and spend; absent if it equals the name. */
  readonly account?: string
}

/** A minted secret; only its hash is stored. */
export interface KeySecret {
  /** The name of the key. */
  readonly key: string
  /** SHA-256 of the secret, in lower-case hexadecimal digits. */
  readonly digest: string
  /** End of the grace period after a rotation, milliseconds since the epoch. */
  readonly expiresAtMs?: number
}
