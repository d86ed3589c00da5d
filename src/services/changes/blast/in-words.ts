import { formatNano } from '../../../base/decimal.ts'
import type { PriceMove } from './types.ts'

/** `input 2.5 → 3 (+20 %)`, `output (none) → 10`. */
export function moveText({ part, beforeNano, afterNano, percent }: PriceMove): string {
  const [from, to] = [beforeNano, afterNano].map(nano => (nano === undefined ? '(none)' : formatNano(nano)))
  const share = percent === undefined ? '' : ` (${percent > 0 ? '+' : ''}${percent} %)`
  return `${part} ${from} → ${to}${share}`
}
