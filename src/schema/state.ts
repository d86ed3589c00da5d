import type { Resource } from './kinds.ts'
import type { StoredCredential } from './stored-credential.ts'

/** What a gateway serves: one revision of the configuration, and what was done by hand beside it. */
export interface ServedState {
  /** 0 where nothing was ever applied. */
  readonly revision: number
  /** Moves with every change of a key's secret, of a hold on a key, or of the maintenance switch; a revision does not. */
  readonly keyVersion: number
  /** All resources of the revision, in canonical form. */
  readonly resources: readonly ServedResource[]
  readonly secrets: readonly KeySecret[]
  /**
   * Names of keys that were disabled by hand: it holds until the configuration disables them, too. Of an earlier revision
   * also those that the newest has closed.
   */
  readonly suspendedKeys: readonly string[]
  /** Credentials that were given over REST; absent where there are none. */
  readonly kept?: readonly StoredCredential[]
  /** Present while `gw maintenance` is on, whatever the settings of the revision say. */
  readonly maintenance?: MaintenanceSwitch
}

/** Maintenance as it was switched on by hand: it holds until it is switched off by hand. */
export interface MaintenanceSwitch {
  /** What clients are told; absent: the message of the settings. */
  readonly message?: string
  /** Who was logged in where it was switched on. */
  readonly author?: string
  /** Milliseconds since the epoch. */
  readonly sinceMs: number
}

export interface ServedResource extends Resource {
  /** When it was first applied, milliseconds since the epoch. */
  readonly createdAtMs: number
  /** Under what it is booked; absent where that is its name. */
  readonly account?: string
}

/** A minted secret, of which only the hash is kept. */
export interface KeySecret {
  /** The name of the key. */
  readonly key: string
  /** SHA-256 of the secret, in lower-case hexadecimal digits. */
  readonly digest: string
  /** End of its grace after a rotation, milliseconds since the epoch. */
  readonly expiresAtMs?: number
}
