import { journalFolder, journalLanes, listSegments } from '../journal/files.ts'
import type { Instance } from '../shares/instance-queries.ts'
import { isPostgresUrl, storePath } from '../url.ts'
import { tryLease } from './lease.ts'
import type { LedgerThread } from './ledger-thread.ts'
import { type OpenLedgerOptions, openLedger } from './open-ledger.ts'
import type { Ledger } from './types.ts'

export interface RecoverLanesOptions extends Pick<OpenLedgerOptions, 'clock' | 'events' | 'folder'> {
  /** Of this gateway. */
  readonly ownLane: number
  /** Creates the thread that folds a journal. */
  readonly createThread?: (() => LedgerThread) | undefined
}

const NO_LANE = -1

/**
 * Settles what gateways that have died left, and frees their shares.
 * @param instances All that have joined, dead or not.
 * @returns how many holds it settled.
 * @throws {CommandError} journal_damaged, store_…
 */
export function recoverOthers(
  url: string,
  ledger: Pick<Ledger, 'recover'>,
  instances: readonly Pick<Instance, 'lane'>[],
  options: RecoverLanesOptions,
): Promise<number> {
  // Without journals, each gateway recovers all others.
  return isPostgresUrl(url) ? ledger.recover(options.clock.nowMs()) : recoverLanes(url, instances, options)
}

/**
 * Does the same from a process that is no gateway, and waits for none of the store.
 * @throws {CommandError} journal_damaged, store_…
 */
export async function settleLeft(
  url: string,
  instances: readonly Pick<Instance, 'lane'>[],
  options: Pick<OpenLedgerOptions, 'clock' | 'events' | 'folder'>,
): Promise<number> {
  if (!isPostgresUrl(url)) return recoverLanes(url, instances, { ...options, ownLane: NO_LANE })
  const ledger = await openLedger(url, options)
  try {
    const count = await ledger.recover(options.clock.nowMs())
    // With the ends in the sums, nothing is left of the gateways.
    await ledger.flush()
    return count + (await ledger.recover(options.clock.nowMs()))
  } finally {
    await ledger.close()
  }
}

/**
 * Folds and settles what gateways that have died left in their lanes, and frees their shares, as the next gateway
 * in such a lane would. A lane whose lease is free has no gateway, and gets none meanwhile.
 * @param instances All that have joined, dead or not.
 * @returns how many holds it settled.
 * @throws {CommandError} journal_damaged, store_…
 */
async function recoverLanes(
  url: string,
  instances: readonly Pick<Instance, 'lane'>[],
  options: RecoverLanesOptions,
): Promise<number> {
  const { clock, ownLane, createThread } = options
  const path = storePath(url, options.folder ?? '.')
  const left = journalLanes(path).filter(lane => listSegments(journalFolder(path, lane)).length > 0)
  const lanes = new Set([...instances.map(({ lane }) => lane), ...left])
  lanes.delete(ownLane)
  let count = 0
  for (const lane of lanes) {
    const lease = tryLease(path, lane)
    if (!lease) continue
    const thread = createThread?.()
    const ledger = await openLedger(url, { ...options, place: { lane, lease }, ...(thread && { thread }) })
    try {
      count += await ledger.recover(clock.nowMs())
      await ledger.ask({ query: 'leave' })
    } finally {
      await ledger.close()
    }
  }
  return count
}
