import { existsSync, linkSync, rmSync } from 'node:fs'
import { CommandError } from '../../../base/catalogue/command.ts'
import { pluralize } from '../../../base/pluralize.ts'
import { syncToDisk } from '../../copy.ts'
import { storeFault } from '../../faults.ts'
import type { Finding } from '../types.ts'

/**
 * Runs the work with the path at which the file of an archive is written: it gets its name when it is complete and verified.
 * @param work publishes the file, see {@link publish}.
 * @throws {CommandError} file_exists
 */
export async function withPartial<T>(path: string, work: (partial: string) => Promise<T>): Promise<T> {
  if (existsSync(path)) throw alreadyExists(path)
  const partial = `${path}.partial`
  rmSync(partial, { force: true })
  try {
    return await work(partial)
  } finally {
    rmSync(partial, { force: true })
  }
}

/** Gives the file its name, unless there is one of this name by now. */
export function publish(partial: string, path: string): void {
  try {
    linkSync(partial, path)
    syncToDisk(path)
  } catch (error) {
    faultOf(path)(error)
  }
}

/** Faults of the file, which are not those of the store. */
export function faultOf(path: string): (error: unknown) => never {
  return error => {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw alreadyExists(path)
    throw storeFault(error, path)
  }
}

function alreadyExists(path: string): CommandError {
  return new CommandError('file_exists', `${path} already exists.`, {
    hint: 'Name another file: an archive is never replaced. Nothing was changed.',
  })
}

export function archivedMeanwhile(): CommandError {
  return new CommandError('store_locked', 'Another archive of these calls was written meanwhile: try again.')
}

/** @param findings of the ledger as it will be. @throws {CommandError} ledger_inconsistent */
export function assertConsistent(findings: readonly Finding[]): void {
  if (findings.length === 0) return
  throw new CommandError(
    'ledger_inconsistent',
    `The ledger does not add up: ${pluralize(findings.length, 'finding')}. Nothing was archived.`,
    { hint: '`gw ledger verify` names each row that does not match.' },
  )
}
