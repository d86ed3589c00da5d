import { cost } from '../schema/cost.ts'
import { MAX_AMOUNT_NANO, type Price, type Usage } from '../schema/ledger.ts'
import type { PublicationEntry } from '../snapshot/types.ts'
import type { Content } from './content.ts'

/** What of a request decides how much is held for it. */
export interface Demand {
  /** Chat and messages produce text; the others report no output tokens. */
  readonly produces: 'text' | 'embeddings' | 'ranking'
  readonly content: Content
  readonly maxTokens?: number | undefined
  readonly maxCompletionTokens?: number | undefined
  /** How many answers were asked for; absent or 0: one. */
  readonly n?: number | undefined
  /** The gateway bounds the answer where the request does not. */
  readonly isCapped?: boolean | undefined
}

/** What a request may come to, before it is known (spec/money.md §1). */
export interface Estimate {
  /** At most. */
  readonly inputTokens: number
  /** At most. */
  readonly outputTokens: number
  /** Of both, at the dearest classes that they can reach. 0 without a price. */
  readonly amountNano: bigint
  /** What the input probably is: what is billed where nobody reports it (spec/money.md §2). */
  readonly likelyInputTokens: number
  /** What that costs; 0 without a price. Never more than `amountNano`. */
  readonly likelyInputNano: bigint
  /** Present: the output is bounded by what is held, which therefore may be less. */
  readonly cap?: OutputCap | undefined
}

export interface OutputCap {
  /** How many answers share the output. */
  readonly answers: number
  readonly price: Price | undefined
}

const TOKENS_PER_MTOK = 1_000_000n
/** A bound for text, and what English text has (spec/wire.md §4 says characters; for English bytes are the same). */
const BYTES_PER_TOKEN = { bound: 3, likely: 4 } as const
/** No model reads more, whatever the body weighs. */
const MAX_INPUT_TOKENS = 2_000_000
/** No answer is longer; a client that asks for more must not carry sums of holds beyond exact integers. */
const MAX_OUTPUT_TOKENS = 1_000_000_000
/** What a request that names no limit may come to where its publication names none either. */
const DEFAULT_OUTPUT_TOKENS = 4_096
/** A search unit is up to 100 documents, a document at least a token (Cohere, "How rerank is billed"). */
const DOCUMENTS_PER_SEARCH_UNIT = 100

/** What of a publication decides it. */
export interface Terms extends Pick<PublicationEntry, 'maxInputTokens' | 'maxOutputTokens'> {
  /** The one in force. */
  readonly price: Price | undefined
}

/** Sizes a hold. An upper bound for what callers send; a bill that comes out higher is still billed as it is. */
export function estimate(demand: Demand, publication: Terms): Estimate {
  const { textBytes, media } = demand.content
  const window = Math.min(publication.maxInputTokens ?? MAX_INPUT_TOKENS, MAX_INPUT_TOKENS)
  const inputTokens = Math.min(Math.ceil(textBytes / BYTES_PER_TOKEN.bound) + media.bound, window)
  const likelyInputTokens = Math.min(
    Math.ceil(textBytes / BYTES_PER_TOKEN.likely) + media.likely,
    inputTokens,
  )
  const outputTokens = demand.produces === 'text' ? outputBound(demand, publication.maxOutputTokens) : 0
  const { price } = publication
  const cap = capOf(demand, price)
  if (!price)
    return { inputTokens, outputTokens, amountNano: 0n, likelyInputTokens, likelyInputNano: 0n, cap }
  const searchUnits = demand.produces === 'ranking' ? Math.ceil(inputTokens / DOCUMENTS_PER_SEARCH_UNIT) : 0
  const amountNano = atMost(dearest(price, inputTokens, outputTokens, searchUnits))
  const likelyInputNano = atMost(cost(price, inputOnly(likelyInputTokens)))
  return { inputTokens, outputTokens, amountNano, likelyInputTokens, likelyInputNano, cap }
}

/** Below this an answer that is cut is worth less than a rejection, which costs nothing. */
const LEAST_ANSWER_TOKENS = 256

/** What strict limits leave for a request. */
export interface Remaining {
  readonly tokens: number
  /** Absent: no limit of money. */
  readonly nano?: bigint | undefined
}

/**
 * The same request with as much output as there is room for. Unchanged if it fits, if nothing bounds its answer, or if
 * an answer would be too short to be of use: the limits reject it then.
 */
export function fitted(estimate: Estimate, remaining: Remaining): Estimate {
  const { cap, inputTokens, outputTokens } = estimate
  if (!cap) return estimate
  const most = Math.min(remaining.tokens - inputTokens, affordable(estimate, cap, remaining.nano))
  if (most >= outputTokens) return estimate
  const each = Math.floor(most / cap.answers)
  if (each < Math.min(LEAST_ANSWER_TOKENS, outputTokens / cap.answers)) return estimate
  const shrunk = each * cap.answers
  const amountNano = cap.price ? atMost(dearest(cap.price, inputTokens, shrunk, 0)) : 0n
  return { ...estimate, outputTokens: shrunk, amountNano }
}

/** Output tokens that the money pays for beside the input. Rounded down: the whole rounds up once. */
function affordable({ inputTokens }: Estimate, { price }: OutputCap, nano: bigint | undefined): number {
  if (nano === undefined || !price || price.outputNanoPerMtok === 0n) return Number.POSITIVE_INFINITY
  const leftNano = nano - dearest(price, inputTokens, 0, 0)
  return leftNano <= 0n ? 0 : Number((leftNano * TOKENS_PER_MTOK) / price.outputNanoPerMtok)
}

/** A client's own limit stays the client's, also a 0, of which servers differ on what it means. */
function capOf(demand: Demand, price: Price | undefined): OutputCap | undefined {
  const { isCapped, produces, maxTokens, maxCompletionTokens, n } = demand
  if (!isCapped || produces !== 'text') return undefined
  if (maxTokens !== undefined || maxCompletionTokens !== undefined) return undefined
  return { answers: Math.max(n ?? 1, 1), price }
}

/** The usage of a call of which nothing but its input is known. */
export function inputOnly(inputTokens: number): Usage {
  return { inputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, searchUnits: 0 }
}

/** A limit of 0 is none: servers differ on what it means, and some take it for "unlimited". */
function outputBound(demand: Demand, published: number | undefined): number {
  const asked = Math.max(demand.maxTokens ?? 0, demand.maxCompletionTokens ?? 0)
  const each = asked > 0 ? asked : (published ?? DEFAULT_OUTPUT_TOKENS)
  return Math.min(each * Math.max(demand.n ?? 1, 1), MAX_OUTPUT_TOKENS)
}

/** The amount with all the input in its dearest class. */
function dearest(price: Price, inputTokens: number, outputTokens: number, searchUnits: number): bigint {
  const { inputNanoPerMtok: fresh, cachedInputNanoPerMtok: cached, cacheWriteNanoPerMtok: written } = price
  const inWrites = written >= fresh && written >= cached
  const inReads = !inWrites && cached >= fresh
  return cost(price, {
    inputTokens,
    cachedInputTokens: inReads ? inputTokens : 0,
    cacheWriteTokens: inWrites ? inputTokens : 0,
    outputTokens,
    searchUnits,
  })
}

function atMost(amountNano: bigint): bigint {
  return amountNano > MAX_AMOUNT_NANO ? MAX_AMOUNT_NANO : amountNano
}
