import { GwError } from '../base/catalogue/wire.ts'

/**
 * The types that limits, ledger and reports share. Money is integer nano-units (1e-9) of the currency; a charge is
 * rounded up once.
 */

/** The usage of an answer, as the upstream reported it (spec/wire.md §4) or as estimated. */
export interface Usage {
  /** All input tokens, including cached and cache-written ones. */
  readonly inputTokens: number
  /** The part of the input that was read from a cache. */
  readonly cachedInputTokens: number
  /** The part of the input that was written to a cache. */
  readonly cacheWriteTokens: number
  /** Includes reasoning tokens. */
  readonly outputTokens: number
  readonly searchUnits: number
  /** Audio that was heard, in whole milliseconds. */
  readonly durationMs: number
  /** Text that was read aloud, in characters. */
  readonly characters: number
  /** Images that were made. */
  readonly images: number
}

/**
 * A usage of these parts; the others are 0. Field by field: all usages have one hidden class, and its readers stay fast.
 */
export function usageOf(parts: Partial<Usage>): Usage {
  return {
    inputTokens: parts.inputTokens ?? 0,
    cachedInputTokens: parts.cachedInputTokens ?? 0,
    cacheWriteTokens: parts.cacheWriteTokens ?? 0,
    outputTokens: parts.outputTokens ?? 0,
    searchUnits: parts.searchUnits ?? 0,
    durationMs: parts.durationMs ?? 0,
    characters: parts.characters ?? 0,
    images: parts.images ?? 0,
  }
}

export function hasUnitsBesideTokens({ searchUnits, durationMs, characters, images }: Usage): boolean {
  return searchUnits + durationMs + characters + images > 0
}

/** The price of a publication; nano-units per million tokens, and for each of the other units. */
export interface Price {
  readonly inputNanoPerMtok: bigint
  readonly outputNanoPerMtok: bigint
  readonly cachedInputNanoPerMtok: bigint
  readonly cacheWriteNanoPerMtok: bigint
  readonly requestNano: bigint
  readonly searchUnitNano: bigint
  /** Charged for exact milliseconds. */
  readonly secondNano: bigint
  readonly characterNano: bigint
  readonly imageNano: bigint
}

/** The key, tenant and target of a request. The same for all rows of its attempt. */
export interface Claim {
  /** Created by the gateway before dispatch; with `attempt` the identity of a hold. */
  readonly requestId: string
  /** Counts from 1. */
  readonly attempt: number
  readonly key: string
  /** Absent for a platform key. */
  readonly tenant?: string | undefined
  readonly publication: string
  readonly endpoint: string
}

/** The largest amount of one ledger entry: a signed integer of 64 bits. Sums, stored in two parts, may be larger. */
export const MAX_AMOUNT_NANO = 2n ** 63n - 1n

/** The parts of an input that are not counted in tokens. */
export type InputUnits = Pick<Usage, 'durationMs' | 'characters' | 'images'>

/** The reservation of a request until its cost is known. */
export interface Hold extends Claim {
  readonly openedAtMs: number
  /** After it the sweeper may end the hold. */
  readonly deadlineMs: number
  readonly amountNano: bigint
  readonly tokens: number
  /** The estimate of the input alone: the charge if the usage stays unknown (spec/money.md §1). */
  readonly inputTokens: number
  readonly inputAmountNano: bigint
  /** The units of the input that are no tokens, if there are any; `inputAmountNano` includes them. */
  readonly inputUnits?: InputUnits | undefined
  /** The tenant's balance must cover the hold, or the ledger rejects it. */
  readonly prepaid?: boolean | undefined
  /** For the call log, if the gateway ends before the call; absent if such calls have no line in it. */
  readonly call?: { readonly path: string; readonly stream: boolean } | undefined
  /** The price of a later settlement, see `priceText`; absent without a price. */
  readonly price?: string | undefined
}

/** A prepaid balance does not cover a hold, which was not opened. Carries the numbers at that moment. */
export class BalanceShort extends Error {
  override readonly name = 'BalanceShort'
  readonly balanceNano: bigint
  /** The amount that other open holds reserve. */
  readonly heldNano: bigint
  constructor({ balanceNano, heldNano }: { readonly balanceNano: bigint; readonly heldNano: bigint }) {
    super('the prepaid balance does not cover the hold')
    this.balanceNano = balanceNano
    this.heldNano = heldNano
  }
}

/**
 * A hold was rejected, but the store may have it. No other call may use its part of a limit until `decided`: if its gateway
 * were killed before, both would be charged.
 */
