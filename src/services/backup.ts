import { chownSync, existsSync, linkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import { type CopyWatch, copyStore, SIDE_FILES, type StoreCopy, syncToDisk } from '../store/copy.ts'
import { fileIdentity, makeFolder } from '../store/database.ts'
import { storeFault } from '../store/faults.ts'
import { waitForBacklog } from '../store/journal/backlog.ts'
import { journalFolder, journalLanes } from '../store/journal/files.ts'
import { renewJournals } from '../store/journal/state.ts'
import { type Lease, takeAllLeases } from '../store/ledger/lease.ts'
import { replaceStore } from '../store/replace.ts'
import { storePath } from '../store/url.ts'
import type { AppPorts } from './context.ts'

type BackupPorts = Pick<AppPorts, 'cwd' | 'random' | 'clock' | 'signal'>

type Watch = Omit<CopyWatch, 'signal'>

export interface BackedUp extends StoreCopy {
  readonly store: string
  readonly file: string
  /** Rows of the ledger that are in the journal alone, because no gateway has folded them since a crash. */
  readonly missingRows: number
  /** The file of the key that seals credentials. No backup contains it. */
  readonly keyFile?: string
}

export interface Restored extends StoreCopy {
  readonly store: string
  readonly file: string
  /** Where the former store is now; undefined if there was no store. */
  readonly former?: string
}

/**
 * Writes a consistent copy of the store while gateways serve it. The file is written completely or not at all.
 * @throws {CommandError} file_exists if the file exists and must not be replaced; store_in_use if a gateway serves that file;
 * backup_damaged if the store is damaged; store_unavailable, store_missing, usage; interrupted
 */
export async function backUp(
  file: string,
  storeUrl: string,
  ports: BackupPorts,
  watch: Watch & { readonly isForced: boolean },
): Promise<BackedUp> {
  const store = storePath(storeUrl, ports.cwd)
  const named = resolve(ports.cwd, file)
  // A link stays, and leads to the backup.
  const path = existsSync(named) ? realpathSync(named) : named
  if (fileIdentity(store) === undefined)
    throw new CommandError('store_missing', `${store} does not exist yet.`)
  assertWritable(path, file, store)
  if (existsSync(path) && !watch.isForced) throw alreadyExists(file)
  const lease = leaseOf(path)
  try {
    return await backUpTo(path, store, file, ports, watch)
  } finally {
    lease?.release()
  }
}

async function backUpTo(
  path: string,
  store: string,
  file: string,
  ports: BackupPorts,
  watch: Watch & { readonly isForced: boolean },
): Promise<BackedUp> {
  const fresh = beside(path, ports)
  const missingRows = await waitForBacklog(store)
  const copy = await copyStore(store, fresh, { ...watch, signal: ports.signal })
  try {
    if (watch.isForced) {
      // A write-ahead log of the former file would corrupt the new one.
      for (const side of SIDE_FILES) rmSync(`${path}${side}`, { force: true })
      renameSync(fresh, path)
    } else linkSync(fresh, path)
    syncToDisk(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw alreadyExists(file)
    throw storeFault(error, path)
  } finally {
    rmSync(fresh, { force: true })
  }
  const keyFile = `${store}.key`
  return { ...copy, store, file: path, missingRows, ...(existsSync(keyFile) && { keyFile }) }
}

/**
 * Replaces the store with a backup, and keeps the former store beside it.
 * @throws {CommandError} store_in_use while a gateway serves the store, store_locked while another process has it open; backup_damaged if
 * the file is damaged or not a backup, store_too_new if a newer gw wrote it; store_unavailable, usage; interrupted
 */
export async function restore(
  file: string,
  storeUrl: string,
  ports: BackupPorts,
  watch: Watch,
): Promise<Restored> {
  const path = resolve(ports.cwd, file)
  const source = fileIdentity(path)
  if (source === undefined) {
    throw usage(`There is no file ${file}.`, 'Name a file that `gw backup FILE` has written.')
  }
  const named = storePath(storeUrl, ports.cwd)
  const isThere = fileIdentity(named) !== undefined
  // If the path is a symbolic link, SQLite keeps its log beside the target.
  const store = isThere ? realpathSync(named) : named
  if (source === fileIdentity(store)) throw itself(file)
  if (isThere) assertRegular(store, named)
  else makeFolder(dirname(store))
  const lease = isThere ? takeAllLeases(store) : undefined
  try {
    const fresh = beside(store, ports)
    const copy = await copyStore(path, fresh, { ...watch, signal: ports.signal })
    try {
      renewJournals(fresh)
      giveToOwner(fresh, isThere ? store : dirname(store))
      const former = `${store}.before-${iso(ports.clock.nowMs()).replaceAll(/[:.]/g, '-')}`
      const hadFormer = replaceStore(fresh, store, former)
      // The rows of the former store, if its gateways did not end in order.
      for (const lane of journalLanes(store)) {
        const folder = journalFolder(store, lane)
        if (existsSync(folder)) renameSync(folder, journalFolder(former, lane))
      }
      return { ...copy, store, file: path, ...(hadFormer && { former }) }
    } finally {
      rmSync(fresh, { force: true })
    }
  } finally {
    lease?.release()
  }
}

/** An administrator who restores as root has a service whose user must open the store. */
function giveToOwner(file: string, like: string): void {
  const { uid, gid } = statSync(like)
  if (process.getuid?.() === 0) chownSync(file, uid, gid)
}

function assertWritable(path: string, file: string, store: string): void {
  const target = fileIdentity(path)
  const isPart = ['', ...SIDE_FILES].some(side => path === `${store}${side}`)
  if (isPart || (target !== undefined && target === fileIdentity(store))) throw itself(file)
  const folder = dirname(path)
  if (!existsSync(folder))
    throw usage(`There is no folder ${folder}.`, 'Create it first, or name another file.')
  if (target === undefined) return
  if (statSync(path).isDirectory()) throw usage(`${file} is a folder.`, 'Name a file in it.')
  assertRegular(path, file)
}

/** A device or a pipe would be replaced by a file. @throws {CommandError} usage */
function assertRegular(path: string, file: string): void {
  if (!statSync(path).isFile()) throw usage(`${file} is not a file.`, 'Name another one.')
}

/** Of a file that is replaced: no gateway may serve it. Undefined if none ever has. @throws {CommandError} store_in_use */
function leaseOf(path: string): Lease | undefined {
  const isStore = existsSync(path) && existsSync(`${path}.gateway`)
  return isStore ? takeAllLeases(path) : undefined
}

function itself(file: string): CommandError {
  return usage(`${file} is the store itself.`, 'Name another file.')
}

function alreadyExists(file: string): CommandError {
  return new CommandError('file_exists', `${file} already exists.`, {
    hint: 'Name another file, or pass --force to replace it; nothing was written.',
  })
}

function usage(message: string, hint: string): CommandError {
  return new CommandError('usage', message, { hint })
}

/** A name in the same folder, so that a rename is atomic. */
function beside(path: string, { random }: Pick<BackupPorts, 'random'>): string {
  return `${path}.${Buffer.from(random.bytes(4)).toString('hex')}`
}
