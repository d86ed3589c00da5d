import type { Kind } from '../../../schema/kinds.ts'
import type { CallPath } from '../../../schema/paths.ts'

/** The impact of a plan on callers, beyond its changed fields. All lists are sorted. */
export interface BlastRadius {
  readonly access: readonly AccessChange[]
  /** Keys that lose some or all of their models: those with a valid secret or, in a store that issued none, all. */
  readonly brokenKeys: number
  /** Some key has a valid secret. Without one nothing can be in use, as in a store that was made for a review. */
  readonly hasClients: boolean
  /** Publications that lose their last usable endpoint: calls will answer 503. */
  readonly unserved: readonly string[]
  /** Publications that keep an endpoint, but not at all their paths. */
  readonly paths: readonly PathLoss[]
  readonly prices: readonly PriceMove[]
  readonly limits: readonly LoweredLimit[]
  readonly endings: readonly Ending[]
  readonly nodes: readonly NodeMove[]
  /** The currency label of amounts. */
  readonly currency: string
  /** The time of the analysis, milliseconds since the epoch. */
  readonly atMs: number
}

/** Keys that lose and gain the same models; without new and deleted keys. */
export interface AccessChange {
  readonly keys: readonly string[]
  readonly loses: readonly string[]
  readonly gains: readonly string[]
  /** The keys may call no model any more. */
  readonly losesAll: boolean
}

/** Paths at which a publication is no longer served. */
export interface PathLoss {
  readonly publication: string
  readonly loses: readonly CallPath[]
}

export const PRICE_PARTS = [
  'input',
  'output',
  'cached_input',
  'cache_write',
  'per_request',
  'per_search_unit',
  'per_second',
  'per_character',
  'per_image',
] as const
export type PricePart = (typeof PRICE_PARTS)[number]

/** A part of a price that changes with the apply. */
export interface PriceMove {
  readonly publication: string
  readonly part: PricePart
  /** Absent if there is no price then. */
  readonly beforeNano?: bigint
  readonly afterNano?: bigint
  /** Rounded to a tenth; absent if there is nothing to compare with. */
  readonly percent?: number
}

/** A limit that would reject the recent use. Money in nano-units, all else in counts. */
export interface LoweredLimit {
  readonly kind: 'key' | 'tenant'
  readonly name: string
  /** `balance`: the tenant becomes prepaid. */
  readonly limit: 'rpm' | 'tpm' | 'quota' | 'budget' | 'balance'
  /** Absent if there was no limit. */
  readonly before?: bigint
  readonly after: bigint
  /**
   * For a rate: the average minute of the busiest quarter of an hour in the last 24 hours; for a balance the amount
   * spent in these hours; else the amount already spent.
   */
  readonly used: bigint
}

/** A resource in service that is deleted or disabled. */
export interface Ending {
  readonly kind: Kind
  readonly name: string
  readonly how: 'deleted' | 'disabled'
  /** In the last 24 hours. */
  readonly day: Traffic
  /** Rounded to a quarter of an hour; absent if nothing was settled in the last 30 days. */
  readonly lastUsedAtMs?: number
}

/** An endpoint that is new on nodes, or whose nodes change. */
export interface NodeMove {
  readonly endpoint: string
  /** The connected nodes that it may use after the apply. */
  readonly matches: readonly string[]
  /** Those of them that it may not use now; empty for a new endpoint. */
  readonly gains: readonly string[]
  /** Nodes, connected or not, that it may use now and not after, with its requests on them in the last 24 hours. */
  readonly loses: readonly { readonly node: string; readonly requests: number }[]
}

export interface Traffic {
  readonly requests: number
  /** Input and output. */
  readonly tokens: number
  readonly amountNano: bigint
}
