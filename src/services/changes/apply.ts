import { CommandError } from '../../base/catalogue/command.ts'
import type { Tree } from '../../config/types.ts'
import type { Commit, Store } from '../../store/types.ts'
import { assertOwnership, assertReferences } from './ownership.ts'
import { adoptedBy, owned } from './plan.ts'
import type { Applied, ApplyContext, Plan } from './types.ts'

/**
 * Applies `desired` in one transaction.
 *
 *     lock ──▶ still at plan.base? ──▶ owners, references ──▶ check ──▶ write ──▶ revision base + 1
 *                     │                        │                │
 *            revision_changed      owned_by_other        not_servable    nothing written
 *                                 still_referenced
 *
 * Probes come earlier, without a lock: an upstream may be slow, and other writers must not wait for it. A plan without
 * changes writes nothing.
 *
 * @param plan of exactly this `desired`, from `plan()`.
 */
export async function apply(
  store: Store,
  plan: Plan,
  desired: Tree,
  context: ApplyContext,
): Promise<Applied> {
  const { counts } = plan
  if (plan.changes.length === 0) return { revision: plan.base, counts }

  const { author, gitCommit, origin } = context
  const commit: Commit = {
    base: plan.base,
    origin,
    set: plan.set,
    counts,
    ...(author !== undefined && { author }),
    ...(gitCommit !== undefined && { gitCommit }),
    // All declared resources, not only the changed ones: line numbers move with every edit, and messages contain them.
    puts: [...desired.resources.map(declared => owned(declared, plan.set)), ...plan.dependents],
    renames: plan.renames,
    deletes: plan.changes
      .filter(({ action }) => action === 'delete')
      .map(({ kind, name }) => ({ kind, name })),
  }
  const revision = await store.commit(commit, async view => {
    assertOwnership(
      view.changed.flatMap(({ before }) => before ?? []),
      desired,
      adoptedBy(plan),
    )
    const after = await view.all()
    assertReferences(after, desired)
    const problems = await context.check(after)
    if (problems.length > 0) throw new CommandError('not_servable', problems.join('\n'))
  })
  return { revision: revision.id, counts }
}