export class UndecidedHold extends GwError {
  override readonly name = 'UndecidedHold'
  /** Resolves when the store does not have the hold, or has its end. */
  readonly decided: Promise<void>
  constructor(reason: string, decided: Promise<void>) {
    super('unavailable', undefined, { reason })
    this.decided = decided
  }
}

/** Special conditions of a charge, in the order in which they are shown. Stores have the place of each: append only. */
export const FLAGS = ['interrupted', 'swept', 'client_gone', 'partial', 'estimated', 'unpriced'] as const
export type Flag = (typeof FLAGS)[number]

/** The end of a hold with a charge, which may be 0: exactly one for each hold that was dispatched and answered. */
export interface Settlement extends Claim {
  readonly kind: 'settle'
  readonly endedAtMs: number
  readonly amountNano: bigint
  readonly usage: Usage
  readonly flags: readonly Flag[]
  /** What the upstream keeps of the answer under its own ids; absent if it keeps nothing. */
  readonly stored?: StoredIds | undefined
}

/** The ids of an answer that later calls may name: of the response, and of its output items. */
export interface StoredIds {
  /** The response, first, and its items. */
  readonly ids: readonly string[]
  /** Input and output of the answer: bounds the input of a call that continues the response. */
  readonly tokens: number
  /** Bounds the input of a call that refers to an item. */
  readonly outputTokens: number
  readonly expiresAtMs: number
}

/** The owner of a stored response, and the endpoint that keeps it: names of accounts, as in {@link Claim}. */
export interface StoredResponse {
  readonly id: string
  readonly key: string
  /** Absent for a platform key. */
  readonly tenant?: string | undefined
  readonly publication: string
  readonly endpoint: string
  /** Upper bound of the tokens that it adds to the input of a call. */
  readonly tokens: number
  readonly expiresAtMs: number
}

/** The end of a hold without a charge. */
export interface Release extends Claim {
  readonly kind: 'release'
  readonly endedAtMs: number
  /** For operators: an error code of the catalogue, or `client_gone`. */
  readonly reason: string
}

export type HoldEnd = Settlement | Release

/** The outcome of a call in the call log; `rejected` is by the limits of the upstream, not of the gateway. */
export const CALL_OUTCOMES = [
  'answered',
  'rejected',
  'failed',
  'broken',
  'client_gone',
  'interrupted',
] as const

/** One line of the call log (spec/money.md §1). Never contains a prompt or a secret. */
export interface CallRecord {
  readonly requestId: string
  readonly atMs: number
  readonly key: string
  readonly tenant?: string | undefined
  readonly publication: string
  readonly endpoint?: string | undefined
  /** The node that served it, of an endpoint on nodes. */
  readonly node?: string | undefined
  readonly protocol: 'openai' | 'anthropic'
  readonly path: string
  readonly status: number
  readonly stream: boolean
  readonly outcome: string
  readonly errorCode?: string | undefined
  readonly usage?: Usage | undefined
  readonly amountNano: bigint
  readonly flags: readonly Flag[]
  readonly latencyMs: number
  readonly firstByteMs?: number | undefined
  readonly attempts: number
  /** The cause of a failure, for the operator: the upstream's answer, or a transport error. */
  readonly reason?: string | undefined
  /** Each failed attempt: `oai: upstream_error (ECONNREFUSED)`, `qwen on gpu-7: upstream_error (ECONNRESET)`. */
  readonly failedAttempts?: readonly string[] | undefined
}

/**
 * A call that was rejected before dispatch, with the number of equal rejections within the same second. Never contains
 * a prompt or a secret.
 */
export interface RejectedCall {
  readonly requestId: string
  readonly atMs: number
  /** Absent if the key is unknown. */
  readonly key?: string | undefined
  readonly tenant?: string | undefined
  /** The model name from the client, truncated; absent if the body was not read. */
  readonly askedModel?: string | undefined
  readonly protocol: 'openai' | 'anthropic'
  readonly path: string
  readonly status: number
  readonly errorCode: string
  /** The error message for the client: the limit, its owner, and the numbers. */
  readonly message: string
  /** Details for the operator only. */
  readonly reason?: string | undefined
  readonly count: number
}

/** The past usage of a key in the ledger, from which the limits continue. */
export interface KeySums {
  readonly key: string
  /** Settled input and output tokens over the lifetime of the key. */
  readonly totalTokens: number
  /** Settled money over the lifetime of the key. */
  readonly totalNano: bigint
  /** Settled money since the start of the query. */
  readonly windowNano: bigint
}

/** The sums of a key that a limiter needs. */
export interface KeySumsQuery {
  readonly key: string
  /** Start of its budget window, milliseconds since the epoch, a multiple of a quarter of an hour. */
  readonly sinceMs: number
}
