import { cost } from '../schema/cost.ts'
import { type Price, type Usage, usageOf } from '../schema/ledger.ts'
import type { UsageDialect } from '../schema/paths.ts'
import type { PublicationEntry } from '../snapshot/types.ts'
import type { Content } from './content.ts'

/** What an answer consists of, by the format of its usage. */
export const PRODUCES = {
  openai_chat: 'text',
  completions: 'text',
  responses: 'text',
  anthropic_messages: 'text',
  embeddings: 'embeddings',
  rerank: 'ranking',
  images: 'images',
  speech: 'speech',
  moderations: 'verdicts',
  transcription: 'transcript',
} as const satisfies Record<UsageDialect, string>

/** The parts of a request that determine its hold. */
export interface Demand {
  /** Embeddings, rankings and verdicts of a moderation have no output tokens. */
  readonly produces: 'text' | 'embeddings' | 'ranking' | 'images' | 'speech' | 'verdicts' | 'transcript'
  readonly content: Content
  /** The output limit of the client. */
  readonly outputLimit?: number | undefined
  /** Number of requested answers to each prompt; absent: one. */
  readonly answers?: number | undefined
  /** The gateway adds an output limit if the request has none. */
  readonly isCapped?: boolean | undefined
}

/** The estimated usage and cost of a request (spec/money.md §1). */
export interface Estimate {
  /** Upper bound. */
  readonly inputTokens: number
  /** Upper bound. */
  readonly outputTokens: number
  /** Cost of both in their most expensive classes. 0 without a price. */
  readonly amountNano: bigint
  /** Probable input, billed if no usage is reported (spec/money.md §2). */
  readonly likelyInputTokens: number
  /** Cost of the probable input; 0 without a price. Never more than `amountNano`. */
  readonly likelyInputNano: bigint
  /** Present: the gateway limits the output to the held tokens, so the hold may be smaller. */
  readonly cap?: OutputCap | undefined
}

export interface OutputCap {
  /** Number of answers that share the output. */
  readonly answers: number
  readonly price: Price | undefined
}

const TOKENS_PER_MTOK = 1_000_000n
/** Lower bound for any text, and the value of English text (spec/wire.md §4 counts characters; in English both are equal). */
const BYTES_PER_TOKEN = { bound: 3, likely: 4 } as const
/** No model reads more. */
const MAX_INPUT_TOKENS = 2_000_000
/** No answer is longer; keeps sums of holds within the safe integers. */
const MAX_OUTPUT_TOKENS = 1_000_000_000
/** Assumed output if neither the request nor the publication has a limit. */
const DEFAULT_OUTPUT_TOKENS = 4_096
/** A search unit is up to 100 documents, a document at least a token (Cohere, "How rerank is billed"). */
const DOCUMENTS_PER_SEARCH_UNIT = 100

/** The limits and price of a publication. */
export interface Terms extends Pick<PublicationEntry, 'maxInputTokens' | 'maxOutputTokens'> {
  /** The price in force. */
  readonly price: Price | undefined
}

/** Sizes a hold: an upper bound in practice. A higher bill is still charged in full. */
export function estimate(demand: Demand, publication: Terms): Estimate {
  const { textBytes, media } = demand.content
  const window = Math.min(publication.maxInputTokens ?? MAX_INPUT_TOKENS, MAX_INPUT_TOKENS)
  const inputTokens = Math.min(Math.ceil(textBytes / BYTES_PER_TOKEN.bound) + media.bound, window)
  const likelyInputTokens = Math.min(
    Math.ceil(textBytes / BYTES_PER_TOKEN.likely) + media.likely,
    inputTokens,
  )
  const outputTokens = outputBound(demand, publication.maxOutputTokens)
  const { price } = publication
  const cap = capOf(demand, price)
  if (!price)
    return { inputTokens, outputTokens, amountNano: 0n, likelyInputTokens, likelyInputNano: 0n, cap }
  const { characters = 0, durationMs } = demand.content
  const searchUnits = demand.produces === 'ranking' ? Math.ceil(inputTokens / DOCUMENTS_PER_SEARCH_UNIT) : 0
  const images = imagesOf(demand)
  const amountNano = dearest(price, inputTokens, {
    outputTokens,
    searchUnits,
    characters,
    images,
    durationMs: durationMs?.bound ?? 0,
  })
  const likelyInputNano = cost(
    price,
    usageOf({ inputTokens: likelyInputTokens, characters, durationMs: durationMs?.likely ?? 0 }),
  )
  return { inputTokens, outputTokens, amountNano, likelyInputTokens, likelyInputNano, cap }
}

/** A shorter truncated answer is worth less than a rejection, which costs nothing. */
const LEAST_ANSWER_TOKENS = 256

/** The remainder of the strict limits. */
export interface Remaining {
  readonly tokens: number
  /** Absent: no money limit. */
  readonly nano?: bigint | undefined
}

