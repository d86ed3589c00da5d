import { accessSync, closeSync, constants, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { CommandError } from '../base/catalogue/command.ts'
import { isBusy } from './faults.ts'

/** `read` never writes or creates anything; `create` makes the file and its folder if they are missing. */
export type StoreMode = 'read' | 'write' | 'create'

/** One open connection without Kysely: all that the ledger's thread needs, in half the start-up time. */
export interface OpenDatabase {
  readonly raw: Database.Database
  readonly path: string
  /** The file that the path named when it was opened: device and inode. */
  readonly file: string | undefined
  readonly walFile: string | undefined
}

export const BUSY_MS = 5_000
const JOURNAL_BYTES = 64 * 1_048_576
const SYNCHRONOUS_FULL = 2
/** Together they last as long as {@link BUSY_MS}. */
const BUSY_ATTEMPTS = 250
const BUSY_PAUSE_MS = 20

/**
 * The only function that opens a connection. Throws raw errors of SQLite and of the file system.
 * @throws {CommandError} store_missing if the file is missing and the mode is not `create`.
 */
export async function openDatabase(path: string, mode: StoreMode): Promise<OpenDatabase> {
  if (mode === 'create') createFile(path)
  if (fileIdentity(path) === undefined) throw new CommandError('store_missing', `${path} does not exist yet.`)
  // SQLite opens a file that it may only read, and fails at the first write.
  if (mode !== 'read') accessSync(path, constants.W_OK)

  const raw = new Database(path, { readonly: mode === 'read', fileMustExist: true, timeout: BUSY_MS })
  try {
    // Takes effect only in an empty file: lets retention return pages to the file system.
    if (mode === 'create') raw.pragma('auto_vacuum = incremental')
    // Two connections that switch to WAL at once get "busy" without waiting, in spite of busy_timeout.
    if (mode !== 'read') await whileBusy(() => raw.pragma('journal_mode = wal'))
    raw.pragma(`busy_timeout = ${BUSY_MS}`)
    raw.pragma('foreign_keys = on')
    raw.pragma(`journal_size_limit = ${JOURNAL_BYTES}`)
    // better-sqlite3 is compiled so that WAL means NORMAL, which loses the last commits in a power failure.
    raw.pragma('synchronous = full')
    assertPragmas(raw, mode)
    return { raw, path, file: fileIdentity(path), walFile: fileIdentity(`${path}-wal`) }
  } catch (error) {
    raw.close()
    throw error
  }
}

/** The file behind a path, as device and inode; `undefined` if there is no file. */
export function fileIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    // Not `throwIfNoEntry: false`: newer versions of Node treat ENOTDIR as absent, older ones do not.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The path without symbolic links; undefined if nothing is there. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Retries while another connection holds the lock. Does not use a `Clock`: its timers do not keep the process alive.
 */
export async function whileBusy(attempt: () => unknown): Promise<void> {
  for (let count = 1; ; count++) {
    try {
      attempt()
      return
    } catch (error) {
      if (!isBusy(error) || count === BUSY_ATTEMPTS) throw error
    }
    await pause(BUSY_PAUSE_MS)
  }
}

/**
 * Only the owner may read digests and policies; SQLite gives its side files the mode of the database.
 * Never opens an existing file: closing a second descriptor of a file drops the locks that this process holds on it
 * (https://sqlite.org/howtocorrupt.html §2.2).
 */
function createFile(path: string): void {
  makeFolder(dirname(path))
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Makes the folder and its parents. Not `recursive`: in a file system that makes no folders, such as /proc, Node never
 * returns.
 *
 * @param mode of each folder that is made, as far as the process allows it; by default only its owner may enter.
 */
export function makeFolder(path: string, mode = 0o700): void {
  if (tryMakeFolder(path, mode)) return
  makeFolder(dirname(path), mode)
  if (!tryMakeFolder(path, mode)) mkdirSync(path, { mode })
}

/** Makes the folder if needed. False if its parent is missing. */
function tryMakeFolder(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode })
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return true
    if (code === 'ENOENT' && dirname(path) !== path) return false
    throw error
  }
}

function assertPragmas(raw: Database.Database, mode: StoreMode): void {
  const wanted: Record<string, number | string> = {
    synchronous: SYNCHRONOUS_FULL,
    foreign_keys: 1,
    busy_timeout: BUSY_MS,
    journal_size_limit: JOURNAL_BYTES,
    ...(mode !== 'read' && { journal_mode: 'wal' }),
  }
  for (const [pragma, value] of Object.entries(wanted)) {
    const actual: unknown = raw.pragma(pragma, { simple: true })
    if (actual !== value) throw new Error(`SQLite has ${pragma} = ${String(actual)} instead of ${value}`)
  }
}
