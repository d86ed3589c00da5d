import { CommandError } from '../base/catalogue/command.ts'
import type { Tree } from '../config/types.ts'
import type { Commit, Store } from '../store/types.ts'
import { assertOwnership, assertReferences } from './ownership.ts'
import { owned } from './plan.ts'
import { ProbeError } from './refusals.ts'
import type { Applied, ApplyContext, Plan } from './types.ts'

/**
 * Makes `desired` so, in one transaction.
 *
 *     probe ──▶ lock ──▶ still at plan.base? ──▶ owners, references ──▶ check ──▶ write ──▶ revision base + 1
 *       │                       │                        │                │
 *     GW5001                 GW4001                GW4004 GW4010        GW3002       nothing written
 *
 * Probes come before the lock: an upstream may take minutes to answer, and nobody waits for it. A plan without
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
  await probeWhatIsNew(plan, desired, context)

  const { author, gitCommit, origin } = context
  const commit: Commit = {
    base: plan.base,
    origin,
    set: plan.set,
    counts,
    ...(author !== undefined && { author }),
    ...(gitCommit !== undefined && { gitCommit }),
    // All of them, not the changed ones alone: lines move with every edit, and messages name them.
    puts: desired.resources.map(declared => owned(declared, plan.set)),
    deletes: plan.changes
      .filter(({ action }) => action === 'delete')
      .map(({ kind, name }) => ({ kind, name })),
  }
  const revision = await store.commit(commit, async (before, after) => {
    assertOwnership(before, desired)
    assertReferences(after, desired)
    const problems = await context.check(after)
    if (problems.length > 0) throw new CommandError('GW3002', problems.join('\n'))
  })
  return { revision: revision.id, counts }
}

async function probeWhatIsNew(plan: Plan, desired: Tree, { prober }: ApplyContext): Promise<void> {
  const touched = new Set(
    plan.changes
      .filter(({ action, kind }) => kind === 'endpoint' && action !== 'delete')
      .map(({ name }) => name),
  )
  const endpoints = desired.resources.filter(
    ({ kind, name, spec }) =>
      kind === 'endpoint' && touched.has(name) && spec['enabled'] !== false && spec['skip_probe'] !== true,
  )
  if (endpoints.length === 0) return
  const { failures } = await prober.probe(endpoints)
  if (failures.length > 0) throw new ProbeError(failures)
}
