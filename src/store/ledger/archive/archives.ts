import type Database from 'better-sqlite3'
import { CommandError } from '../../../base/catalogue/command.ts'
import { codeOf } from '../columns.ts'
import type { Archive } from '../types.ts'
import { addUsageTo, usageValues } from '../usage-sums.ts'
import { type PlaceSums, selectPlaces } from '../verify/place-sums.ts'
import { placeOf } from '../verify/usage-cell.ts'
import type { ArchiveToVerify } from '../verify/verify.ts'
import { digestOf } from './archive-file.ts'

/** Deleted in one transaction, some 10 ms: a gateway writes in between. */
const STEP_ROWS = 2_000
const VACUUM_PAGES = 200

/** In the order of their entries. */
export function selectArchives(raw: Database.Database): Archive[] {
  return raw
    .prepare<[], Archive>(
      `select id, before_ms as beforeMs, first_id as firstId, last_id as lastId, entries, file, bytes, sha256,
         archived_at_ms as archivedAtMs
       from archives order by first_id`,
    )
    .all()
}

/** All archives with their recorded sums. */
export function recordedArchives(raw: Database.Database): (ArchiveToVerify & { archive: Archive })[] {
  return selectArchives(raw).map(archive => ({
    archive,
    sums: [...selectPlaces(raw, 'archived_usage', 'archive_id = ?', archive.id)],
    path: undefined,
  }))
}

/**
 * All archives, those with a file among the given ones by the entries in it.
 * @throws {CommandError} archive_unknown if a file is not of an archive
 */
export async function archivesWithFiles(
  raw: Database.Database,
  paths: readonly string[],
): Promise<ArchiveToVerify[]> {
  const archives = recordedArchives(raw)
  const files = await filesOf(
    archives.map(({ archive }) => archive),
    paths,
  )
  return archives.map(one => ({ ...one, path: files.get(one.archive.id) }))
}

/**
 * Finds by their digests which archives the files are of.
 * @returns the paths by the ids of archives.
 * @throws {CommandError} archive_unknown if a file is not of an archive
 */
export async function filesOf(
  archives: readonly Archive[],
  paths: readonly string[],
): Promise<ReadonlyMap<number, string>> {
  const files = new Map<number, string>()
  for (const path of paths) {
    const sha256 = await digestOf(path).catch(unreadable(path))
    const archive = archives.find(one => one.sha256 === sha256)
    if (!archive) {
      throw new CommandError(
        'archive_unknown',
        `${path} is not an archive of this store, or it was changed: its SHA-256 is ${sha256}.`,
      )
    }
    files.set(archive.id, path)
  }
  return files
}

/** The primary key of `archived_usage`, in the order of the values. */
const PLACE = ['key_name', 'archive_id', 'tenant', 'publication', 'endpoint'] as const

const DELETE = `
  delete from ledger where id in (
    select id from ledger where id <= (select max(last_id) from archives) and kind <= ${codeOf('release')}
    order by id limit ${STEP_ROWS})`

/** Records an archive: from now on its entries may be deleted. */
export function insertArchive(
  raw: Database.Database,
  archive: Omit<Archive, 'id'>,
  sums: PlaceSums,
): Archive {
  const { beforeMs, firstId, lastId, entries, file, bytes, sha256, archivedAtMs } = archive
  const id = 1 + (raw.prepare<[], number | null>('select max(id) from archives').pluck().get() ?? 0)
  raw
    .prepare(
      `insert into archives (id, before_ms, first_id, last_id, entries, file, bytes, sha256, archived_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(id, beforeMs, firstId, lastId, entries, file, bytes, sha256, archivedAtMs)
  const add = raw.prepare(addUsageTo('archived_usage', PLACE))
  for (const [place, usage] of sums) add.run(...usageValues({ ...placeOf(place), ...usage, quarter: id }))
  return { id, ...archive }
}

/** Deletes some of the archived entries, and gives their pages back. Returns how many. */
export function deleteArchived(raw: Database.Database): number {
  const { changes } = raw.prepare(DELETE).run()
  if (changes > 0) raw.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
  return changes
}

function unreadable(path: string): (error: Error) => never {
  return error => {
    throw new CommandError('archive_unknown', `${path} cannot be read: ${error.message}.`, {
      hint: 'Name a file that `gw ledger archive` has written.',
      cause: error,
    })
  }
}
