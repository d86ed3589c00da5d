import { changesBetween, type Difference } from '../changes/between.ts'
import { blastRadius } from '../changes/blast/radius.ts'
import type { BlastRadius } from '../changes/blast/types.ts'
import { executeRollback, planRollback, type RolledBack } from '../changes/rollback.ts'
import type { Plan } from '../changes/types.ts'
import type { Resource } from '../schema/kinds.ts'
import type { Revision } from '../store/types.ts'
import { record } from './audit.ts'
import { type Exported, exportOf } from './configuration.ts'
import type { AppPorts } from './ports.ts'
import { recentUse } from './recent-use.ts'
import { loggedIn } from './revision-author.ts'
import { wouldServe } from './serve-check.ts'
import { withStore } from './stored.ts'

type HistoryPorts = Pick<AppPorts, 'clock' | 'cwd'>

/** The newest revisions first. @throws {CommandError} GW2xxx */
export async function listRevisions(
  limit: number,
  storeUrl: string,
  ports: HistoryPorts,
): Promise<readonly Revision[]> {
  return withStore(storeUrl, 'read', ports, store => store.revisions({ limit }))
}

export interface ShownRevision extends Difference {
  readonly revision: Revision
  /** All that stood at it. */
  readonly resources: readonly Resource[]
}

/** What a revision has changed. @throws {CommandError} GW2xxx, GW4005 */
export async function showRevision(
  id: number,
  storeUrl: string,
  ports: HistoryPorts,
): Promise<ShownRevision> {
  return withStore(storeUrl, 'read', ports, async store => {
    const revision = await store.revision(id)
    const [before, after] = [await store.resourcesAt(revision.base), await store.resourcesAt(id)]
    return { revision, resources: after, ...changesBetween(before, after) }
  })
}

/**
 * What files would have had to say to mean what stood at a revision.
 * @throws {CommandError} GW2xxx, GW4005; GW6001 where several sets could be meant.
 */
export async function exportRevision(
  id: number,
  set: string | undefined,
  storeUrl: string,
  ports: HistoryPorts,
): Promise<Exported> {
  return withStore(storeUrl, 'read', ports, async store =>
    exportOf(set, { ...(await store.live()), resources: await store.resourcesAt(id) }),
  )
}

/** A plan to go back, and what it means for those who call. */
export interface RollbackWithImpact {
  readonly plan: Plan
  readonly radius: BlastRadius
  /** All that is to stand. */
  readonly resources: readonly Resource[]
}

/**
 * Makes all that stood at a revision stand again, as a new revision.
 *
 *     plan ──▶ review ──▶ one transaction ──▶ revision base + 1
 *       │        │            │
 *     GW4005   GW4003       GW4001 GW3002
 *              GW4015
 *
 * Nobody is probed: what is restored has been served before, and going back should not wait for an upstream.
 *
 * @param review sees it and rejects by throwing.
 * @throws {CommandError} GW2xxx and what stands above.
 */
export async function rollBackTo(
  to: number,
  storeUrl: string,
  ports: AppPorts,
  review: (foreseen: RollbackWithImpact) => Promise<void>,
): Promise<RollbackWithImpact & { readonly done: RolledBack }> {
  return withStore(storeUrl, 'write', ports, async store => {
    const live = await store.live()
    const rollback = await planRollback(store, live, to)
    const foreseen = {
      plan: rollback.plan,
      radius: await blastRadius(live, rollback.wanted, rollback.plan.renames, recentUse(store)),
      resources: rollback.wanted,
    }
    await review(foreseen)
    ports.signal.throwIfAborted()
    const actor = { ...loggedIn(ports.environment), check: wouldServe(ports.signal) }
    const done = await executeRollback(store, rollback, actor)
    await record(store, { action: 'roll_back', target: `revision/${to}`, revision: done.revision }, ports)
    return { ...foreseen, done }
  })
}

/** What {@link rollBackTo} would do. @throws {CommandError} GW2xxx, GW4005 */
export async function planRollbackTo(
  to: number,
  storeUrl: string,
  ports: HistoryPorts,
): Promise<RollbackWithImpact> {
  return withStore(storeUrl, 'read', ports, async store => {
    const live = await store.live()
    const { plan, wanted } = await planRollback(store, live, to)
    return {
      plan,
      radius: await blastRadius(live, wanted, plan.renames, recentUse(store)),
      resources: wanted,
    }
  })
}
