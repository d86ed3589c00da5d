import type Database from 'better-sqlite3'
import { formatNano, parseNano } from '../../../base/decimal.ts'
import { iso } from '../../../base/iso.ts'
import type { ArchivedEntry } from '../../../schema/archive.ts'
import { codeOf, fromFlags, KINDS, requestIdOf, toFlags, USAGE_COLUMNS } from '../columns.ts'
import { QUARTER_MS } from '../usage-sums.ts'
import type { Entry } from '../verify/entries.ts'

const PAGE_ROWS = 2_000

export type Names = ReadonlyMap<number, string>

/** An end of a call, as queries select it. */
export interface EndRow extends Readonly<Record<(typeof USAGE_COLUMNS)[number], number | null>> {
  readonly id: number
  readonly kind: number
  readonly at_ms: number
  readonly request_id: string
  readonly attempt: number
  readonly key_id: number
  readonly tenant_id: number | null
  readonly publication_id: number
  readonly endpoint_id: number
  readonly amount_nano: string
  readonly flags: number
  readonly price_id: number | null
  readonly reason_id: number | null
  readonly open_ms: number | null
  readonly held_nano: string | null
  readonly held_tokens: number | null
}

const PAGE = `
  select id, kind, at_ms, ${requestIdOf('request')} as request_id, attempt, key_id, tenant_id, publication_id,
    endpoint_id, cast(amount_nano as text) as amount_nano, ${USAGE_COLUMNS.join(', ')}, flags, price_id, reason_id, open_ms,
    cast(held_nano as text) as held_nano, held_tokens
  from ledger where id > ? and id <= ? and kind <= ${codeOf('release')} order by id limit ${PAGE_ROWS}`

/** The ends of calls in a range of ids, oldest first, as an archive has them. */
export function* selectArchived(
  raw: Database.Database,
  firstId: number,
  lastId: number,
): Generator<readonly ArchivedEntry[], void> {
  const names = selectNames(raw)
  const page = raw.prepare<[number, number], EndRow>(PAGE)
  for (let after = firstId - 1; ; ) {
    const rows = page.all(after, lastId)
    const last = rows.at(-1)
    if (!last) return
    yield rows.map(row => toArchived(row, names))
    after = last.id
  }
}

export function selectNames(raw: Database.Database): Names {
  const rows = raw.prepare<[], { id: number; name: string }>('select id, name from ledger_names').all()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Entries for the recount, with the numbers of this store; 0 for a name that it has not. */
export function entriesOf(archived: readonly ArchivedEntry[], ids: ReadonlyMap<string, number>): Entry[] {
  const idOf = (name: string) => ids.get(name) ?? 0
  return archived.map(entry => [
    entry.id,
    codeOf(entry.kind),
    Math.floor(Date.parse(entry.at) / QUARTER_MS),
    toAmount(entry.amount),
    idOf(entry.key),
    entry.tenant === undefined ? null : idOf(entry.tenant),
    idOf(entry.model),
    idOf(entry.endpoint),
    entry.flags ? fromFlags(entry.flags) : 0,
    entry.price ?? null,
    entry.input_tokens ?? null,
    entry.cached_input_tokens ?? null,
    entry.cache_write_tokens ?? null,
    entry.output_tokens ?? null,
    entry.search_units ?? null,
    entry.duration_ms ?? null,
    entry.characters ?? null,
    entry.images ?? null,
  ])
}

function toAmount(text: string): number | string {
  const nano = Number(parseNano(text))
  return Number.isSafeInteger(nano) ? nano : String(parseNano(text))
}

export function toArchived(row: EndRow, names: Names): ArchivedEntry {
  const name = (id: number) => {
    const found = names.get(id)
    if (found === undefined) throw new Error(`entry ${row.id} has the name ${id}, which is not there`)
    return found
  }
  return {
    id: row.id,
    kind: KINDS[row.kind] as ArchivedEntry['kind'],
    at: iso(row.at_ms),
    request_id: row.request_id,
    attempt: row.attempt,
    key: name(row.key_id),
    ...(row.tenant_id !== null && { tenant: name(row.tenant_id) }),
    model: name(row.publication_id),
    endpoint: name(row.endpoint_id),
    amount: formatNano(BigInt(row.amount_nano)),
    ...counted(row),
    ...(row.flags !== 0 && { flags: [...toFlags(row.flags)] }),
    ...(row.price_id !== null && { price: row.price_id }),
    ...(row.reason_id !== null && { reason: name(row.reason_id) }),
    ...(row.open_ms !== null && { open_ms: row.open_ms }),
    ...(row.held_nano !== null && { held: formatNano(BigInt(row.held_nano)) }),
    ...(row.held_tokens !== null && { held_tokens: row.held_tokens }),
  }
}

function counted(row: EndRow): Partial<Record<(typeof USAGE_COLUMNS)[number], number>> {
  const counts: Partial<Record<(typeof USAGE_COLUMNS)[number], number>> = {}
  for (const column of USAGE_COLUMNS) {
    const count = row[column]
    if (count !== null) counts[column] = count
  }
  return counts
}
