import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { CommandError } from '../base/catalogue/command.ts'
import { isBusy } from './faults.ts'

/** `read` never writes and creates nothing; `create` makes the file and its folder where they are missing. */
export type StoreMode = 'read' | 'write' | 'create'

/** One open connection, bare. The ledger's thread needs no more, and starts in half the time without Kysely. */
export interface OpenDatabase {
  readonly raw: Database.Database
  readonly path: string
  /** Which file the path named when it was opened: device and inode. */
  readonly file: string | undefined
  readonly walFile: string | undefined
}

export const BUSY_MS = 5_000
const JOURNAL_BYTES = 64 * 1_048_576
const SYNCHRONOUS_FULL = 2
/** Together as long as {@link BUSY_MS}. */
const BUSY_ATTEMPTS = 250
const BUSY_PAUSE_MS = 20

/**
 * The only place where a connection is opened. Raw errors of SQLite and of the file system come out of it.
 * @throws {CommandError} GW2003 where the file is missing and is not to be created.
 */
export async function openDatabase(path: string, mode: StoreMode): Promise<OpenDatabase> {
  if (mode === 'create') createFile(path)
  if (fileIdentity(path) === undefined) throw new CommandError('GW2003', `${path} does not exist yet.`)

  const raw = new Database(path, { readonly: mode === 'read', fileMustExist: true, timeout: BUSY_MS })
  try {
    // Takes effect in a file that is still empty: retention can give its pages back.
    if (mode === 'create') raw.pragma('auto_vacuum = incremental')
    // A switch to WAL answers "busy" without waiting, whatever busy_timeout says, when two do it at once.
    if (mode !== 'read') await whileBusy(() => raw.pragma('journal_mode = wal'))
    raw.pragma(`busy_timeout = ${BUSY_MS}`)
    raw.pragma('foreign_keys = on')
    raw.pragma(`journal_size_limit = ${JOURNAL_BYTES}`)
    // better-sqlite3 is compiled so that WAL means NORMAL, which loses the last commits with the power.
    raw.pragma('synchronous = full')
    assertPragmas(raw, mode)
    return { raw, path, file: fileIdentity(path), walFile: fileIdentity(`${path}-wal`) }
  } catch (error) {
    raw.close()
    throw error
  }
}

/** The file behind a path, as device and inode; `undefined` where there is none. */
export function fileIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    // Not `throwIfNoEntry: false`: newer lines of Node count ENOTDIR as absent, older ones do not.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Tries again while another connection holds the lock. Not on a `Clock`: its timers let the process end. */
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
 * Digests and policies are for the owner's eyes only; SQLite gives its side files the mode of the database.
 *
 * Never opened where it exists: to close a second descriptor of a file drops the locks that this process holds on it
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

/** With the folders above it. Not `recursive`: in a file system that makes none, such as /proc, Node never returns. */
export function makeFolder(path: string): void {
  if (isMade(path)) return
  makeFolder(dirname(path))
  if (!isMade(path)) mkdirSync(path, { mode: 0o700 })
}

/** False where the folder above it is missing. */
function isMade(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
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
    if (actual !== value) throw new Error(`SQLite keeps ${pragma} at ${String(actual)} instead of ${value}`)
  }
}
