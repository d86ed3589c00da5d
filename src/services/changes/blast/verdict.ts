import { pluralize } from '../../../base/pluralize.ts'
import type { Plan } from '../types.ts'
import type { BlastRadius, Ending } from './types.ts'

/** Resources that stop serving although they were used within the last 24 hours. */
export function inUse({ endings }: Pick<BlastRadius, 'endings'>): Ending[] {
  return endings.filter(({ day }) => day.requests > 0)
}

/**
 * A plan in one line: `1 to create, 3 to update, 1 to delete; breaks 2 keys; nothing in use goes away`. A plan that
 * only creates breaks nothing, so it shows only its counts.
 */
export function verdict({ counts }: Pick<Plan, 'counts'>, radius: BlastRadius | undefined): string {
  const { create, update, delete: remove } = counts
  const sums = `${create} to create, ${update} to update, ${remove} to delete`
  if (!radius || update + remove === 0) return sums
  const parts = [
    sums,
    ...(radius.brokenKeys === 0 ? ['breaks no key'] : []),
    ...breakage(radius),
    ...(radius.hasClients && inUse(radius).length + lostInUse(radius) === 0
      ? ['nothing in use goes away']
      : []),
  ]
  return parts.join('; ')
}

/** The ways in which a plan breaks callers, in a few words; empty if it does not. */
export function breakage(radius: BlastRadius): readonly string[] {
  const used = inUse(radius).length
  return [
    radius.brokenKeys > 0 && `breaks ${pluralize(radius.brokenKeys, 'key')}`,
    radius.unserved.length > 0 &&
      `leaves ${pluralize(radius.unserved.length, 'publication')} without an endpoint`,
    radius.paths.length > 0 && `takes paths from ${pluralize(radius.paths.length, 'publication')}`,
    radius.limits.length > 0 && `lowers ${pluralize(radius.limits.length, 'limit')} below recent use`,
    used > 0 && `${used} in use ${used === 1 ? 'goes' : 'go'} away`,
    lostInUse(radius) > 0 && `takes nodes in use from ${pluralize(lostInUse(radius), 'endpoint')}`,
  ].filter(part => part !== false)
}

/** How many endpoints lose nodes that served them within the last 24 hours. */
function lostInUse({ nodes }: BlastRadius): number {
  return nodes.filter(({ loses }) => loses.some(({ requests }) => requests > 0)).length
}
