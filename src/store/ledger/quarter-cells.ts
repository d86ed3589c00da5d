import { parts } from './columns.ts'
import type { OtherEntry } from './entries.ts'

/** The primary key of a row of `usage_quarters`. */
export interface Place {
  readonly quarter: number
  readonly key: string
  /** Empty for platform keys. */
  readonly tenant: string
  readonly publication: string
  readonly endpoint: string
}

/** The sums of a row of `usage_quarters`, or a difference between two rows. Token counts stay far below 2⁵³. */
export interface Cell extends Place {
  requests: number
  inputTokens: number
  cachedInputTokens: number
  cacheWriteTokens: number
  outputTokens: number
  searchUnits: number
  amountNano: bigint
  estimated: number
  unpriced: number
}

/** A row of `usage_quarters` as a tuple, without its key. */
export type KeptRow = readonly [
  tenant: string,
  publication: string,
  endpoint: string,
  quarter: number,
  requests: number,
  inputTokens: number,
  cachedInputTokens: number,
  cacheWriteTokens: number,
  outputTokens: number,
  searchUnits: number,
  amountUnits: number,
  amountNano: number,
  estimated: number,
  unpriced: number,
]

/** The columns of a {@link KeptRow}. */
export const KEPT_COLUMNS = `tenant, publication, endpoint, quarter, requests, input_tokens, cached_input_tokens,
  cache_write_tokens, output_tokens, search_units, amount_units, amount_nano, estimated, unpriced`

const NANO_PER_UNIT = 1_000_000_000

/** The cells of some quarters, indexed by key and publication: per pair there are few endpoints and one tenant. */
export class Cells {
  readonly #lists = new Map<string, { readonly cells: Cell[]; from: number }>()
  size = 0

  /** Adds a settlement to its cell. */
  add(entry: OtherEntry, amountNano: bigint): void {
    const [key, tenant, publication, endpoint, quarter] = [
      entry[4] ?? '',
      entry[5] ?? '',
      entry[6] ?? '',
      entry[8] ?? '',
      entry[9],
    ]
    const list = this.#list(key, publication)
    const { cells } = list
    // The newest quarter is at the end.
    for (let at = cells.length - 1; at >= 0; at--) {
      const cell = cells[at] as Cell
      if (cell.quarter !== quarter || cell.endpoint !== endpoint || cell.tenant !== tenant) continue
      addTo(cell, entry, amountNano)
      return
    }
    const flags = entry[16] ?? 0
    cells.push({
      quarter,
      key,
      tenant,
      publication,
      endpoint,
      requests: 1,
      inputTokens: entry[10] ?? 0,
      cachedInputTokens: entry[11] ?? 0,
      cacheWriteTokens: entry[12] ?? 0,
      outputTokens: entry[13] ?? 0,
      searchUnits: entry[14] ?? 0,
      amountNano,
      estimated: flags & 1,
      unpriced: flags >> 1,
    })
    this.size += 1
  }

  /** Removes and returns the cell of a row. Takes constant time if called in the order of quarters. */
  take(key: string, row: KeptRow): Cell | undefined {
    const list = this.#lists.get(listName(key, row[1]))
    if (!list) return undefined
    const { cells } = list
    for (let at = list.from; at < cells.length; at++) {
      const cell = cells[at] as Cell
      if (cell.quarter !== row[3] || cell.endpoint !== row[2] || cell.tenant !== row[0]) continue
      cells[at] = cells[list.from] as Cell
      list.from += 1
      this.size -= 1
      return cell
    }
    return undefined
  }

  /** The cells that were not taken. */
  *left(): Generator<Cell, void> {
    if (this.size === 0) return
    for (const { cells, from } of this.#lists.values()) yield* cells.slice(from)
  }

  #list(key: string, publication: string): { readonly cells: Cell[]; from: number } {
    const name = listName(key, publication)
    let list = this.#lists.get(name)
    if (!list) {
      list = { cells: [], from: 0 }
      this.#lists.set(name, list)
    }
    return list
  }
}

/** No name of a resource contains a line break (schema/scalars.ts). */
function listName(key: string, publication: string): string {
  return `${key}\n${publication}`
}

