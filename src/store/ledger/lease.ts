import Database from 'better-sqlite3'
import { CommandError } from '../../base/catalogue/command.ts'
import { realPath } from '../database.ts'
import { isBusy, storeFault } from '../faults.ts'
import { lanesOf, withLane } from '../lanes.ts'

/** The right to be the one gateway in a lane of a store. */
export interface Lease {
  release(): void
}

/** How many gateways may serve a store. */
const MAX_LANES = 64
/** A gateway that starts has the right to start for some milliseconds. */
const START_WAIT_MS = 1_000

/**
 * Takes the lease of a lane of the database at `path`: an exclusive lock on the file `<path>.gateway`, in a transaction
 * that is never committed. The kernel owns the lock, so it ends with the process in any case.
 * @throws {CommandError} store_in_use if another process, or another part of this one, holds it; store_missing without such a
 * database; store_unavailable
 */
export function takeLease(path: string, lane = 0): Lease {
  // Two paths to one file must share one lease.
  const lockPath = withLane(`${realStorePath(path)}.gateway`, lane)
  return lock(lockPath, { waitMs: 0, whenLocked: `A gateway serves ${path}.` })
}

/**
 * The right to start a gateway: who starts one has it until there is a lane, and who needs all lanes until the end, so
 * that no gateway takes a new lane meanwhile.
 * @throws {CommandError} store_in_use, store_missing, store_unavailable
 */
function takeRightToStart(path: string): Lease {
  return lock(`${realStorePath(path)}.gateway-start`, {
    waitMs: START_WAIT_MS,
    whenLocked: `${path} is being copied, restored or converted: no gateway can start meanwhile.`,
  })
}

/** @throws {CommandError} store_in_use, store_unavailable */
function lock(path: string, { waitMs, whenLocked }: { waitMs: number; whenLocked: string }): Lease {
  let raw: Database.Database | undefined
  try {
    raw = new Database(path, { timeout: waitMs })
    raw.exec('begin exclusive')
  } catch (error) {
    raw?.close()
    if (!isBusy(error)) throw storeFault(error, path)
    throw new CommandError('store_in_use', whenLocked, { cause: error })
  }
  const held = raw
  return { release: () => void held.close() }
}

/** Takes the lease of a lane; undefined if a process has it. @throws {CommandError} store_missing, store_unavailable */
export function tryLease(path: string, lane: number): Lease | undefined {
  try {
    return takeLease(path, lane)
  } catch (error) {
    if (error instanceof CommandError && error.code === 'store_in_use') return undefined
    throw error
  }
}

/**
 * Takes the lease of the first lane that no process has.
 * @throws {CommandError} store_in_use, store_missing, store_unavailable
 */
export function takeFreeLane(path: string): { readonly lane: number; readonly lease: Lease } {
  const start = takeRightToStart(path)
  try {
    for (let lane = 0; lane < MAX_LANES; lane++) {
      const lease = tryLease(path, lane)
      if (lease) return { lane, lease }
    }
  } finally {
    start.release()
  }
  throw new CommandError('store_in_use', `${MAX_LANES} gateways serve ${path}; there cannot be more.`)
}

/**
 * Takes the leases of all lanes: no gateway serves the store, or starts to, until they are released.
 * @throws {CommandError} store_in_use, store_missing, store_unavailable
 */
export function takeAllLeases(path: string): Lease {
  const leases: Lease[] = [takeRightToStart(path)]
  const release = () => leases.forEach(lease => lease.release())
  try {
    for (const lane of lanesOf(`${realStorePath(path)}.gateway`)) leases.push(takeLease(path, lane))
    return { release }
  } catch (error) {
    release()
    throw error
  }
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
