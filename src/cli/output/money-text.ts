import { formatNano } from '../../base/decimal.ts'

/** `12.5 EUR` */
export function moneyText(nano: bigint, currency: string): string {
  return `${formatNano(nano)} ${currency}`
}

/** With a sign: `+12.5`, `-0.003`, `0`. */
export function signedText(amount: string): string {
  return amount.startsWith('-') || amount === '0' ? amount : `+${amount}`
}
