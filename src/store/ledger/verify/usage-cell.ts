import { ESTIMATED, parts, plus, UNPRICED, type Whole } from '../columns.ts'
import { NO_SUMS, type UsagePlace, type UsageSums } from '../usage-sums.ts'
import type { Entry } from './entries.ts'

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] }
export type Counts = Omit<UsageSums, 'amountNano'>

/** Settlements, added up in place: an object for each entry would be garbage at once. */
export interface UsageCell extends Mutable<Counts> {
  amountNano: Whole
}

export const NO_CALLS: UsageCell = { ...NO_SUMS, amountNano: 0 }

export function addEntry(cell: UsageCell, entry: Entry, amountNano: Whole): void {
  const [, , , , , , , , flags, , input, cached, written, output, units, ms, characters, images] = entry
  cell.requests += 1
  cell.inputTokens += input ?? 0
  cell.cachedInputTokens += cached ?? 0
  cell.cacheWriteTokens += written ?? 0
  cell.outputTokens += output ?? 0
  cell.searchUnits += units ?? 0
  cell.durationMs += ms ?? 0
  cell.characters += characters ?? 0
  cell.images += images ?? 0
  cell.amountNano = plus(cell.amountNano, amountNano)
  if (flags & ESTIMATED) cell.estimated += 1
  if (flags & UNPRICED) cell.unpriced += 1
}

export function sumsOf<Cell extends UsageCell>(cell: Cell): Cell & { readonly amountNano: bigint } {
  return { ...cell, amountNano: BigInt(cell.amountNano) }
}

/** A place as text: endpoint, key, publication and, if there is one, tenant, with line breaks between: no name contains one. */
export function placeOf(text: string): Omit<UsagePlace, 'quarter'> {
  const [endpoint = '', key = '', publication = '', tenant = ''] = text.split('\n')
  return { key, tenant, publication, endpoint }
}

/** An expression for the text of a row's place. */
export const PLACE_TEXT = `concat_ws('\n', endpoint, key_name, publication, nullif(tenant, ''))`

/** For a finding; the amount is normalized into units and nano. */
export function toText(sums: UsageSums): string {
  const [units, nano] = parts(sums.amountNano)
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = sums
  return (
    `${sums.requests} requests, ${inputTokens}/${cachedInputTokens}/${cacheWriteTokens}/${outputTokens} tokens, ` +
    `${sums.searchUnits} search units, ${unitsText(sums)}` +
    `${units} + ${nano} nano, ${sums.estimated} estimated, ${sums.unpriced} unpriced`
  )
}

/** Ends with a comma; empty if there are none. */
function unitsText({ durationMs, characters, images }: UsageSums): string {
  if (durationMs === 0 && characters === 0 && images === 0) return ''
  return `${durationMs} ms of audio, ${characters} characters, ${images} images, `
}
