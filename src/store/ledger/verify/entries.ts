import type Database from 'better-sqlite3'
import type { Usage } from '../../../schema/ledger.ts'
import type { Whole } from '../columns.ts'
import { QUARTER_MS } from '../usage-sums.ts'

/**
 * The entries of a ledger for recomputing its sums. Each value that crosses from SQLite costs as much as ten of its
 * steps: so names come joined, in one text, and holds apart from the others, because they are half of the ledger and
 * few of their columns are needed.
 */
export interface HoldEntry {
  readonly id: number
  /** The request id, and after a line break the attempt if it is not the first. */
  readonly request: string
  /** Key, publication and, if there is one, tenant: see {@link Place}. */
  readonly names: string
}

/** An entry of any other kind. */
export interface OtherEntry {
  readonly id: number
  /** Of a settlement its flags, else one of {@link RELEASE}, {@link DEBIT} or `CREDIT`. */
  readonly what: number
  /** As of a hold; null for credits, debits and adjustments. */
  readonly request: string | null
  /** Endpoint, key, publication and, if there is one, tenant; only the tenant for credits, debits and adjustments. */
  readonly place: string
  /** As text if it has more digits than a number can hold. */
  readonly amountNano: number | string
  readonly quarter: number
  readonly inputTokens: number | null
  readonly cachedInputTokens: number | null
  readonly cacheWriteTokens: number | null
  readonly outputTokens: number | null
  readonly searchUnits: number | null
  /** Milliseconds of audio, characters and images, with spaces between; null if there are none. */
  readonly units: string | null
  readonly priceId: number | null
}

/** Flags of a settlement in {@link OtherEntry.what}. */
export const ESTIMATED = 1
export const UNPRICED = 2
export const RELEASE = -1
export const DEBIT = -2
/** Also an adjustment, which has a sign. */
const CREDIT = -3

const PAGE_ROWS = 2_000

const LAST = `select max(id) from ledger`
const NEXT = `select min(id) from ledger where id > ?`
/** No name of a resource contains a line break (schema/scalars.ts). */
const REQUEST = `iif(attempt = 1, request_id, request_id || '\n' || attempt) as request`
const HOLDS = `
  select id, ${REQUEST}, concat_ws('\n', key_name, publication, tenant) as names
  from ledger where id > ? and id <= ? and kind = 'hold' order by id`
const OTHERS = `
  select id,
    iif(kind = 'settle',
      iif(flags <> '', (instr(flags, 'estimated') > 0) * ${ESTIMATED} + (instr(flags, 'unpriced') > 0) * ${UNPRICED}, 0),
      iif(kind = 'release', ${RELEASE}, iif(kind = 'debit', ${DEBIT}, ${CREDIT}))) as what,
    ${REQUEST}, concat_ws('\n', endpoint, key_name, publication, tenant) as place,
    iif(amount_nano between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}, amount_nano,
      cast(amount_nano as text)) as amountNano,
    at_ms / ${QUARTER_MS} as quarter, input_tokens as inputTokens, cached_input_tokens as cachedInputTokens,
    cache_write_tokens as cacheWriteTokens, output_tokens as outputTokens, search_units as searchUnits,
    iif(duration_ms or characters or images, printf('%d %d %d', duration_ms, characters, images), null) as units,
    price_id as priceId
  from ledger where id > ? and id <= ? and kind <> 'hold' order by id`

/** A page of the ledger, oldest first. */
export interface EntriesPage {
  readonly holds: readonly HoldEntry[]
  readonly others: readonly OtherEntry[]
  /** It has all entries up to this id. */
  readonly upTo: number
  /** The last id of the ledger. */
  readonly last: number
}

/** The pages of a ledger, in order; none if it is empty. */
export function* entryPages(raw: Database.Database): Generator<EntriesPage, void> {
  const last = raw.prepare<[], number | null>(LAST).pluck().get() ?? 0
  const next = raw.prepare<[number], number | null>(NEXT).pluck()
  const holds = raw.prepare<[number, number], HoldEntry>(HOLDS)
  const others = raw.prepare<[number, number], OtherEntry>(OTHERS)
  for (let after = 0; after < last; ) {
    const upTo = Math.min(after + PAGE_ROWS, last)
    const page = { holds: holds.all(after, upTo), others: others.all(after, upTo), upTo, last }
    yield page
    const isGap = page.holds.length + page.others.length === 0
    after = isGap ? (next.get(upTo) ?? last + 1) - 1 : upTo
  }
}

/** The units of a settlement that are rare: most have none. */
export type Units = Pick<Usage, 'durationMs' | 'characters' | 'images'>

const NO_UNITS: Units = { durationMs: 0, characters: 0, images: 0 }

export function unitsOf({ units }: OtherEntry): Units {
  if (units === null) return NO_UNITS
  const [durationMs = 0, characters = 0, images = 0] = units.split(' ').map(Number)
  return { durationMs, characters, images }
}

/** An amount as a number if that keeps all digits. */
export function amountOf({ amountNano }: OtherEntry): Whole {
  return typeof amountNano === 'string' ? BigInt(amountNano) : amountNano
}
