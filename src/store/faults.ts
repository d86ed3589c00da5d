import Database from 'better-sqlite3'
import { CommandError } from '../base/catalogue/command.ts'

/** Whether another connection holds the lock that was asked for (https://sqlite.org/rescode.html#busy). */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code)
}

/**
 * What went wrong with the database, as an operator is told of it. Anything that is no fault of the database or
 * its file (a broken constraint is a bug of ours) stays what it is.
 */
export function storeFault(error: unknown, path: string): unknown {
  if (isBusy(error))
    return new CommandError('GW2005', `${path} is locked by another process.`, { cause: error })
  const fileFault =
    error instanceof Database.SqliteError
      ? /^SQLITE_(IOERR|FULL|READONLY|CANTOPEN|NOTADB|CORRUPT|PERM|AUTH|NOLFS|PROTOCOL)/.test(error.code)
      : error instanceof Error && 'syscall' in error
  if (!fileFault) return error
  return new CommandError('GW2001', `${path} cannot be used: ${(error as Error).message}.`, { cause: error })
}
