import { INFERENCE_PATHS, type InferencePath } from '../schema/paths.ts'
import type { PublicationEntry, Target } from './types.ts'

/** The targets of a publication that serve a path, sorted by tier. */
export function targetsAt(
  { targets, restricted }: Pick<PublicationEntry, 'targets' | 'restricted'>,
  { path, protocol }: Pick<InferencePath, 'path' | 'protocol'>,
): readonly Target[] {
  return restricted?.get(path) ?? targets[protocol]
}

/** The paths at which a publication has a target. */
export function servedPaths(publication: PublicationEntry): readonly InferencePath[] {
  return INFERENCE_PATHS.filter(path => targetsAt(publication, path).length > 0)
}

/** The lists of the paths that some target does not serve; undefined if there is none. */
export function restrictedPaths(
  targets: PublicationEntry['targets'],
): ReadonlyMap<string, readonly Target[]> | undefined {
  const lists = new Map<string, readonly Target[]>()
  for (const { path, protocol } of INFERENCE_PATHS) {
    const all = targets[protocol]
    const serving = all.filter(({ endpoint }) => endpoint.paths?.includes(path) ?? true)
    if (serving.length < all.length) lists.set(path, Object.freeze(serving))
  }
  return lists.size > 0 ? lists : undefined
}
