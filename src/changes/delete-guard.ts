import { CommandError } from '../base/catalogue/command.ts'
import type { Plan } from './types.ts'

/** So many may go unseen from any set: a resource and what hangs on it. */
const FEW = 2
const MOST = 10
const MOST_OF_A_SET = 0.2

/**
 * For what is applied without a person who looks: a folder that was half copied, or a file that was moved away, must
 * not take the service with it.
 *
 * @throws {CommandError} GW4015 where the plan deletes more than 10 resources, or more than two and a fifth of its set.
 */
export function assertFewDeletes({ counts, set }: Pick<Plan, 'counts' | 'set'>): void {
  const owned = counts.unchanged + counts.update + counts.delete
  if (counts.delete <= FEW || (counts.delete <= MOST && counts.delete <= owned * MOST_OF_A_SET)) return
  throw new CommandError(
    'GW4015',
    `The files would delete ${counts.delete} of the ${owned} resources of the set ${set}.`,
  )
}
