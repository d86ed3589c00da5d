import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { CommandError } from '../base/catalogue/command.ts'
import { openDatabase } from './database.ts'
import { storeFault } from './faults.ts'
import { migrate } from './migrate.ts'
import { readHead } from './served-state.ts'
import { openSession } from './session.ts'

/** Pages of 4 KiB per step; the event loop runs between two steps. */
const STEP_PAGES = 2_048
const DAMAGES = 3
/** Files that SQLite may leave beside a database. */
export const SIDE_FILES = ['-journal', '-wal', '-shm'] as const

export interface CopyWatch {
  readonly onProgress?: (bytes: number, ofBytes: number) => void
  /** Called before the copy is verified, which takes a while and cannot be interrupted. */
  readonly onCheck?: () => void
  readonly signal: AbortSignal
}

/** A complete and verified copy of a store, in one file. */
export interface StoreCopy {
  readonly bytes: number
  readonly revision: number
}

/**
 * Copies the database at `from`, as of one moment, into the new file `to`, which only its owner may read. Other
 * connections may read and write `from` meanwhile. The copy is one file without a write-ahead log, verified and synced
 * to disk; there is no `to` if this throws.
 * @throws {CommandError} backup_damaged if the copy is damaged or not a store; store_too_new if a newer gw wrote it; store_unavailable, store_missing
 */
export async function copyStore(from: string, to: string, watch: CopyWatch): Promise<StoreCopy> {
  try {
    // SQLite would create it with the permissions of the umask.
    closeSync(openSync(to, 'wx', 0o600))
  } catch (error) {
    throw storeFault(error, to)
  }
  try {
    const bytes = await copyPages(from, to, watch)
    watch.signal.throwIfAborted()
    watch.onCheck?.()
    disableWal(to)
    const { revision } = await verifyCopy(to, from)
    syncToDisk(to)
    watch.signal.throwIfAborted()
    return { bytes, revision }
  } catch (error) {
    for (const side of ['', ...SIDE_FILES]) rmSync(`${to}${side}`, { force: true })
    throw isOfCopy(error) ? unwritable(error, to) : foreignFault(error, from)
  }
}

/** Syncs a file, and its entry in the folder, to the disk. */
export function syncToDisk(path: string): void {
  for (const each of [path, dirname(path)]) {
    const descriptor = openSync(each, 'r')
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
}

async function copyPages(from: string, to: string, { onProgress, signal }: CopyWatch): Promise<number> {
  const { raw } = await openDatabase(from, 'read')
  try {
    // In a transaction the copy is of one moment; without it SQLite restarts after each commit of another connection.
    raw.exec('begin')
    raw.prepare('select count(*) from sqlite_schema').get()
    const pageBytes = Number(raw.pragma('page_size', { simple: true }))
    const { totalPages } = await raw.backup(to, {
      progress({ totalPages: all, remainingPages }) {
        signal.throwIfAborted()
        onProgress?.((all - remainingPages) * pageBytes, all * pageBytes)
        return STEP_PAGES
      },
    })
    return totalPages * pageBytes
  } finally {
    raw.close()
  }
}

/** A reader of a database in WAL mode needs files beside it. `gw serve` switches WAL back on. */
function disableWal(path: string): void {
  const raw = new Database(path, { fileMustExist: true })
  try {
    raw.pragma('journal_mode = delete')
  } finally {
    raw.close()
  }
}

async function verifyCopy(path: string, name: string): Promise<{ readonly revision: number }> {
  const session = await openSession(path, 'read')
  try {
    const rows = session.raw.pragma(`integrity_check(${DAMAGES})`) as readonly { integrity_check: string }[]
    const damages = rows.map(row => row.integrity_check).filter(text => text !== 'ok')
    if (damages.length > 0) {
      throw new CommandError('backup_damaged', `${name} is damaged: ${damages.join('; ')}.`)
    }
    await migrate(session, 'read').catch(acceptOlder)
    return await readHead(session.raw)
  } finally {
    session.raw.close()
  }
}

/** An older store is accepted: the next command that opens it for writing migrates it. */
function acceptOlder(error: unknown): void {
  if (!(error instanceof CommandError) || error.code !== 'store_outdated') throw error
}

/** The database at `from` is only read, so that these are faults of the new file. */
function isOfCopy(error: unknown): error is Error {
  return error instanceof Database.SqliteError
    ? /^SQLITE_(FULL|IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE))/.test(error.code)
    : error instanceof Error && 'syscall' in error
}

function unwritable(error: Error, to: string): CommandError {
  const message = `The copy in ${dirname(to)} cannot be written: ${error.message}.`
  return new CommandError('store_unavailable', message, { cause: error })
}

/** Not a database, or the database of another program. */
function foreignFault(error: unknown, name: string): unknown {
  const isEmpty =
    error instanceof CommandError && (error.code === 'store_unavailable' || error.code === 'store_missing')
  const isForeign = error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code)
  if (isForeign || isEmpty) {
    return new CommandError(
      'backup_damaged',
      `${name} is not a store of gw, or it is damaged: ${error.message}`,
      {
        cause: error,
      },
    )
  }
  return storeFault(error, name)
}
