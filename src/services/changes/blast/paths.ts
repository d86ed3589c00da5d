import type { Resource } from '../../../schema/kinds.ts'
import { CALL_PATHS, type CallPath, INFERENCE_PATHS } from '../../../schema/paths.ts'
import type { PathLoss } from './types.ts'

/** A set of paths: a bit for each, in the order of `CALL_PATHS`. */
type PathBits = number

/**
 * The paths at which listed publications are no longer served, although they keep an endpoint: its `paths` or protocol
 * changed, or the only endpoint with such a path is gone.
 */
export function lostPaths(before: readonly Resource[], after: readonly Resource[]): PathLoss[] {
  const [had, has] = [pathsOf(before), pathsOf(after)]
  const losses: PathLoss[] = []
  for (const { kind, name, spec } of after) {
    if (kind !== 'publication' || spec['status'] !== 'listed') continue
    const kept = has.get(name)
    // Without any endpoint it is reported as unserved.
    if (kept === undefined) continue
    const lost = (had.get(name) ?? 0) & ~kept
    if (lost !== 0) losses.push({ publication: name, loses: CALL_PATHS.filter((_, at) => lost & (1 << at)) })
  }
  return losses.sort((one, other) => (one.publication < other.publication ? -1 : 1))
}

/** By publication with a usable endpoint: one that is enabled, over a binding with weight. */
function pathsOf(resources: readonly Resource[]): ReadonlyMap<string, PathBits> {
  const served = new Map<string, PathBits>()
  for (const { kind, name, spec } of resources) {
    if (kind !== 'endpoint' || spec['enabled'] === false) continue
    const { paths, protocol } = spec
    served.set(name, bitsOf(Array.isArray(paths) ? paths : pathsOfProtocol(protocol)))
  }
  const publications = new Map<string, PathBits>()
  for (const { kind, spec } of resources) {
    if (kind !== 'binding' || spec['weight'] === 0) continue
    const { publication, endpoint } = spec
    if (typeof publication !== 'string' || typeof endpoint !== 'string') continue
    const bits = served.get(endpoint)
    if (bits !== undefined) publications.set(publication, (publications.get(publication) ?? 0) | bits)
  }
  return publications
}

function pathsOfProtocol(protocol: unknown): readonly CallPath[] {
  return INFERENCE_PATHS.filter(each => each.protocol === protocol).map(({ path }) => path)
}

function bitsOf(paths: readonly unknown[]): PathBits {
  return CALL_PATHS.reduce((bits, path, at) => (paths.includes(path) ? bits | (1 << at) : bits), 0)
}
