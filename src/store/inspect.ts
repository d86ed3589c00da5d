import { constants } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { storeFault } from './faults.ts'
import { storePath } from './url.ts'

/** The file of a database, and the result of SQLite's check. */
export interface StoreFile {
  readonly path: string
  readonly fileBytes: number
  /** Size of the write-ahead log. */
  readonly walBytes: number
  /** Users other than its owner and group have access to it. */
  readonly isOpenToOthers: boolean
  /** Files and folders of the store that this process may not write; a gateway must. */
  readonly readOnly: readonly string[]
  /** Problems found by `PRAGMA quick_check`; undefined if it was not run. */
  readonly damage: readonly string[] | undefined
}

const OTHERS = 0o007
/** The check takes a microsecond per page: a larger file takes too long. */
const MAX_CHECKED_BYTES = 4 * 1_073_741_824
const MAX_DAMAGES = 5

/**
 * Inspects a database without writing to it. Undefined if there is none.
 * @throws {CommandError} usage for the URL; store_unavailable, store_locked if it cannot be read.
 */
export async function inspectStore(url: string, folder: string): Promise<StoreFile | undefined> {
  const path = storePath(url, folder)
  const file = await sizeOf(path)
  if (file === undefined) return undefined
  const wal = await sizeOf(`${path}-wal`)
  return {
    path,
    fileBytes: file.size,
    walBytes: wal?.size ?? 0,
    isOpenToOthers: platform() !== 'win32' && (file.mode & OTHERS) !== 0,
    readOnly: await readOnlyParts(path),
    damage: file.size <= MAX_CHECKED_BYTES ? damageOf(path) : undefined,
  }
}

/** Of the database, its side files, its locks and its journals. */
async function readOnlyParts(path: string): Promise<string[]> {
  const [folder, name] = [dirname(path), basename(path)]
  const isPart = (entry: string) =>
    entry === name || [`${name}-`, `${name}.gateway`, `${name}.ledger`].some(start => entry.startsWith(start))
  const parts = (await readdir(folder).catch(() => [])).filter(isPart).map(entry => join(folder, entry))
  const writable = await Promise.all(
    parts.map(part =>
      access(part, constants.R_OK | constants.W_OK).then(
        () => true,
        () => false,
      ),
    ),
  )
  return parts.filter((_, at) => !writable[at])
}

async function sizeOf(path: string): Promise<{ readonly size: number; readonly mode: number } | undefined> {
  return stat(path).catch(() => undefined)
}

function damageOf(path: string): readonly string[] {
  try {
    const database = new Database(path, { readonly: true, fileMustExist: true, timeout: 2_000 })
    try {
      const rows = database.pragma(`quick_check(${MAX_DAMAGES})`) as readonly {
        readonly quick_check: string
      }[]
      return rows.map(row => row.quick_check).filter(text => text !== 'ok')
    } finally {
      database.close()
    }
  } catch (error) {
    throw storeFault(error, path)
  }
}
