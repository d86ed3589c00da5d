import type Database from 'better-sqlite3'
import type { LedgerTable } from '../tables.ts'
import { QUARTER_MS } from './sums.ts'

/**
 * The entries of a ledger for recomputing its sums: rows as tuples, holds apart from the others, because they are half
 * of the ledger and few of their columns are needed. Each value that crosses from SQLite costs as much as ten of its
 * steps.
 */
export type HoldEntry = readonly [
  id: number,
  requestId: string,
  attempt: number,
  key: string,
  tenant: string | null,
  publication: string,
]

/** An entry of any other kind. */
export type OtherEntry = readonly [
  id: number,
  kind: Exclude<LedgerTable['kind'], 'hold'>,
  requestId: string | null,
  attempt: number | null,
  key: string | null,
  tenant: string | null,
  publication: string | null,
  /** As text if it has more digits than a number can hold. */
  amountNano: number | string,
  endpoint: string | null,
  quarter: number,
  inputTokens: number | null,
  cachedInputTokens: number | null,
  cacheWriteTokens: number | null,
  outputTokens: number | null,
  searchUnits: number | null,
  priceId: number | null,
  /** 1 for estimated, plus 2 for unpriced. */
  flags: number | null,
]

const PAGE_ROWS = 2_000

const END_OF_PAGE = `select max(id) from (select id from ledger where id > ? order by id limit ${PAGE_ROWS})`
const HOLDS = `
  select id, request_id, attempt, key_name, tenant, publication
  from ledger where id > ? and id <= ? and kind = 'hold' order by id`
const OTHERS = `
  select id, kind, request_id, attempt, key_name, tenant, publication,
    iif(amount_nano between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}, amount_nano,
      cast(amount_nano as text)),
    endpoint, at_ms / ${QUARTER_MS}, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
    search_units, price_id, (instr(flags, 'estimated') > 0) + 2 * (instr(flags, 'unpriced') > 0)
  from ledger where id > ? and id <= ? and kind <> 'hold' order by id`

/** A page of the ledger, oldest first. */
export interface EntriesPage {
  readonly holds: readonly HoldEntry[]
  readonly others: readonly OtherEntry[]
  /** The id of its last entry. */
  readonly upTo: number
}

/** The pages of a ledger, in order; none if it is empty. */
export function* entryPages(raw: Database.Database): Generator<EntriesPage, void> {
  const end = raw.prepare<[number], number | null>(END_OF_PAGE).pluck()
  const holds = raw.prepare<[number, number], HoldEntry>(HOLDS).raw()
  const others = raw.prepare<[number, number], OtherEntry>(OTHERS).raw()
  for (let after = 0; ; ) {
    const upTo = end.get(after) ?? null
    if (upTo === null) return
    yield { holds: holds.all(after, upTo), others: others.all(after, upTo), upTo }
    after = upTo
  }
}
