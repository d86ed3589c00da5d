import type { PlainSql } from '../../engine.ts'
import { prepare } from '../../engine.ts'
import type { NanoParts } from '../../ledger/columns.ts'
import type { Archive } from '../../ledger/types.ts'
import { SUM_COLUMNS, type UsageSums, usageValues } from '../../ledger/usage-sums.ts'
import { type PlaceSums, type SummedRow, toSums } from '../../ledger/verify/place-sums.ts'
import { placeOf } from '../../ledger/verify/usage-cell.ts'

/** Columns of sums by their names in {@link UsageSums}; of a query that groups rows. */
export const SUMMED = [
  ...SUM_COLUMNS.filter(column => !column.startsWith('amount_')).map(
    column =>
      `sum(${column})::int8 as "${column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())}"`,
  ),
  'sum(amount_units)::text as units',
  'sum(amount_nano)::text as nano',
].join(', ')

/** The text of a place, see `placeOf`. */
export const PLACE = `concat_ws(e'\\n', endpoint, key_name, publication, nullif(tenant, ''))`

export type PlaceRow = SummedRow & NanoParts & { readonly place: string }

export function toPlace({ place, ...row }: PlaceRow): [place: string, sums: UsageSums] {
  return [place, toSums(row)]
}

/** In the order of their times. */
export function selectArchives(raw: PlainSql): Promise<Archive[]> {
  return Promise.resolve(
    prepare<[], Archive>(
      raw,
      `select id, before_ms as "beforeMs", first_id as "firstId", last_id as "lastId", entries, file, bytes, sha256,
         archived_at_ms as "archivedAtMs"
       from archives order by id`,
    ).all(),
  )
}

/** The recorded sums of an archive. */
export async function selectArchivedSums(
  raw: PlainSql,
  archiveId: number,
): Promise<[place: string, sums: UsageSums][]> {
  const rows = await prepare<[number], PlaceRow>(
    raw,
    `select ${PLACE} as place, ${SUMMED} from archived_usage where archive_id = ?
     group by key_name, tenant, publication, endpoint`,
  ).all(archiveId)
  return rows.map(toPlace)
}

const PLACE_COLUMNS = ['key_name', 'archive_id', 'tenant', 'publication', 'endpoint'] as const
const COLUMNS = [...PLACE_COLUMNS, ...SUM_COLUMNS]
const INSERT_USAGE = `insert into archived_usage (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})`

/** Records an archive with its sums. */
export async function insertArchive(
  raw: PlainSql,
  archive: Omit<Archive, 'id'>,
  sums: PlaceSums,
): Promise<Archive> {
  const { beforeMs, firstId, lastId, entries, file, bytes, sha256, archivedAtMs } = archive
  const next = await prepare<[], { id: number }>(
    raw,
    'select coalesce(max(id), 0) + 1 as id from archives',
  ).get()
  const id = next?.id ?? 1
  await prepare<unknown[]>(
    raw,
    `insert into archives (id, before_ms, first_id, last_id, entries, file, bytes, sha256, archived_at_ms)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(id, beforeMs, firstId, lastId, entries, file, bytes, sha256, archivedAtMs)
  const add = prepare<unknown[]>(raw, INSERT_USAGE)
  for (const [place, usage] of sums)
    await add.run(...usageValues({ ...placeOf(place), ...usage, quarter: id }))
  return { id, ...archive }
}
