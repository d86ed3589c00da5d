import type Database from 'better-sqlite3'
import { codeOf, type Whole } from '../columns.ts'
import { QUARTER_MS } from '../usage-sums.ts'

/**
 * An entry of a ledger, for recomputing its sums. A tuple, and numbers for names, because each value that crosses from SQLite
 * costs as much as ten of its steps. The amount is text if it has more digits than a number can hold.
 */
export type Entry = readonly [
  id: number,
  kind: number,
  quarter: number,
  amountNano: number | string,
  keyId: number | null,
  tenantId: number | null,
  publicationId: number | null,
  endpointId: number | null,
  flags: number,
  priceId: number | null,
  inputTokens: number | null,
  cachedInputTokens: number | null,
  cacheWriteTokens: number | null,
  outputTokens: number | null,
  searchUnits: number | null,
  durationMs: number | null,
  characters: number | null,
  images: number | null,
]

const PAGE_ROWS = 2_000

const COLUMNS = `
  id, kind, at_ms / ${QUARTER_MS},
    iif(amount_nano between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}, amount_nano,
      cast(amount_nano as text)),
    key_id, tenant_id, publication_id, endpoint_id, flags, price_id, input_tokens, cached_input_tokens,
    cache_write_tokens, output_tokens, search_units, duration_ms, characters, images`

/** A range of ids, after the first up to the last. */
interface Range {
  readonly after: number
  readonly upTo: number
}

/** The entries of a range, oldest first, in pages. */
export function entryPages(raw: Database.Database, range: Range): Generator<readonly Entry[], void> {
  return pages(raw, range, 'true')
}

/** Its credits, debits and adjustments alone. */
export function adjustmentPages(raw: Database.Database, range: Range): Generator<readonly Entry[], void> {
  return pages(raw, range, `kind > ${codeOf('release')}`)
}

function* pages(
  raw: Database.Database,
  { after, upTo }: Range,
  condition: string,
): Generator<readonly Entry[], void> {
  const page = raw
    .prepare<[number, number], Entry>(
      `select ${COLUMNS} from ledger where id > ? and id <= ? and ${condition} order by id limit ${PAGE_ROWS}`,
    )
    .raw()
  for (let last: number | undefined = after; last !== undefined; ) {
    const entries = page.all(last, upTo)
    if (entries.length > 0) yield entries
    last = entries.at(-1)?.[0]
  }
}

/** An amount as a number if that keeps all digits. */
export function amountOf([, , , amountNano]: Entry): Whole {
  return typeof amountNano === 'string' ? BigInt(amountNano) : amountNano
}
