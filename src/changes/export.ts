import type { Resource } from '../schema/kinds.ts'
import { resourceId } from '../store/resources.ts'
import type { Live } from '../store/types.ts'
import { isOwn } from './ownership.ts'

/** What the files of a set would have to say to mean what stands; sorted by kind and name. */
export function exportSet(live: Live, set: string): Resource[] {
  return live.resources
    .filter(resource => isOwn(resource, set))
    .map(({ kind, name, spec }) => ({ kind, name, spec }))
}

/**
 * What the files of a set may refer to without declaring it, as `kind/name`: all that other owners have. Where the
 * set is not known yet, all that stands; what the tree then deletes although it refers to it is found by `plan`.
 */
export function knownOutside(live: Live, set?: string): ReadonlySet<string> {
  return new Set(
    live.resources.filter(resource => set === undefined || !isOwn(resource, set)).map(resourceId),
  )
}
