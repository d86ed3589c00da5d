import { formatNano } from '../../base/decimal.ts'
import { iso } from '../../base/iso.ts'
import type { Json } from '../../schema/kinds.ts'
import type { BookedAdjustment, EntriesShown, WalletShown } from '../../services/wallet.ts'
import { entryToJson } from '../../store/ledger/to-json.ts'
import type { WalletEntry } from '../../store/ledger/types.ts'
import { moneyText, signedText } from './money-text.ts'
import { printable, type Style } from './style.ts'
import { type Column, table } from './table.ts'

/** One wallet, one field per line. */
export function walletToText(wallet: WalletShown, style: Style): string {
  const { tenant, billing, currency, balanceNano, heldNano, availableNano } = wallet
  const amounts = [
    ['balance', moneyText(balanceNano, currency)],
    ['held', moneyText(heldNano, currency)],
    ['available', availableNano === undefined ? undefined : moneyText(availableNano, currency)],
  ] as const
  const width = Math.max(...amounts.map(([, text]) => text?.length ?? 0))
  const fields: readonly (readonly [string, string])[] = [
    ['tenant', printable(tenant)],
    ['billing', billing ?? 'none: the tenant is deleted'],
    ...amounts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text.padStart(width)] as const])),
  ]
  return fields.map(([name, value]) => `${style.strong(name.padEnd(9))}  ${value}\n`).join('')
}

export function walletToJson(wallet: WalletShown): Json {
  const { tenant, billing, currency, balanceNano, heldNano, availableNano } = wallet
  return {
    tenant,
    ...(billing && { billing }),
    currency,
    balance: formatNano(balanceNano),
    held: formatNano(heldNano),
    ...(availableNano !== undefined && { available: formatNano(availableNano) }),
  }
}

/** The result of a credit or a debit, or the reason that nothing was booked. */
export function bookedToText(
  { entry, isNew, balanceNano, currency }: BookedAdjustment,
  tenant: string,
): string {
  const balance = `The balance of ${tenant} is ${moneyText(balanceNano, currency)}.\n`
  const amount = `${signedText(entry.amountNano)} ${currency}`
  const reference = printable(entry.reference ?? '')
  if (isNew) return `Booked ${amount} for ${reference}. ${balance}`
  const by = entry.author === undefined ? '' : ` by ${printable(entry.author)}`
  return `Nothing booked: ${reference} is already booked: ${amount} at ${iso(entry.atMs)}${by}. ${balance}`
}

export function bookedToJson(
  { entry, isNew, balanceNano, currency }: BookedAdjustment,
  tenant: string,
): Json {
  return { tenant, currency, booked: isNew, balance: formatNano(balanceNano), entry: entryToJson(entry) }
}

/** Entries as a table, newest first. */
export function entriesToText(
  { entries, currency }: EntriesShown,
  style: Style,
  width: number | undefined,
): string {
  const columns: Column<WalletEntry>[] = [
    { title: 'WHEN', cell: entry => iso(entry.atMs) },
    { title: 'KIND', cell: entry => entry.kind },
    { title: `AMOUNT (${currency})`, cell: entry => signedText(entry.amountNano), align: 'right' },
    { title: 'FOR', cell: entry => entry.reference ?? entry.requestId ?? '-', narrowest: 8 },
    { title: 'BY', cell: entry => entry.author ?? entry.key ?? '-', narrowest: 6, dispensable: true },
    { title: 'NOTE', cell: noteText, narrowest: 8, dispensable: true },
  ]
  return table(columns, entries, style, width)
}

function noteText({ note, publication, flags }: WalletEntry): string {
  return [note, publication, ...flags].filter(part => part !== undefined).join(' ')
}