/**
 * Shrinks the output to the remaining limits. Returns the estimate unchanged if it fits, if the output is not capped, or
 * if the answer would be uselessly short: the limits reject it then.
 */
export function fitted(estimate: Estimate, remaining: Remaining): Estimate {
  const { cap, inputTokens, outputTokens } = estimate
  if (!cap) return estimate
  const most = Math.min(remaining.tokens - inputTokens, affordable(estimate, cap, remaining.nano))
  if (most >= outputTokens) return estimate
  const each = Math.floor(most / cap.answers)
  if (each < Math.min(LEAST_ANSWER_TOKENS, outputTokens / cap.answers)) return estimate
  const shrunk = each * cap.answers
  const amountNano = cap.price ? dearest(cap.price, inputTokens, { outputTokens: shrunk }) : 0n
  return { ...estimate, outputTokens: shrunk, amountNano }
}

/** Output tokens that the money covers in addition to the input. Rounded down, because the total is rounded up. */
function affordable({ inputTokens }: Estimate, { price }: OutputCap, nano: bigint | undefined): number {
  if (nano === undefined || !price || price.outputNanoPerMtok === 0n) return Number.POSITIVE_INFINITY
  const leftNano = nano - dearest(price, inputTokens, {})
  return leftNano <= 0n ? 0 : Number((leftNano * TOKENS_PER_MTOK) / price.outputNanoPerMtok)
}

/** A client's own limit is kept, also a 0, whose meaning differs between servers. */
function capOf(demand: Demand, price: Price | undefined): OutputCap | undefined {
  const { isCapped, produces, outputLimit } = demand
  if (!isCapped || produces !== 'text' || outputLimit !== undefined) return undefined
  return { answers: answersOf(demand), price }
}

/** A usage that has only input. */
export function inputOnly(inputTokens: number): Usage {
  return usageOf({ inputTokens })
}

/** The images that a request asks for. */
export function imagesOf({ produces, answers = 1 }: Pick<Demand, 'produces' | 'answers'>): number {
  return produces === 'images' ? answers : 0
}

/** The probable output of images whose usage is not reported. */
export function likelyImageTokens(images: number, { outputTokens }: Estimate): number {
  return Math.min(images * LIKELY_IMAGE_TOKENS, outputTokens)
}

/** OpenAI: an image of high quality has up to 6,240 tokens, and 100 for each of three previews. */
const IMAGE_OUTPUT_TOKENS = 8_192
/** OpenAI: a square image of high quality. */
const LIKELY_IMAGE_TOKENS = 4_160
/** Speech has about 20 tokens a second, in which one reads some 15 characters. */
const SPEECH_TOKENS_PER_CHARACTER = 4

/** Fast speech has five words a second. */
const TRANSCRIPT_TOKENS_PER_SECOND = 8
/** Those of OpenAI have at most 2,000 tokens for each of at most a few parts of 25 MB. */
const TRANSCRIPT_TOKENS = 16_384

/** A limit of 0 counts as none: some servers interpret it as "unlimited". */
function outputBound(demand: Demand, published: number | undefined): number {
  const { outputLimit: asked = 0, produces, content } = demand
  switch (produces) {
    case 'text': {
      const each = asked > 0 ? asked : (published ?? DEFAULT_OUTPUT_TOKENS)
      return Math.min(each * answersOf(demand), MAX_OUTPUT_TOKENS)
    }
    case 'images':
      return Math.min((published ?? IMAGE_OUTPUT_TOKENS) * answersOf(demand), MAX_OUTPUT_TOKENS)
    case 'speech':
      return Math.min((content.characters ?? 0) * SPEECH_TOKENS_PER_CHARACTER, MAX_OUTPUT_TOKENS)
    case 'transcript': {
      const seconds = (content.durationMs?.bound ?? 0) / 1_000
      return Math.min(Math.ceil(seconds * TRANSCRIPT_TOKENS_PER_SECOND), published ?? TRANSCRIPT_TOKENS)
    }
    case 'embeddings':
    case 'ranking':
    case 'verdicts':
      return 0
  }
}

function answersOf({ answers = 1, content }: Demand): number {
  return answers * (content.prompts ?? 1)
}

/** The cost with all input in its most expensive class. */
function dearest(price: Price, inputTokens: number, more: Partial<Usage>): bigint {
  const { inputNanoPerMtok: fresh, cachedInputNanoPerMtok: cached, cacheWriteNanoPerMtok: written } = price
  const inWrites = written >= fresh && written >= cached
  const inReads = !inWrites && cached >= fresh
  return cost(
    price,
    usageOf({
      ...more,
      inputTokens,
      cachedInputTokens: inReads ? inputTokens : 0,
      cacheWriteTokens: inWrites ? inputTokens : 0,
    }),
  )
}
