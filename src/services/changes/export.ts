import type { Resource } from '../../schema/kinds.ts'
import { resourceId } from '../../store/resources.ts'
import type { Live } from '../../store/types.ts'
import { isOwn } from './ownership.ts'

/** The resources of a set, sorted by kind and name. */
export function exportSet(live: Live, set: string): Resource[] {
  return live.resources
    .filter(resource => isOwn(resource, set))
    .map(({ kind, name, spec }) => ({ kind, name, spec }))
}

/**
 * The names (`kind/name`) that the files of a set may refer to without declaring them: the resources of other owners.
 * While the set is unknown: all resources; `plan` finds references to those that the tree itself deletes.
 */
export function knownOutside(live: Live, set?: string): ReadonlySet<string> {
  return new Set(
    live.resources.filter(resource => set === undefined || !isOwn(resource, set)).map(resourceId),
  )
}
