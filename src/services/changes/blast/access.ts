import type { Json, Resource } from '../../../schema/kinds.ts'
import { common, isEmpty, type ModelSet, ModelSets, without } from './model-sets.ts'
import type { AccessChange } from './types.ts'

/** How a plan changes which key may call which model. */
export interface AccessChanges {
  readonly changes: readonly AccessChange[]
  /** Keys in use that lose some or all of their models, including deleted and disabled keys. */
  readonly broken: number
}

/** The models of each enabled key that is not suspended: the content of `GET /v1/models`. */
type Access = ReadonlyMap<string, ModelSet>

/**
 * Compares the models that each key may call, by the rules of admission: listed, not banned for the tenant, among the
 * models of the key and of its tenant.
 *
 * @param held names of suspended keys, before and after.
 * @param unusable names of keys of which no client can have a valid secret.
 * @param nowMs keys that have expired by then call nothing.
 */
export function accessChanges(
  before: readonly Resource[],
  after: readonly Resource[],
  held: ReadonlySet<string>,
  unusable: ReadonlySet<string>,
  nowMs: number,
): AccessChanges {
  const sets = new ModelSets([...listed(before), ...listed(after)])
  const had = accessOf(before, sets, held, nowMs)
  const has = accessOf(after, sets, held, nowMs)
  const [oldHashes, newHashes] = [hashesIn(before), hashesIn(after)]
  const groups = new Map<string, { keys: string[]; loses: ModelSet; gains: ModelSet; losesAll: boolean }>()
  let broken = 0
  for (const [key, old] of had) {
    const next = has.get(key)
    if (!next) {
      if (!isEmpty(old) && !unusable.has(key)) broken++
      continue
    }
    const [loses, gains] = [without(old, next), without(next, old)]
    const losesSome = !isEmpty(loses)
    // A client that has the secret gets 401.
    const losesSecret = oldHashes.get(key) !== undefined && oldHashes.get(key) !== newHashes.get(key)
    if ((losesSome || (losesSecret && !isEmpty(old))) && !unusable.has(key)) broken++
    if (!losesSome && isEmpty(gains)) continue
    const losesAll = losesSome && isEmpty(next)
    const id = `${losesAll} ${loses.join()} ${gains.join()}`
    const group = groups.get(id)
    if (group) group.keys.push(key)
    else groups.set(id, { keys: [key], loses, gains, losesAll })
  }
  const changes = [...groups.values()].map(({ keys, loses, gains, losesAll }) => ({
    keys: keys.sort(),
    loses: sets.names(loses),
    gains: sets.names(gains),
    losesAll,
  }))
  return { changes: changes.sort(byWeight), broken }
}

function accessOf(
  resources: readonly Resource[],
  sets: ModelSets,
  held: ReadonlySet<string>,
  nowMs: number,
): Access {
  const all = sets.of(listed(resources))
  const ofTenant = new Map<string, ModelSet>()
  for (const { kind, name, spec } of resources) {
    if (kind !== 'tenant') continue
    const banned = sets.matching(texts(spec['banned_models']))
    const allowed = without(sets.matching(texts(spec['models'])), banned)
    ofTenant.set(name, spec['status'] === 'active' ? allowed : sets.none())
  }
  const access = new Map<string, ModelSet>()
  for (const { kind, name, spec } of resources) {
    if (kind !== 'key' || spec['enabled'] === false || held.has(name)) continue
    const expiresAt = spec['expires_at']
    if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= nowMs) continue
    const own = sets.matching(texts(spec['models']))
    const tenant = spec['tenant']
    const theirs = typeof tenant === 'string' ? (ofTenant.get(tenant) ?? sets.none()) : all
    access.set(name, common(all, own, theirs))
  }
  return access
}

/** The hashes of keys whose secret is elsewhere: a client that has it is let in by the hash. */
function hashesIn(resources: readonly Resource[]): ReadonlyMap<string, Json> {
  return new Map(
    resources.flatMap(({ kind, name, spec }) =>
      kind === 'key' && spec['hash'] !== undefined ? [[name, spec['hash']] as const] : [],
    ),
  )
}

function listed(resources: readonly Resource[]): string[] {
  return resources
    .filter(({ kind, spec }) => kind === 'publication' && spec['status'] === 'listed')
    .map(({ name }) => name)
}

/** Canonical specs contain every list that has a default. */
function texts(list: Json | undefined): readonly string[] {
  return Array.isArray(list) ? list.filter((item): item is string => typeof item === 'string') : []
}

/** Losses first, those of many keys before those of few. */
function byWeight(a: AccessChange, b: AccessChange): number {
  const losing = Number(b.loses.length > 0) - Number(a.loses.length > 0)
  return losing || b.keys.length - a.keys.length || ((a.keys[0] ?? '') < (b.keys[0] ?? '') ? -1 : 1)
}
