import { CommandError } from '../../base/catalogue/command.ts'
import type { Plan } from './types.ts'

/** Always allowed: a resource with one dependent. */
const FEW = 2
const MOST = 10
const MOST_OF_A_SET = 0.2

/**
 * Stops accidental mass deletes: a half-copied folder or a moved file must not take the service down, and reviewers
 * overlook long lists of deletes.
 *
 * @param allowed the confirmed number of deletes; absent: not confirmed.
 * @throws {CommandError} too_many_deletes if the plan deletes more than 10 resources, or more than two and a fifth of its set.
 */
export function assertFewDeletes(
  { counts, set }: Pick<Plan, 'counts' | 'set'>,
  allowed: number | undefined,
): void {
  if (allowed === undefined ? hasFewDeletes({ counts }) : counts.delete <= allowed) return
  const owned = ownedOf(counts)
  throw new CommandError(
    'too_many_deletes',
    `It would delete ${counts.delete} of the ${owned} resources ${set === '' ? 'in the store' : `of the set ${set}`}.`,
    {
      hint: `Check \`gw diff\`; if the deletes are intended, pass \`--allow-deletes ${counts.delete}\` to ${set === '' ? '`gw rollback`' : '`gw apply`'}. Nothing was changed.`,
    },
  )
}

/** Whether a plan may be applied without a confirmation of its deletes. */
export function hasFewDeletes({ counts }: Pick<Plan, 'counts'>): boolean {
  const deletes = counts.delete
  return deletes <= FEW || (deletes <= MOST && deletes <= ownedOf(counts) * MOST_OF_A_SET)
}

function ownedOf(counts: Plan['counts']): number {
  return counts.unchanged + counts.update + counts.delete
}
