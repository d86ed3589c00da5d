/**
 * What limits, ledger and reports tell each other. Money is integer nano-units (1e-9) of the currency; a bill is
 * rounded up once.
 */

/** What an answer cost in tokens, as the upstream reported it (spec/wire.md §4) or as it was estimated. */
export interface Usage {
  /** All input, cached and cache-written tokens included. */
  readonly inputTokens: number
  /** Of the input: read from a cache. */
  readonly cachedInputTokens: number
  /** Of the input: written to a cache. */
  readonly cacheWriteTokens: number
  /** Reasoning included. */
  readonly outputTokens: number
  readonly searchUnits: number
}

/** The price of a publication; nano-units per million tokens, per request, per search unit. */
export interface Price {
  readonly inputNanoPerMtok: bigint
  readonly outputNanoPerMtok: bigint
  readonly cachedInputNanoPerMtok: bigint
  readonly cacheWriteNanoPerMtok: bigint
  readonly requestNano: bigint
  readonly searchUnitNano: bigint
}

/** Whom a request belongs to and what it asked for. The same for all rows of its attempt. */
export interface Claim {
  /** Made by the gateway before dispatch; with `attempt` the identity of a hold. */
  readonly requestId: string
  /** Counts from 1. */
  readonly attempt: number
  readonly key: string
  /** Absent for a platform key. */
  readonly tenant?: string | undefined
  readonly publication: string
  readonly endpoint: string
}

/** The largest amount of one line of the ledger: a signed integer of 64 bits. Sums, kept in two parts, may be larger. */
export const MAX_AMOUNT_NANO = 2n ** 63n - 1n

/** What admission holds for a request until its cost is known. */
export interface Hold extends Claim {
  readonly openedAtMs: number
  /** From then on a sweeper may end it. */
  readonly deadlineMs: number
  readonly amountNano: bigint
  readonly tokens: number
  /** What it is settled at when nothing was learned of it: what its input alone probably is (spec/money.md §1). */
  readonly inputTokens: number
  readonly inputAmountNano: bigint
  /** The tenant's balance must cover it: the ledger rejects it where it does not. */
  readonly prepaid?: boolean | undefined
  /** For the call log, should the gateway end before the call does; absent where it has no line for such calls. */
  readonly call?: { readonly path: string; readonly stream: boolean } | undefined
  /** What a settlement of it will be charged by, see `priceText`; absent where it has no price. */
  readonly price?: string | undefined
}

/** A prepaid balance does not cover a hold, which was not opened. With what the ledger knew at that moment. */
export class BalanceShort extends Error {
  override readonly name = 'BalanceShort'
  readonly balanceNano: bigint
  /** What other open holds have taken of it. */
  readonly heldNano: bigint
  constructor({ balanceNano, heldNano }: { readonly balanceNano: bigint; readonly heldNano: bigint }) {
    super('the prepaid balance does not cover the hold')
    this.balanceNano = balanceNano
    this.heldNano = heldNano
  }
}

/** Why a bill is not simply "answered, usage reported". */
export type Flag = 'estimated' | 'client_gone' | 'partial' | 'interrupted' | 'unpriced' | 'swept'

/** The end of a hold that cost something, or could have: exactly one for each hold that was dispatched and answered. */
export interface Settlement extends Claim {
  readonly kind: 'settle'
  readonly endedAtMs: number
  readonly amountNano: bigint
  readonly usage: Usage
  readonly flags: readonly Flag[]
}

/** The end of a hold that cost nothing. */
export interface Release extends Claim {
  readonly kind: 'release'
  readonly endedAtMs: number
  /** For people: an error code of the catalogue, or `client_gone`. */
  readonly reason: string
}

export type HoldEnd = Settlement | Release

/** How a call ended, as the call log has it; `rejected` is by its upstream's limits, not by ours. */
export const CALL_OUTCOMES = [
  'answered',
  'rejected',
  'failed',
  'broken',
  'client_gone',
  'interrupted',
] as const

/** One line of the call log (spec/money.md §1). Never a prompt, never a secret. */
export interface CallRecord {
  readonly requestId: string
  readonly atMs: number
  readonly key: string
  readonly tenant?: string | undefined
  readonly publication: string
  readonly endpoint?: string | undefined
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
  /** Why it failed, for the operator: what the upstream answered, or the cause of the transport. */
  readonly reason?: string | undefined
  /** Each failed attempt: `oai: upstream_error (ECONNREFUSED)`. */
  readonly failedAttempts?: readonly string[] | undefined
}

/**
 * A call that was rejected before it was dispatched, with the number of calls that were rejected alike within the same
 * second. Never a prompt, never a secret.
 */
export interface RejectedCall {
  readonly requestId: string
  readonly atMs: number
  /** Absent where the key was not known. */
  readonly key?: string | undefined
  readonly tenant?: string | undefined
  /** The model as the client wrote it, cut; absent where the body was not read. */
  readonly askedModel?: string | undefined
  readonly protocol: 'openai' | 'anthropic'
  readonly path: string
  readonly status: number
  readonly errorCode: string
  /** What the client was told: which limit, whose, and the numbers. */
  readonly message: string
  /** What only the operator is told. */
  readonly reason?: string | undefined
  readonly count: number
}

/** What a key has used so far, by the ledger: the point from which the limits count on. */
export interface KeySums {
  readonly key: string
  /** Settled tokens, input and output, for life. */
  readonly totalTokens: number
  /** Settled money for life. */
  readonly totalNano: bigint
  /** Settled money since the start that was asked for. */
  readonly windowNano: bigint
}

/** Which sums a limiter needs of a key. */
export interface KeySumsQuery {
  readonly key: string
  /** Start of its budget window, milliseconds since the epoch, a multiple of a quarter of an hour. */
  readonly sinceMs: number
}
