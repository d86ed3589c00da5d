import { existsSync, linkSync, renameSync } from 'node:fs'
import Database from 'better-sqlite3'
import { CommandError } from '../base/catalogue/command.ts'
import { SIDE_FILES, syncToDisk } from './copy.ts'
import { fileIdentity } from './database.ts'
import { isBusy, storeFault } from './faults.ts'

const BUSY_MS = 2_000

/**
 * Puts the file `fresh` in the place of the store at `path`, in one step; the former store is `former` afterwards, with
 * what SQLite has left beside it. To be called with the lease of the store, and nobody else may have it open.
 *
 *     alone? ──▶ former: a second name ──▶ fresh renamed to path
 *       └─ no: GW2005    (a crash here leaves the former store in its place)
 *
 * @returns whether there was a former one.
 * @throws {CommandError} GW2005 while another process has it open; GW2001
 */
export function replaceStore(fresh: string, path: string, former: string): boolean {
  try {
    const alone = fileIdentity(path) === undefined ? undefined : openAlone(path)
    try {
      setAside(path, former)
      const hadFormer = fileIdentity(path) !== undefined
      if (hadFormer) {
        linkSync(path, former)
        renameSync(fresh, path)
      } else {
        // Not renamed: that would replace a store that was made meanwhile.
        linkSync(fresh, path)
      }
      syncToDisk(path)
      return hadFormer
    } finally {
      alone?.close()
    }
  } catch (error) {
    throw storeFault(error, path)
  }
}

/** A log of the former store would spoil the new one. */
function setAside(path: string, former: string): void {
  for (const side of SIDE_FILES)
    if (existsSync(`${path}${side}`)) renameSync(`${path}${side}`, `${former}${side}`)
}

/** Takes its log back into the store and locks it; undefined where it is too damaged for that, and is kept as it lies. */
function openAlone(path: string): Database.Database | undefined {
  let raw: Database.Database | undefined
  try {
    raw = new Database(path, { fileMustExist: true, timeout: BUSY_MS })
    // Leaving WAL needs a store that no other connection has open.
    const mode = raw.pragma('journal_mode = delete', { simple: true })
    if (mode !== 'delete') throw new CommandError('GW2005', `${path} is open in another process.`)
    raw.exec('begin exclusive')
    return raw
  } catch (error) {
    raw?.close()
    if (isBusy(error)) {
      throw new CommandError('GW2005', `${path} is open in another process.`, { cause: error })
    }
    if (error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code)) return undefined
    throw error
  }
}
