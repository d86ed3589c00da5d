import { z } from 'zod'
import { formatNano } from '../base/decimal.ts'
import type { Price } from './ledger.ts'
import { dateTime, money } from './scalars.ts'

const MAX_PRICES = 100

const terms = z.strictObject({
  input: money.optional().describe('Per million input tokens.'),
  output: money.optional().describe('Per million output tokens.'),
  cached_input: money.optional().describe('Per million input tokens read from a cache. Default: `input`.'),
  cache_write: money.optional().describe('Per million input tokens written to a cache. Default: `input`.'),
  per_request: money.optional().describe('Per charged request.'),
  per_search_unit: money.optional().describe('Per search unit of a rerank answer.'),
  per_second: money.optional().describe('Per second of audio that is heard, to the millisecond.'),
  per_character: money.optional().describe('Per character of text that is read aloud.'),
  per_image: money.optional().describe('Per image that is made.'),
})

/** The price of a publication, in nano-units. */
export type PriceTerms = z.output<typeof terms>

const dated = z.strictObject({
  from: dateTime
    .optional()
    .describe(
      'A day (from midnight UTC) or an RFC 3339 time; without it the price applies until the next one.',
    ),
  ...terms.shape,
})
type DatedTerms = z.output<typeof dated>

const list = z
  .array(dated)
  .min(1, 'at least one price')
  .max(MAX_PRICES, `at most ${MAX_PRICES} prices`)
  .superRefine((prices, ctx) => {
    const seen = new Set<number | undefined>()
    for (const [at, { from }] of prices.entries()) {
      if (seen.has(from)) {
        const message =
          from === undefined ? 'only one price may be without `from`' : 'another price also begins then'
        ctx.addIssue({ code: 'custom', path: from === undefined ? [at] : [at, 'from'], message })
      }
      seen.add(from)
    }
  })
  .overwrite(prices => prices.toSorted((a, b) => startOf(a) - startOf(b)))

/** One price, or several in sequence: the one with the latest `from` in the past applies. */
export const price = z
  .union([terms, list])
  .overwrite(value => (Array.isArray(value) ? alone(value) : value))
  .describe(
    'Exact decimals, as text or number; or a list of such prices, each with the date `from` which it applies. Without a price the model is free and counted as unpriced.',
  )

/** A price and the start of its validity; `-Infinity` if it has no start. */
export interface PriceFrom {
  readonly fromMs: number
  readonly terms: PriceTerms
}

/** Sorted by start; empty without a price. */
export function pricesOf(spec: z.output<typeof price> | undefined): PriceFrom[] {
  if (spec === undefined) return []
  if (!Array.isArray(spec)) return [{ fromMs: Number.NEGATIVE_INFINITY, terms: spec }]
  return spec.map(({ from, ...rest }) => ({ fromMs: from ?? Number.NEGATIVE_INFINITY, terms: rest }))
}

/** A missing price is 0, except for cached input: it defaults to the price of input. */
export function effectivePrice(written: PriceTerms): Price {
  const input = written.input ?? 0n
  return Object.freeze({
    inputNanoPerMtok: input,
    outputNanoPerMtok: written.output ?? 0n,
    cachedInputNanoPerMtok: written.cached_input ?? input,
    cacheWriteNanoPerMtok: written.cache_write ?? input,
    requestNano: written.per_request ?? 0n,
    searchUnitNano: written.per_search_unit ?? 0n,
    secondNano: written.per_second ?? 0n,
    characterNano: written.per_character ?? 0n,
    imageNano: written.per_image ?? 0n,
  })
}

/** The canonical text of a price in the ledger: JSON of its terms without zero prices. */
export function priceText(price: Price): string {
  return JSON.stringify({
    ...member('input', price.inputNanoPerMtok),
    ...member('output', price.outputNanoPerMtok),
    ...(price.cachedInputNanoPerMtok !== price.inputNanoPerMtok && {
      cached_input: formatNano(price.cachedInputNanoPerMtok),
    }),
    ...(price.cacheWriteNanoPerMtok !== price.inputNanoPerMtok && {
      cache_write: formatNano(price.cacheWriteNanoPerMtok),
    }),
    ...member('per_request', price.requestNano),
    ...member('per_search_unit', price.searchUnitNano),
    ...member('per_second', price.secondNano),
    ...member('per_character', price.characterNano),
    ...member('per_image', price.imageNano),
  })
}

/** Parses a {@link priceText}. @throws {z.ZodError} if it is invalid. */
export function priceFromText(text: string): Price {
  return effectivePrice(terms.parse(JSON.parse(text)))
}

function member(name: string, nano: bigint): Record<string, string> {
  return nano === 0n ? {} : { [name]: formatNano(nano) }
}

/** A list of one price without a start equals that price: both have one canonical form. */
function alone(prices: DatedTerms[]): PriceTerms | DatedTerms[] {
  const [first, second] = prices
  if (!first || second || first.from !== undefined) return prices
  const { from: _always, ...rest } = first
  return rest
}

function startOf({ from }: DatedTerms): number {
  return from ?? Number.NEGATIVE_INFINITY
}
