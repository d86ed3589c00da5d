import type { Resource } from '../../../schema/kinds.ts'
import { resourceId } from '../../../store/resources.ts'
import type { Live, Rename } from '../../../store/types.ts'
import { currencyOf } from '../../settings.ts'
import { keyStates } from '../key-view.ts'
import { liveUnderNewNames, withBindings } from '../renames.ts'
import type { KeyState } from '../types.ts'
import { accessChanges } from './access.ts'
import { endings } from './endings.ts'
import { loweredLimits, type Pair } from './limits.ts'
import { nodeMoves } from './nodes.ts'
import { lostPaths } from './paths.ts'
import { priceMoves } from './prices.ts'
import type { BlastRadius } from './types.ts'
import { type RecentUse, underOldNames } from './use.ts'

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
  // The ledger knows the names of now.
  const known = underOldNames(use, silent)
  const all = () => true
  const renamed = liveUnderNewNames(live, withBindings(silent, live.resources, all), all)
  const { resources: before, holds, balances = [] } = renamed
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
  const states = [...keyStates(renamed)]
  // The store of a review is made from the files of another branch, where no secret was issued: each key may have one elsewhere.
  const isIssuing = renamed.secrets.length > 0
  const isUsable = (state: KeyState) => state === 'active' || (state === 'no_secret' && !isIssuing)
  const unusable = states.flatMap(([name, state]) => (isUsable(state) ? [] : [name]))
  const access = accessChanges(before, after, held, new Set(unusable), nowMs)
  return {
    access: access.changes,
    brokenKeys: access.broken,
    hasClients: states.some(([, state]) => state === 'active'),
    unserved: unserved(before, after),
    paths: lostPaths(before, after),
    prices: [...pairs, ...renamedPublications(live.resources, next, renames)].flatMap(pair =>
      pair.after.kind === 'publication' ? priceMoves(pair.before, pair.after, nowMs) : [],
    ),
    limits: await loweredLimits(pairs, balances, known, nowMs),
    endings: await endings(touched, known, nowMs),
    nodes: await nodeMoves(before, after, known, nowMs),
    currency: currencyOf(after),
    atMs: nowMs,
  }
}

/** A publication that is renamed ends under its old name; its price goes on under the new one. */
function renamedPublications(
  before: readonly Resource[],
  after: ReadonlyMap<string, Resource>,
  renames: readonly Rename[],
): Pair[] {
  return renames.flatMap(({ kind, from, to }) => {
    const old = kind === 'publication' && before.find(each => each.kind === kind && each.name === from)
    const now = after.get(`${kind}/${to}`)
    return old && now ? [{ before: { ...old, name: to }, after: now }] : []
  })
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
