import type Database from 'better-sqlite3'
import type { Whole } from '../columns.ts'
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

const LAST = `select max(id) from ledger`
const PAGE = `
  select id, kind, at_ms / ${QUARTER_MS},
    iif(amount_nano between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}, amount_nano,
      cast(amount_nano as text)),
    key_id, tenant_id, publication_id, endpoint_id, flags, price_id, input_tokens, cached_input_tokens,
    cache_write_tokens, output_tokens, search_units, duration_ms, characters, images
  from ledger where id > ? order by id limit ${PAGE_ROWS}`

/** A page of the ledger, oldest first. */
export interface EntriesPage {
  readonly entries: readonly Entry[]
  /** It has all entries up to this id. */
  readonly upTo: number
  /** The last id of the ledger. */
  readonly last: number
}

/** The pages of a ledger, in order; none if it is empty. */
export function* entryPages(raw: Database.Database): Generator<EntriesPage, void> {
  const last = raw.prepare<[], number | null>(LAST).pluck().get() ?? 0
  const page = raw.prepare<[number], Entry>(PAGE).raw()
  for (let after = 0; after < last; ) {
    const entries = page.all(after)
    after = entries.at(-1)?.[0] ?? last
    yield { entries, upTo: after, last }
  }
}

/** An amount as a number if that keeps all digits. */
export function amountOf([, , , amountNano]: Entry): Whole {
  return typeof amountNano === 'string' ? BigInt(amountNano) : amountNano
}
