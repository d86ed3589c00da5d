/** One to seven eighths of a block (Unicode "Block Elements", U+258F to U+2589), and a whole one. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const
const WHOLE = '█'

/**
 * A bar of `width * value / largest` characters. A value above 0 is always visible.
 */
export function barText(value: bigint, largest: bigint, width: number): string {
  if (value <= 0n || largest <= 0n) return ''
  const eighths = Number((value * BigInt(width * 8) + largest / 2n) / largest)
  const shown = Math.min(Math.max(eighths, 1), width * 8)
  return WHOLE.repeat(Math.floor(shown / 8)) + (EIGHTHS[shown % 8] ?? '')
}
