import { CommandError } from '../base/catalogue/command.ts'
import type { Plan } from './types.ts'

/** So many may go unseen from any set: a resource and what hangs on it. */
const FEW = 2
const MOST = 10
const MOST_OF_A_SET = 0.2

/**
 * A folder that was half copied, or a file that was moved away, must not take the service with it, and a long list of
 * deletions is easily nodded through.
 *
 * @param allowed so many were said to be meant; absent: nobody said anything.
 * @throws {CommandError} GW4015 where the plan deletes more than 10 resources, or more than two and a fifth of its set.
 */
export function assertFewDeletes(
  { counts, set }: Pick<Plan, 'counts' | 'set'>,
  allowed: number | undefined,
): void {
  if (allowed === undefined ? hasFewDeletes({ counts }) : counts.delete <= allowed) return
  const owned = ownedOf(counts)
  throw new CommandError(
    'GW4015',
    `It would delete ${counts.delete} of the ${owned} resources ${set === '' ? 'that stand' : `of the set ${set}`}.`,
    {
      hint: `Look at \`gw diff\`; if it is meant, pass \`--allow-deletes ${counts.delete}\` to ${set === '' ? '`gw rollback`' : '`gw apply`'}. Nothing was changed.`,
    },
  )
}

/** Whether a plan may be carried out without a word about its deletions. */
export function hasFewDeletes({ counts }: Pick<Plan, 'counts'>): boolean {
  const deletes = counts.delete
  return deletes <= FEW || (deletes <= MOST && deletes <= ownedOf(counts) * MOST_OF_A_SET)
}

function ownedOf(counts: Plan['counts']): number {
  return counts.unchanged + counts.update + counts.delete
}
