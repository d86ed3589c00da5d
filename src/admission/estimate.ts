import { cost } from '../schema/cost.ts'
import type { Price } from '../schema/ledger.ts'
import type { PublicationEntry } from '../snapshot/types.ts'

/** What of a request decides how much is held for it. */
export interface Demand {
  /** Chat and messages produce text; the others report no output tokens. */
  readonly produces: 'text' | 'embeddings' | 'ranking'
  /** Of the whole body, as it came. */
  readonly bodyBytes: number
  readonly maxTokens?: number | undefined
  readonly maxCompletionTokens?: number | undefined
  /** How many answers were asked for; absent or 0: one. */
  readonly n?: number | undefined
}

/** What a request may come to, before it is known (MONEY, "Size"). */
export interface Estimate {
  readonly inputTokens: number
  readonly outputTokens: number
  /** At the dearest classes that it can reach. 0 without a price. */
  readonly amountNano: bigint
  /** The same of the input alone: what is billed where nothing was ever learned of the answer. */
  readonly inputAmountNano: bigint
}

const BYTES_PER_TOKEN = 3
/**
 * Images and other media are inside the body as base64, so a third of its bytes bounds them, too, but far too high:
 * no model reads more than this, whatever the body weighs.
 */
const MAX_INPUT_TOKENS = 2_000_000
/** No answer is longer; a client that asks for more must not carry sums of holds beyond exact integers. */
const MAX_OUTPUT_TOKENS = 1_000_000_000
/** What a column of the ledger can hold: more cannot be held for one request, however it is priced. */
const MAX_AMOUNT_NANO = 2n ** 63n - 1n
/** What a request that names no limit may come to where its publication names none either. */
const DEFAULT_OUTPUT_TOKENS = 4_096
/** A search unit is up to 100 documents, a document at least a token (Cohere, "How rerank is billed"). */
const DOCUMENTS_PER_SEARCH_UNIT = 100

/** Sizes a hold. An upper bound for what callers send; a bill that comes out higher is still billed as it is. */
export function estimate(
  demand: Demand,
  publication: Pick<PublicationEntry, 'price' | 'maxOutputTokens'>,
): Estimate {
  const inputTokens = Math.min(Math.ceil(demand.bodyBytes / BYTES_PER_TOKEN), MAX_INPUT_TOKENS)
  const outputTokens = demand.produces === 'text' ? outputBound(demand, publication.maxOutputTokens) : 0
  const { price } = publication
  if (!price) return { inputTokens, outputTokens, amountNano: 0n, inputAmountNano: 0n }
  const searchUnits = demand.produces === 'ranking' ? Math.ceil(inputTokens / DOCUMENTS_PER_SEARCH_UNIT) : 0
  const inputAmountNano = dearest(price, inputTokens, 0, searchUnits)
  const amountNano =
    outputTokens === 0 ? inputAmountNano : dearest(price, inputTokens, outputTokens, searchUnits)
  return { inputTokens, outputTokens, amountNano, inputAmountNano }
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
  const amountNano = cost(price, {
    inputTokens,
    cachedInputTokens: inReads ? inputTokens : 0,
    cacheWriteTokens: inWrites ? inputTokens : 0,
    outputTokens,
    searchUnits,
  })
  return amountNano > MAX_AMOUNT_NANO ? MAX_AMOUNT_NANO : amountNano
}
