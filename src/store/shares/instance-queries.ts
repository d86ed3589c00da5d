import type { DeclaredShare, ScopeName, ShareMessage, ShareReply } from '../../schema/shares.ts'

/** Queries about the gateways of a store, and the limits that they share. */
export type InstanceQuery =
  /**
   * Registers this gateway, after everything that an earlier one left in its lane has been settled.
   * @param isShared It admits from shares also if it is alone, because others will join.
   */
  | { readonly query: 'join'; readonly isShared: boolean }
  | { readonly query: 'instances' }
  /** This gateway was alone; now it has declared what it uses, and admits from its shares. */
  | { readonly query: 'declare'; readonly shares: readonly DeclaredShare[] }
  | { readonly query: 'share'; readonly message: ShareMessage }
  /** This gateway ends: all its calls have ended. */
  | { readonly query: 'leave' }

export interface InstanceAnswers {
  readonly join: Joined
  readonly instances: Instances
  readonly declare: undefined
  readonly share: ShareReply
  readonly leave: undefined
}

export interface Joined {
  /** Of this gateway; never used before. */
  readonly instance: string
  /** All limits are its own, and there are no shares. */
  readonly isWhole: boolean
  /** How long it keeps its shares without a message; absent: until its process ends. */
  readonly leaseMs?: number
}

export interface Instance {
  readonly id: string
  readonly lane: number
  readonly isWhole: boolean
}

export interface Instances {
  /** All that have joined, also those that have died since. */
  readonly instances: readonly Instance[]
  /** Limits of which other gateways need what this one does not use. */
  readonly recalled: readonly ScopeName[]
}
