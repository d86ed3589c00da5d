import { existsSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { CommandError } from '../base/catalogue/command.ts'

/** Whether another connection holds the lock (https://sqlite.org/rescode.html#busy). */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code)
}

/**
 * Converts an error of the database or its file into an error for the operator. Any other error (a violated constraint
 * is a bug in gw) is returned unchanged.
 */
export function storeFault(error: unknown, path: string): unknown {
  if (isBusy(error))
    return new CommandError('store_locked', `${path} is locked by another process.`, { cause: error })
  const fileFault =
    error instanceof Database.SqliteError
      ? /^SQLITE_(IOERR|FULL|READONLY|CANTOPEN|NOTADB|CORRUPT|PERM|AUTH|NOLFS|PROTOCOL)/.test(error.code)
      : error instanceof Error && 'syscall' in error
  if (!fileFault) return error
  return new CommandError('store_unavailable', `${path} cannot be used: ${reasonOf(error, path)}.`, {
    ...hintFor(error, path),
    cause: error,
  })
}

function reasonOf(error: unknown, path: string): string {
  return isDirectory(path) ? 'it is a directory' : (error as Error).message
}

/** Hints for errors other than permissions and free space. */
function hintFor(error: unknown, path: string): { readonly hint?: string } {
  if (isDirectory(path)) return { hint: `Name a file in it: --store sqlite:${path}/gw.db.` }
  const isForeign = error instanceof Database.SqliteError && error.code === 'SQLITE_NOTADB'
  if (isForeign) return { hint: 'Name another file with --store: this file is not a database of gw.' }
  const isDamaged = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CORRUPT')
  return isDamaged ? { hint: 'Keep the file, and restore a backup: see docs/operations.md.' } : {}
}

/** `statSync` throws for a path below a file. */
function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory()
}
