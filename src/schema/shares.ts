/**
 * Limits that several gateways share. Each gateway, an instance, holds a share of every limit that it uses, and admits
 * from its shares without I/O. The grantor in the store grants them. All amounts are whole units of the limit:
 * requests, tokens, or nano-units of money.
 */

/** One limit of one key or tenant. */
export interface ScopeName {
  /** The kind and account of the owner: `key crm`, `tenant acme`. */
  readonly owner: string
  /** Such as `rpm`, `quota`, `budget day Europe/Berlin`. */
  readonly limit: string
}

/**
 * - `sum`: an amount that is spent once, such as a budget. A prepaid balance is one with the bound 0, of which minus the
 *   balance is spent: credits and debits move it.
 * - `rate`: a bucket that drains evenly, see `RateBucket`.
 * - `permits`: an amount that is in use at the same time.
 */
export type ScopeKind = 'sum' | 'rate' | 'permits'

/** The value of a limit, of the configuration's `revision`: among the instances, the newest revision counts. */
export interface ScopeTerms {
  readonly kind: ScopeKind
  /** Of a rate: the burst. */
  readonly bound: bigint
  /** Units that drain each minute; 0 if not a rate. */
  readonly perMinute: bigint
  readonly revision: number
  /** The start of the window that a budget counts in; a later one counts. 0: no window. */
  readonly sinceMs: number
}

/** A report and a request of one instance about one scope. */
export interface ShareRequest {
  readonly scope: ScopeName
  readonly terms: ScopeTerms
  /** Used up since the last request. Of a sum: ended charges, which the ledger has as well. Never of permits. */
  readonly used: bigint
  /** Of a rate: units used beyond the share (debt), or below zero: used units that were not needed after all. */
  readonly corrected: bigint
  /** Returned unused. */
  readonly returned: bigint
  /** The amount that is needed at once; 0: none. Less is no help. */
  readonly least: bigint
  /** The amount that will be needed soon; at least `least`. */
  readonly most: bigint
}

/** What a gateway that was alone uses of a limit, when it begins to share. */
export interface DeclaredShare {
  readonly scope: ScopeName
  readonly terms: ScopeTerms
  /** Held by its open calls; 0 of a rate. */
  readonly amount: bigint
  /** Of a rate: used units × 60,000, of which each millisecond drains `perMinute`. */
  readonly level: bigint
}

export interface ShareAnswer {
  /** The whole share of the instance, before anything that it used or returned after the request. */
  readonly amount: bigint
  readonly granted: bigint
  /** Still without an owner; below zero after a limit was lowered, or passed by a charge that was larger than its hold. */
  readonly free: bigint
  /** Of a sum: spent according to the ledger. */
  readonly spent: bigint
  /** The shares of all instances together. */
  readonly leased: bigint
  /** If nothing was granted: until a rate has drained enough. 0: unknown, the others must return something. */
  readonly waitMs: number
}

/** What all instances together use of a limit, for reports. Calls in flight are not in it. */
export interface SharedLimit extends Pick<ShareAnswer, 'free' | 'spent'> {
  readonly scope: ScopeName
  readonly terms: ScopeTerms
}

/** All requests of an instance at one moment. One that was not answered is sent again, with the same number. */
export interface ShareMessage {
  readonly instance: string
  /** Counts up from 1. */
  readonly number: number
  readonly requests: readonly ShareRequest[]
}

export type ShareReply =
  | {
      readonly is: 'granted'
      /** In the order of the requests. */
      readonly answers: readonly ShareAnswer[]
      /** Other instances wait for units of these limits: return everything that is not in use. */
      readonly recalled: readonly ScopeName[]
    }
  /** The instance is fenced, or unknown: its shares are lost. */
  | { readonly is: 'fenced' }
