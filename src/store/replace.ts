import { existsSync, linkSync, renameSync } from 'node:fs'
import Database from 'better-sqlite3'
import { CommandError } from '../base/catalogue/command.ts'
import { SIDE_FILES, syncToDisk } from './copy.ts'
import { fileIdentity } from './database.ts'
import { isBusy, storeFault } from './faults.ts'

const BUSY_MS = 2_000

/**
 * Replaces the store at `path` with the file `fresh`, in one step; the former store is moved to `former`, with its
 * SQLite side files. The caller must have the lease of the store, and no other process may have it open.
 *
 *     alone? ──▶ former: a second name ──▶ fresh renamed to path
 *       └─ no: store_locked    (a crash here leaves the former store in its place)
 *
 * @returns whether there was a former store.
 * @throws {CommandError} store_locked while another process has it open; store_unavailable
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
        // Not renamed: that would overwrite a store that was created meanwhile.
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

/** A log of the former store would corrupt the new one. */
function setAside(path: string, former: string): void {
  for (const side of SIDE_FILES)
    if (existsSync(`${path}${side}`)) renameSync(`${path}${side}`, `${former}${side}`)
}

/** Checkpoints and locks the former store; undefined if it is too damaged for that, and stays as it is. */
function openAlone(path: string): Database.Database | undefined {
  let raw: Database.Database | undefined
  try {
    raw = new Database(path, { fileMustExist: true, timeout: BUSY_MS })
    // Leaving WAL mode succeeds only if no other connection has the store open.
    const mode = raw.pragma('journal_mode = delete', { simple: true })
    if (mode !== 'delete') throw new CommandError('store_locked', `${path} is open in another process.`)
    raw.exec('begin exclusive')
    return raw
  } catch (error) {
    raw?.close()
    if (isBusy(error)) {
      throw new CommandError('store_locked', `${path} is open in another process.`, { cause: error })
    }
    if (error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code)) return undefined
    throw error
  }
}
