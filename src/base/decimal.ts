/**
 * Money is an integer count of nano-units (1e-9) of the configured currency, as a bigint. Decimals are parsed and
 * formatted digit by digit: money is never a float.
 */

const NANO_DIGITS = 9
const NANO_PER_UNIT = 1_000_000_000n
const DECIMAL = /^(\d+)(?:\.(\d+))?$/
/** A double keeps any decimal of 15 significant digits exactly enough to print it back (IEEE 754, DBL_DIG). */
const SAFE_DIGITS = 15

/** Why a text is not an amount of money. */
export type DecimalFault = 'not_decimal' | 'too_precise' | 'quote_it'

/**
 * `"0.15"` → `150_000_000n`. At most nine digits after the point.
 * A number is read by its printed digits; one with more than 15 significant digits may already have lost some as a
 * double, so it is rejected.
 */
export function parseNano(value: string | number): bigint | DecimalFault {
  const text = typeof value === 'number' ? plainDigits(value) : value
  const match = DECIMAL.exec(text)
  if (!match) return 'not_decimal'
  const [, whole = '', fraction = ''] = match
  if (typeof value === 'number' && (whole + fraction).replace(/^0+/, '').length > SAFE_DIGITS)
    return 'quote_it'
  const digits = fraction.replace(/0+$/, '')
  if (digits.length > NANO_DIGITS) return 'too_precise'
  return BigInt(whole) * NANO_PER_UNIT + BigInt(digits.padEnd(NANO_DIGITS, '0'))
}

/** `150_000_000n` → `"0.15"`; the exact inverse of {@link parseNano}. */
export function formatNano(nano: bigint): string {
  if (nano === 0n) return '0'
  const sign = nano < 0n ? '-' : ''
  const magnitude = nano < 0n ? -nano : nano
  const fraction = (magnitude % NANO_PER_UNIT).toString().padStart(NANO_DIGITS, '0').replace(/0+$/, '')
  return `${sign}${magnitude / NANO_PER_UNIT}${fraction && `.${fraction}`}`
}

/**
 * A double without an exponent: `1e-7` → `"0.0000001"`. Other unusual forms are returned unchanged, and fail to parse.
 */
function plainDigits(value: number): string {
  const text = String(value)
  const match = /^(\d)(?:\.(\d+))?e-(\d+)$/.exec(text)
  if (!match) return text
  const [, lead = '', rest = '', exponent = ''] = match
  return `0.${'0'.repeat(Number(exponent) - 1)}${lead}${rest}`
}
