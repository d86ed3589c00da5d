import type { Hold } from '../../../schema/ledger.ts'
import { SWEEP_AFTER_MS } from '../../ledger/recovery.ts'
import { selectHolds } from './current-holds.ts'
import { fold } from './fold.ts'
import { deleteInstance, fence, type StoredInstance, selectInstances } from './instance-rows.ts'
import type { Database } from './lane-connection.ts'
import { hasEnded, isRunning, ownIdentity } from './process-identity.ts'
import type { PostgresShares } from './shares.ts'

const MOST_HOLDS = 10_000

export interface RecoveryOptions {
  /** Monotonic clock. */
  readonly tickMs: number
  /** By instance, since when this gateway knows that it is fenced. No clock of another machine counts. */
  readonly fencedSinceMs: Map<string, number>
  /** Leases count. */
  readonly mayExpire: boolean
  /** The ends in the journal that an instance of this machine, which has ended, could not write to the store. */
  readonly left: {
    /** Writes them. */
    readonly write: (instance: string) => Promise<void>
    readonly remove: (instance: string) => void
  }
  /** Adds what this gateway has written to the sums: it may have ended holds of others. */
  readonly foldOwn: () => Promise<void>
}

/**
 * Takes over what gateways that have ended left, or that gave no sign of life for the time of their lease.
 *
 *     fence ──▶ open holds ──▶ to be settled, if the process is known to have ended, or after their deadline
 *                    └──▶ fold ──▶ shares free, but for open holds ──▶ none left: the instance is deleted
 *
 * A hold that is no longer open is in the sums before its part of a share is free, whichever gateway has ended it: else the units
 * that it has used could be granted once more. So open holds are selected first, and what comes later is counted twice for a moment.
 *
 * @returns holds that the caller must settle, at most a page: once it has, it must come again.
 */
export async function recoverInstances(
  db: Database,
  shares: PostgresShares,
  own: string,
  { tickMs, fencedSinceMs, mayExpire, left, foldOwn }: RecoveryOptions,
): Promise<readonly Hold[]> {
  const identity = ownIdentity()
  const isDead = ({ process, isForgotten }: StoredInstance) => isForgotten || hasEnded(process, identity)
  const instances = await selectInstances(db)
  for (const instance of instances) {
    const { id, serial, isFenced, isExpired } = instance
    if (id === own || !(isFenced || (isExpired && mayExpire) || isDead(instance))) continue
    if (!(await fence(db, id, own, isDead(instance)))) continue
    // A process that is there after all writes its journal itself. What ran here before a boot, or in a container that was
    // replaced, is not known to have ended, and its journal is complete.
    if (!isRunning(instance.process, identity)) {
      if (isDead(instance) || !fencedSinceMs.has(id)) await left.write(id)
      if (isDead(instance)) left.remove(id)
    }
    const holds = await selectHolds(db, serial, MOST_HOLDS)
    const sinceMs = fencedSinceMs.get(id) ?? tickMs
    fencedSinceMs.set(id, sinceMs)
    const forgotten = isDead(instance)
      ? holds
      : holds.filter(({ openedAtMs, deadlineMs }) => {
          const lifeMs = deadlineMs - openedAtMs + SWEEP_AFTER_MS
          return sinceMs + lifeMs <= tickMs
        })
    if (forgotten.length > 0) return forgotten
    // Others may have begun to recover it, and have ended as well, since the list was read.
    for (const ended of await selectInstances(db))
      if (ended.id === id || (ended.isFenced && ended.id !== own)) await fold(db, ended.id, undefined)
    await foldOwn()
    if (holds.length < MOST_HOLDS && (await shares.recover(id, holds)) && (await deleteInstance(db, id))) {
      left.remove(id)
      fencedSinceMs.delete(id)
    }
  }
  return []
}
