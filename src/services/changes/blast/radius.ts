import type { Resource } from '../../../schema/kinds.ts'
import { resourceId } from '../../../store/resources.ts'
import type { Live, Rename } from '../../../store/types.ts'
import { currencyOf } from '../../currency.ts'
import { liveUnderNewNames, withBindings } from '../renames.ts'
import { accessChanges } from './access.ts'
import { endings } from './endings.ts'
import { loweredLimits, type Pair } from './limits.ts'
import { nodeMoves } from './nodes.ts'
import { lostPaths } from './paths.ts'
import { priceMoves } from './prices.ts'
import type { BlastRadius } from './types.ts'
import type { RecentUse } from './use.ts'

/**
 * The impact on callers when `after` replaces `live`.
 *
 * @param renames of the plan. Endpoints, tenants and keys continue under their new name; a publication does not: calls
 * with its old name are rejected.
 * @param use of the same store; queried only for resources that end or get lower limits.
 */
export async function blastRadius(
  live: Live,
  after: readonly Resource[],
  renames: readonly Rename[],
  use: RecentUse,
): Promise<BlastRadius> {
  const silent = renames.filter(({ kind }) => kind !== 'publication' && kind !== 'binding')
  const all = () => true
  const { resources: before, holds } = liveUnderNewNames(live, withBindings(silent, live.resources, all), all)
  const nowMs = live.atMs
  const next = new Map(after.map(resource => [resourceId(resource), resource]))
  const touched = before.flatMap(old => {
    const now = next.get(resourceId(old))
    return now && JSON.stringify(now.spec) === JSON.stringify(old.spec) ? [] : [{ before: old, after: now }]
  })
  const pairs = touched.flatMap(({ before: old, after: now }): Pair[] =>
    now ? [{ before: old, after: now }] : [],
  )
  const held = new Set(holds.map(({ key }) => key))
  const access = accessChanges(before, after, held)
  return {
    access: access.changes,
    brokenKeys: access.broken,
    unserved: unserved(before, after),
    paths: lostPaths(before, after),
    prices: pairs.flatMap(pair =>
      pair.after.kind === 'publication' ? priceMoves(pair.before, pair.after, nowMs) : [],
    ),
    limits: await loweredLimits(pairs, use, nowMs),
    endings: await endings(touched, use, nowMs),
    nodes: await nodeMoves(before, after, use, nowMs),
    currency: currencyOf(after),
    atMs: nowMs,
  }
}

function unserved(before: readonly Resource[], after: readonly Resource[]): string[] {
  const [had, has] = [publicationsInUse(before), publicationsInUse(after)]
  return after
    .filter(({ kind, name, spec }) => kind === 'publication' && spec['status'] === 'listed' && had.has(name))
    .map(({ name }) => name)
    .filter(name => !has.has(name))
    .sort()
}

/** Publications that a binding with weight and an enabled endpoint serves. */
export function publicationsInUse(resources: readonly Resource[]): ReadonlySet<string> {
  const enabled = new Set(
    resources
      .filter(({ kind, spec }) => kind === 'endpoint' && spec['enabled'] !== false)
      .map(({ name }) => name),
  )
  const served = new Set<string>()
  for (const { kind, spec } of resources) {
    if (kind !== 'binding' || spec['weight'] === 0) continue
    const { publication, endpoint } = spec
    if (typeof publication === 'string' && typeof endpoint === 'string' && enabled.has(endpoint))
      served.add(publication)
  }
  return served
}
