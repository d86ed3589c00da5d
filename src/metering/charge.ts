import { cost, isFree } from '../schema/cost.ts'
import { type Flag, type Price, type Usage, usageOf } from '../schema/ledger.ts'
import type { MeasuredUsage } from './answer-meter.ts'

/** The charge of a request. */
export interface Charge {
  readonly usage: Usage
  readonly amountNano: bigint
  readonly flags: readonly Flag[]
}

/** The end of a request that has a hold, with all that determines its charge. */
export interface RequestEnd {
  /**
   * - `answered`: the answer is complete.
   * - `failed`: the client got an error in place of an answer, or would have got one if it had stayed.
   * - `broken`: the upstream broke its answer off, or sent an error inside it.
   * - `client_gone`: the client disconnected first.
   * - `interrupted`: the gateway shut down first.
   */
  readonly outcome: 'answered' | 'failed' | 'broken' | 'client_gone' | 'interrupted'
  /** The error of a `failed`, `broken` or `interrupted` request. */
  readonly errorCode?: string | undefined
  /** The status of the upstream's answer; 0 before it has one. */
  readonly status: number
  /** Sending to the endpoint had begun. */
  readonly wasSent: boolean
  /** A part of the answer had arrived. */
  readonly hasBegun: boolean
  /** The client had disconnected before. */
  readonly clientLeft: boolean
  readonly usage: MeasuredUsage
  readonly onUpstreamError: 'charge' | 'free'
  /** The price in force at dispatch; absent: free, and counted as unpriced. */
  readonly price: Price | undefined
}

/** The end of a hold: a charge, or the reason why there is none. */
export type Verdict =
  | { readonly charge: Charge; readonly reason?: undefined }
  | { readonly charge?: undefined; readonly reason: string }

/** Bytes of text per token in estimates (spec/wire.md §4 counts characters; in English both are equal). */
const BYTES_PER_TOKEN = 4

/** What a request is charged: the table of spec/money.md §2. */
export function chargeFor(end: RequestEnd): Verdict {
  const { outcome, status, errorCode = outcome } = end
  if (outcome === 'failed') return { reason: errorCode }
  if (status >= 400) return { reason: `upstream_${status}` }
  switch (outcome) {
    case 'answered':
      return charged(end)
    case 'broken':
      if (!end.hasBegun || end.onUpstreamError === 'free') return { reason: errorCode }
      return charged(end, end.clientLeft ? 'client_gone' : 'partial')
    case 'client_gone':
      return end.wasSent ? charged(end, 'client_gone') : { reason: 'client_gone' }
    case 'interrupted':
      return end.hasBegun ? charged(end, 'interrupted') : { reason: errorCode }
  }
}

function charged({ outcome, hasBegun, usage: measured, price }: RequestEnd, flag?: Flag): Verdict {
  const isAnswered = outcome === 'answered'
  // An answer with images begins when they are made: who leaves before its end may have seen them.
  const hasImages = measured.images > 0 && (isAnswered || (outcome === 'client_gone' && hasBegun))
  const flags: Flag[] = flag ? [flag] : []
  let usage = measured.isFinal || isAnswered ? measured.reported : undefined
  if (!usage && isAnswered && isPricedByUnits(measured, price)) usage = usageOf({})
  if (!usage) {
    usage = estimated(measured)
    if (hasImages) usage = { ...usage, outputTokens: measured.imageTokens }
    flags.push('estimated')
  }
  if (!price) flags.push('unpriced')
  const { characters, images, durationMs } = measured
  if (durationMs > 0 && usage.durationMs === 0 && price !== undefined && price.secondNano > 0n) {
    usage = { ...usage, durationMs }
    if (!flags.includes('estimated')) flags.push('estimated')
  }
  if (characters > 0) usage = { ...usage, characters }
  if (hasImages) usage = { ...usage, images }
  const amountNano = price ? cost(price, usage) : 0n
  if (isAnswered && amountNano === 0n && price && !isFree(price) && isAnyUsed(usage)) flags.push('unpriced')
  return { charge: { usage, amountNano, flags } }
}

/** The price is for other units, such as a price of reranking for a chat. */
function isAnyUsed(usage: Usage): boolean {
  return Object.values(usage).some(count => count > 0)
}

/** Servers of speech and images often report no tokens; nothing is missing where none are priced. */
function isPricedByUnits({ characters, images }: MeasuredUsage, price: Price | undefined): boolean {
  return (
    characters + images > 0 &&
    price !== undefined &&
    price.inputNanoPerMtok === 0n &&
    price.outputNanoPerMtok === 0n
  )
}

/** The usage by what has passed, for an answer without a final report. */
function estimated(measured: MeasuredUsage): Usage {
  const { reported, inputTokens, textBytes, searchUnits, maxOutputTokens = Infinity } = measured
  const outputTokens = Math.min(Math.ceil(textBytes / BYTES_PER_TOKEN), maxOutputTokens)
  // Anthropic reports the input first and the output last: an answer that broke off has only the input.
  if (reported) return { ...reported, outputTokens: Math.max(reported.outputTokens, outputTokens) }
  return usageOf({ inputTokens, outputTokens, searchUnits })
}
