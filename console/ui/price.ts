import type { Shapes } from '../api/client.ts'
import { money, NONE } from './format.ts'

type Listed = Shapes['publication_shown']['price']
type Price = Exclude<NonNullable<Listed>, readonly unknown[]> & { readonly from?: string }

const PARTS = [
  ['input', 'input', '/ 1M tokens'],
  ['cached_input', 'cached input', '/ 1M tokens'],
  ['cache_write', 'cache write', '/ 1M tokens'],
  ['output', 'output', '/ 1M tokens'],
  ['per_request', 'request', ''],
  ['per_search_unit', 'search unit', ''],
  ['per_second', 'second of audio', ''],
  ['per_character', 'character', ''],
  ['per_image', 'image', ''],
] as const

/** The prices in the order of their dates. */
export function pricesOf(listed: Listed): readonly Price[] {
  if (listed === undefined) return []
  return Array.isArray(listed) ? listed : [listed]
}

/** The price that applies now. */
export function currentPrice(listed: Listed, nowMs: number): Price | undefined {
  return pricesOf(listed).findLast(({ from }) => from === undefined || Date.parse(from) <= nowMs)
}

/** Each part of a price with its unit. */
export function priceParts(price: Price, currency = ''): readonly (readonly [name: string, text: string])[] {
  return PARTS.flatMap(([part, name, unit]) => {
    const amount = price[part]
    return amount === undefined ? [] : [[name, `${money(amount, currency)} ${unit}`.trim()] as const]
  })
}

/** Input and output for lists, and what else a call costs: `1.00 / 2.00 + 0.50 a request`. Those of caches are left out. */
export function priceText(price: Price | undefined): string {
  if (!price) return 'free'
  const { input, output, cached_input: _read, cache_write: _write, ...others } = price
  const hasTokens = input !== undefined || output !== undefined
  const rest = priceParts(hasTokens ? others : price).map(([name, text]) => `${text} a ${name}`)
  const tokens = `${input === undefined ? NONE : money(input)} / ${output === undefined ? NONE : money(output)}`
  return [...(hasTokens ? [tokens] : []), ...rest].join(' + ') || 'free'
}
