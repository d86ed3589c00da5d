import { MAX_AMOUNT_NANO, type Price, type Usage } from './ledger.ts'

const TOKENS_PER_MTOK = 1_000_000n
/** A price per second times milliseconds is a thousandth; sums are in millionths. */
const MILLIONTHS_PER_MS = 1_000

/**
 * The cost of an answer in nano-units, rounded up once over the whole sum. Tokens read from or written to a cache are
 * part of the input and are priced once, at their own price (spec/money.md §2). At most {@link MAX_AMOUNT_NANO}.
 * @param usage Whole numbers, 0 or more. Parts larger than the whole are cut to it.
 */
export function cost(price: Price, usage: Usage): bigint {
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens)
  const written = Math.min(usage.cacheWriteTokens, usage.inputTokens - cached)
  const fresh = usage.inputTokens - cached - written
  const millionths =
    times(fresh, price.inputNanoPerMtok) +
    times(cached, price.cachedInputNanoPerMtok) +
    times(written, price.cacheWriteNanoPerMtok) +
    times(usage.outputTokens, price.outputNanoPerMtok) +
    times(usage.durationMs * MILLIONTHS_PER_MS, price.secondNano)
  const roundedNano = (millionths + TOKENS_PER_MTOK - 1n) / TOKENS_PER_MTOK
  const totalNano =
    roundedNano +
    price.requestNano +
    times(usage.searchUnits, price.searchUnitNano) +
    times(usage.characters, price.characterNano) +
    times(usage.images, price.imageNano)
  return totalNano > MAX_AMOUNT_NANO ? MAX_AMOUNT_NANO : totalNano
}

/** Whether the price names no unit that costs something: such a model is free on purpose. */
export function isFree(price: Price): boolean {
  return Object.values(price).every(nano => nano === 0n)
}

/** Most terms of a charge are 0: a comparison is cheaper than creating a bigint of 0. */
function times(count: number, nano: bigint): bigint {
  return count === 0 ? 0n : BigInt(count) * nano
}
