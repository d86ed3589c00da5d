import { CommandError } from '../../base/catalogue/command.ts'
import { formatNano, parseNano } from '../../base/decimal.ts'
import { MAX_AMOUNT_NANO } from '../../schema/ledger.ts'

/** `12.5 EUR` */
export function moneyText(nano: bigint, currency: string): string {
  return `${formatNano(nano)} ${currency}`
}

/** With a sign: `+12.5`, `-0.003`, `0`. */
export function signedText(amount: string): string {
  return amount.startsWith('-') || amount === '0' ? amount : `+${amount}`
}

/**
 * The amount of an adjustment: as {@link parseAmount}, and negative for a debit.
 * @throws {CommandError} usage
 */
export function parseSigned(text: string): bigint {
  return text.startsWith('-') ? -parseAmount(text.slice(1)) : parseAmount(text)
}

/**
 * The amount of a credit or of a debit: more than 0, at most nine digits after the point.
 * @throws {CommandError} usage
 */
export function parseAmount(text: string): bigint {
  const nano = parseNano(text)
  if (typeof nano === 'bigint' && nano > 0n && nano <= MAX_AMOUNT_NANO) return nano
  throw new CommandError('usage', `\`${text}\` is not an amount to book.`, {
    hint: `Write more than 0 and at most ${formatNano(MAX_AMOUNT_NANO)}, with a point and at most nine digits after it, such as 12.50.`,
  })
}
