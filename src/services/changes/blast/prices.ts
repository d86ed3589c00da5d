import { formatNano } from '../../../base/decimal.ts'
import { type CanonicalSpec, decode, type Resource } from '../../../schema/kinds.ts'
import { effectivePrice, type PriceFrom, type PriceTerms, pricesOf } from '../../../schema/price.ts'
import { PRICE_PARTS, type PriceMove, type PricePart } from './types.ts'

/** A price that takes effect on a date, with its changes. */
export interface ComingPrice {
  readonly publication: string
  readonly fromMs: number
  readonly moves: readonly PriceMove[]
}

type Publication = Pick<Resource, 'name' | 'spec'>

/** The price changes at `nowMs` from `before` to `after`. */
export function priceMoves(before: Publication, after: Publication, nowMs: number): PriceMove[] {
  if (JSON.stringify(before.spec['price']) === JSON.stringify(after.spec['price'])) return []
  return movesBetween(after.name, inForce(before.spec, nowMs), inForce(after.spec, nowMs))
}

/** The prices that take effect after `nowMs` and up to `untilMs`, each compared with the previous price. */
export function comingPrices({ name, spec }: Publication, nowMs: number, untilMs: number): ComingPrice[] {
  const prices = pricesIn(spec)
  return prices.flatMap(({ fromMs, terms }, at) => {
    if (fromMs <= nowMs || fromMs > untilMs) return []
    return [{ publication: name, fromMs, moves: movesBetween(name, prices[at - 1]?.terms, terms) }]
  })
}

/** When the first price of a publication takes effect; undefined if one applies at `nowMs`, or there is none. */
export function pricedFromMs(spec: CanonicalSpec, nowMs: number): number | undefined {
  const [first] = pricesIn(spec)
  return first && first.fromMs > nowMs ? first.fromMs : undefined
}

/** `input 2.5 → 3 (+20 %)`, `output (none) → 10`. */
export function moveText({ part, beforeNano, afterNano, percent }: PriceMove): string {
  const [from, to] = [beforeNano, afterNano].map(nano => (nano === undefined ? '(none)' : formatNano(nano)))
  const share = percent === undefined ? '' : ` (${percent > 0 ? '+' : ''}${percent} %)`
  return `${part} ${from} → ${to}${share}`
}

function pricesIn(spec: CanonicalSpec): readonly PriceFrom[] {
  return spec['price'] === undefined ? [] : pricesOf(decode('publication', spec).price)
}

function inForce(spec: CanonicalSpec, nowMs: number): PriceTerms | undefined {
  return pricesIn(spec).findLast(({ fromMs }) => fromMs <= nowMs)?.terms
}

function movesBetween(
  publication: string,
  before: PriceTerms | undefined,
  after: PriceTerms | undefined,
): PriceMove[] {
  return PRICE_PARTS.flatMap(part => {
    // A part that neither side declares follows another part, which is reported.
    if (before?.[part] === undefined && after?.[part] === undefined) return []
    const [beforeNano, afterNano] = [amountOf(before, part), amountOf(after, part)]
    if (beforeNano === afterNano) return []
    return [
      {
        publication,
        part,
        ...(beforeNano !== undefined && { beforeNano }),
        ...(afterNano !== undefined && { afterNano }),
        ...percentOf(beforeNano, afterNano),
      },
    ]
  })
}

function amountOf(terms: PriceTerms | undefined, part: PricePart): bigint | undefined {
  if (!terms) return undefined
  const price = effectivePrice(terms)
  return {
    input: price.inputNanoPerMtok,
    output: price.outputNanoPerMtok,
    cached_input: price.cachedInputNanoPerMtok,
    cache_write: price.cacheWriteNanoPerMtok,
    per_request: price.requestNano,
    per_search_unit: price.searchUnitNano,
    per_second: price.secondNano,
    per_character: price.characterNano,
    per_image: price.imageNano,
  }[part]
}

function percentOf(before: bigint | undefined, after: bigint | undefined): { percent?: number } {
  if (before === undefined || after === undefined || before === 0n) return {}
  return { percent: Math.round((Number(after - before) / Number(before)) * 1_000) / 10 }
}
