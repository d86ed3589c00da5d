import type { Resource } from '../schema/kinds.ts'
import type { Revision } from '../store/types.ts'
import { record } from './audit.ts'
import { changesBetween, type Difference } from './changes/between.ts'
import { blastRadius } from './changes/blast/radius.ts'
import type { BlastRadius } from './changes/blast/types.ts'
import { executeRollback, planRollback, type RolledBack } from './changes/rollback.ts'
import type { Plan } from './changes/types.ts'
import { type Exported, exportOf } from './configuration.ts'
import type { AppPorts } from './context.ts'
import { recentUse } from './recent-use.ts'
import { loggedIn } from './revision-author.ts'
import { wouldServe } from './serve-check.ts'
import { withStore } from './stored.ts'

type HistoryPorts = Pick<AppPorts, 'clock' | 'cwd'>

/** The newest revisions first. @throws {CommandError} store_… */
export async function listRevisions(
  limit: number,
  storeUrl: string,
  ports: HistoryPorts,
): Promise<readonly Revision[]> {
  return withStore(storeUrl, 'read', ports, store => store.revisions({ limit }))
}

export interface ShownRevision extends Difference {
  readonly revision: Revision
  /** The full state at that revision. */
  readonly resources: readonly Resource[]
}

/** The changes of a revision. @throws {CommandError} store_…, not_found */
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
 * The files that would produce the state of a revision.
 * @throws {CommandError} store_…, not_found; usage if the store has several sets and none was named.
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

/** A plan of a rollback, with its impact on callers. */
export interface RollbackWithImpact {
  readonly plan: Plan
  readonly radius: BlastRadius
  /** The full state after the rollback. */
  readonly resources: readonly Resource[]
}

/**
 * Restores the full state of a revision, as a new revision.
 *
 *     plan ──────▶ review ────────────▶ one transaction ──▶ revision base + 1
 *       │            │                    │
 *     not_found   not_confirmed         revision_changed
 *                 too_many_deletes      not_servable
 *
 * Nothing is probed: the restored configuration has been served before, and a rollback should not wait for an
 * upstream.
 *
 * @param review receives the plan and rejects by throwing.
 * @throws {CommandError} store_… and the codes above.
 */
export async function rollBackTo(
  to: number,
  storeUrl: string,
  ports: AppPorts,
  review: (rollback: RollbackWithImpact) => Promise<void>,
): Promise<RollbackWithImpact & { readonly done: RolledBack }> {
  return withStore(storeUrl, 'write', ports, async store => {
    const live = await store.live()
    const planned = await planRollback(store, live, to)
    const rollback = {
      plan: planned.plan,
      radius: await blastRadius(live, planned.wanted, planned.plan.renames, recentUse(store)),
      resources: planned.wanted,
    }
    await review(rollback)
    ports.signal.throwIfAborted()
    const actor = { ...loggedIn(ports.environment), check: wouldServe(ports.signal) }
    const done = await executeRollback(store, planned, actor)
    await record(store, { action: 'roll_back', target: `revision/${to}`, revision: done.revision }, ports)
    return { ...rollback, done }
  })
}

/** The plan of {@link rollBackTo}. @throws {CommandError} store_…, not_found */
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
