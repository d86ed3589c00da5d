import type { DatedPrice, PublicationEntry } from './types.ts'

/**
 * The price in force at a time: the one with the latest start before it. Undefined if there is none: calls are free then,
 * and counted as unpriced.
 */
export function priceAt({ prices }: Pick<PublicationEntry, 'prices'>, nowMs: number): DatedPrice | undefined {
  for (let at = prices.length - 1; at >= 0; at--) {
    const dated = prices[at]
    if (dated && dated.fromMs <= nowMs) return dated
  }
  return undefined
}
