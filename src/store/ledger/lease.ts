import Database from 'better-sqlite3'
import { CommandError } from '../../base/catalogue/command.ts'
import { realPath } from '../database.ts'
import { isBusy, storeFault } from '../faults.ts'

/** The right to be the one gateway of a store. */
export interface Lease {
  release(): void
}

/**
 * Takes the lease of the database at `path`: an exclusive lock on the file `<path>.gateway`, in a transaction that is
 * never committed. The kernel owns the lock, so it ends with the process in any case.
 * @throws {CommandError} store_in_use if another process, or another part of this one, holds it; store_missing without such a
 * database; store_unavailable
 */
export function takeLease(path: string): Lease {
  // Two paths to one file must share one lease.
  const lockPath = `${realStorePath(path)}.gateway`
  let raw: Database.Database | undefined
  try {
    raw = new Database(lockPath, { timeout: 0 })
    raw.exec('begin exclusive')
  } catch (error) {
    raw?.close()
    if (!isBusy(error)) throw storeFault(error, lockPath)
    throw new CommandError('store_in_use', `Another gateway serves ${path}.`, { cause: error })
  }
  const held = raw
  return { release: () => void held.close() }
}

function realStorePath(path: string): string {
  try {
    const real = realPath(path)
    if (real !== undefined) return real
  } catch (error) {
    throw storeFault(error, path)
  }
  throw new CommandError('store_missing', `${path} does not exist yet.`)
}