function addTo(cell: Cell, entry: OtherEntry, amountNano: bigint): void {
  const flags = entry[16] ?? 0
  cell.requests += 1
  cell.inputTokens += entry[10] ?? 0
  cell.cachedInputTokens += entry[11] ?? 0
  cell.cacheWriteTokens += entry[12] ?? 0
  cell.outputTokens += entry[13] ?? 0
  cell.searchUnits += entry[14] ?? 0
  cell.amountNano += amountNano
  cell.estimated += flags & 1
  cell.unpriced += flags >> 1
}

/** The sum of the entries minus the stored row; undefined if they are equal. */
export function difference(added: Cell | undefined, key: string, kept: KeptRow): Cell | undefined {
  const amountNano = nanoOf(kept[10], kept[11])
  const isSame =
    added !== undefined &&
    added.requests === kept[4] &&
    added.inputTokens === kept[5] &&
    added.cachedInputTokens === kept[6] &&
    added.cacheWriteTokens === kept[7] &&
    added.outputTokens === kept[8] &&
    added.searchUnits === kept[9] &&
    added.amountNano === amountNano &&
    added.estimated === kept[12] &&
    added.unpriced === kept[13]
  if (isSame) return undefined
  return {
    quarter: kept[3],
    key,
    tenant: kept[0],
    publication: kept[1],
    endpoint: kept[2],
    requests: (added?.requests ?? 0) - kept[4],
    inputTokens: (added?.inputTokens ?? 0) - kept[5],
    cachedInputTokens: (added?.cachedInputTokens ?? 0) - kept[6],
    cacheWriteTokens: (added?.cacheWriteTokens ?? 0) - kept[7],
    outputTokens: (added?.outputTokens ?? 0) - kept[8],
    searchUnits: (added?.searchUnits ?? 0) - kept[9],
    amountNano: (added?.amountNano ?? 0n) - amountNano,
    estimated: (added?.estimated ?? 0) - kept[12],
    unpriced: (added?.unpriced ?? 0) - kept[13],
  }
}

/** The stored row plus a difference. */
export function sumOf(kept: KeptRow | undefined, more: Cell): Cell {
  return {
    ...more,
    requests: (kept?.[4] ?? 0) + more.requests,
    inputTokens: (kept?.[5] ?? 0) + more.inputTokens,
    cachedInputTokens: (kept?.[6] ?? 0) + more.cachedInputTokens,
    cacheWriteTokens: (kept?.[7] ?? 0) + more.cacheWriteTokens,
    outputTokens: (kept?.[8] ?? 0) + more.outputTokens,
    searchUnits: (kept?.[9] ?? 0) + more.searchUnits,
    amountNano: nanoOf(kept?.[10] ?? 0, kept?.[11] ?? 0) + more.amountNano,
    estimated: (kept?.[12] ?? 0) + more.estimated,
    unpriced: (kept?.[13] ?? 0) + more.unpriced,
  }
}

export function isZero(cell: Cell): boolean {
  return (
    cell.requests === 0 &&
    cell.inputTokens === 0 &&
    cell.cachedInputTokens === 0 &&
    cell.cacheWriteTokens === 0 &&
    cell.outputTokens === 0 &&
    cell.searchUnits === 0 &&
    cell.amountNano === 0n &&
    cell.estimated === 0 &&
    cell.unpriced === 0
  )
}

/** The text of a finding; the amount is normalized into units and nano. */
export function cellText(cell: Omit<Cell, keyof Place>): string {
  const [units, nano] = parts(cell.amountNano)
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = cell
  return (
    `${cell.requests} requests, ${inputTokens}/${cachedInputTokens}/${cacheWriteTokens}/${outputTokens} tokens, ` +
    `${cell.searchUnits} search units, ${units} + ${nano} nano, ${cell.estimated} estimated, ${cell.unpriced} unpriced`
  )
}

/** Uses a number if that keeps all digits: a quarter of an hour seldom costs nine million. */
function nanoOf(units: number, nano: number): bigint {
  const all = units * NANO_PER_UNIT + nano
  return Number.isSafeInteger(all) ? BigInt(all) : BigInt(units) * BigInt(NANO_PER_UNIT) + BigInt(nano)
}
