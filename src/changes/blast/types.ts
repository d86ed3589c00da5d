import type { Kind } from '../../schema/kinds.ts'

/** What a plan means for those who call: what its fields do not say. All lists are sorted. */
export interface BlastRadius {
  readonly access: readonly AccessChange[]
  /** Keys that could call something before and lose some of it, or all. */
  readonly brokenKeys: number
  /** Publications that lose their last usable endpoint: calls will answer 503. */
  readonly unserved: readonly string[]
  readonly prices: readonly PriceMove[]
  readonly limits: readonly LoweredLimit[]
  readonly endings: readonly Ending[]
  /** A label for amounts of money. */
  readonly currency: string
  /** The moment that it is of, milliseconds since the epoch. */
  readonly atMs: number
}

/** Keys that lose and gain the same models. Keys that are new, or go away, are not among them. */
export interface AccessChange {
  readonly keys: readonly string[]
  readonly loses: readonly string[]
  readonly gains: readonly string[]
  /** Nothing is left that they may call. */
  readonly losesAll: boolean
}

export const PRICE_PARTS = [
  'input',
  'output',
  'cached_input',
  'cache_write',
  'per_request',
  'per_search_unit',
] as const
export type PricePart = (typeof PRICE_PARTS)[number]

/** A part of a price that is another one as soon as the plan is applied. */
export interface PriceMove {
  readonly publication: string
  readonly part: PricePart
  /** Absent where the publication has no price then. */
  readonly beforeNano?: bigint
  readonly afterNano?: bigint
  /** To a tenth; absent where there is nothing to compare with. */
  readonly percent?: number
}

/** A limit that would reject what was used lately. Money in nano-units, all else in counts. */
export interface LoweredLimit {
  readonly kind: 'key' | 'tenant'
  readonly name: string
  readonly limit: 'rpm' | 'tpm' | 'quota' | 'budget'
  /** Absent where there was none. */
  readonly before?: bigint
  readonly after: bigint
  /**
   * Of a rate the average minute of the busiest quarter of an hour in the last 24 hours; else what is spent already.
   */
  readonly used: bigint
}

/** Something that served or was served, and will no more: it is deleted, or switched off. */
export interface Ending {
  readonly kind: Kind
  readonly name: string
  readonly how: 'deleted' | 'disabled'
  /** Of the last 24 hours. */
  readonly day: Traffic
  /** To a quarter of an hour; absent where nothing was settled in the last 30 days. */
  readonly lastUsedAtMs?: number
}

export interface Traffic {
  readonly requests: number
  /** Input and output. */
  readonly tokens: number
  readonly amountNano: bigint
}
