import type { BookedAdjustment, EntryShown, WalletShown } from '../../services/wallet.ts'
import { toUsage } from '../../store/ledger/columns.ts'
import { usageText } from './call-text.ts'
import { signedText } from './money-text.ts'
import { printable, type Style } from './style.ts'
import { type Column, table } from './table.ts'

/** One wallet, one field per line. */
export function walletToText(wallet: WalletShown, style: Style): string {
  const { tenant, billing, currency, balance, held, available } = wallet
  const amounts = [
    ['balance', `${balance} ${currency}`],
    ['held', `${held} ${currency}`],
    ['available', available === undefined ? undefined : `${available} ${currency}`],
  ] as const
  const width = Math.max(...amounts.map(([, text]) => text?.length ?? 0))
  const fields: readonly (readonly [string, string])[] = [
    ['tenant', printable(tenant)],
    ['billing', billing ?? 'none: the tenant is deleted'],
    ...amounts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text.padStart(width)] as const])),
  ]
  return fields.map(([name, value]) => `${style.strong(name.padEnd(9))}  ${value}\n`).join('')
}

/** The result of a credit or a debit, or the reason that nothing was booked. */
export function bookedToText({ tenant, entry, booked, balance, currency }: BookedAdjustment): string {
  const now = `The balance of ${tenant} is ${balance} ${currency}.\n`
  const amount = `${signedText(entry.amount)} ${currency}`
  const reference = printable(entry.reference ?? '')
  if (booked) return `Booked ${amount} for ${reference}. ${now}`
  const by = entry.author === undefined ? '' : ` by ${printable(entry.author)}`
  return `Nothing booked: ${reference} is already booked: ${amount} at ${entry.at}${by}. ${now}`
}

/** Entries as a table, newest first. */
export function entriesToText(
  entries: readonly EntryShown[],
  currency: string,
  style: Style,
  width: number | undefined,
): string {
  const columns: Column<EntryShown>[] = [
    { title: 'WHEN', cell: entry => entry.at },
    { title: 'KIND', cell: entry => entry.kind },
    { title: `AMOUNT (${currency})`, cell: entry => signedText(entry.amount), align: 'right' },
    { title: 'FOR', cell: entry => entry.reference ?? entry.request_id ?? '-', narrowest: 8 },
    { title: 'BY', cell: entry => entry.author ?? entry.key ?? '-', narrowest: 6, dispensable: true },
    { title: 'NOTE', cell: noteText, narrowest: 8, dispensable: true },
  ]
  return table(columns, entries, style, width)
}

function noteText(entry: EntryShown): string {
  const { note, model, flags } = entry
  return [note, model, entry.input_tokens === undefined ? '' : usageText(toUsage(entry)), ...flags]
    .filter(part => part)
    .join('  ')
}
