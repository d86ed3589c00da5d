import type { Tree } from '../config/types.ts'
import { decode, type Resource } from '../schema/kinds.ts'
import type { StoredResource } from '../store/types.ts'
import { dependentsOf, underNewNames } from './renames.ts'
import type { Plan, ProbeOrder } from './types.ts'

/** What decides what is sent to an upstream, and where; a new time-out or label says nothing about either. */
export const TELLING_FIELDS = [
  'base_url',
  'served_model',
  'protocol',
  'auth',
  'upstream_key',
  'headers',
  'proxy',
  'enabled',
  'skip_probe',
]

/**
 * What is to be asked before `plan` is carried out: of a new or changed endpoint every model that it will be asked
 * for, of another one those that it was not asked for before. Endpoints that are disabled or have `skip_probe` are
 * left out.
 *
 * @param after all resources as they will stand, those of other owners included.
 */
export function probeOrders(
  plan: Plan,
  live: readonly StoredResource[],
  after: readonly Resource[],
): ProbeOrder[] {
  const before = underNewNames(live, plan.renames, dependentsOf(plan.set))
  const touched = new Set(
    plan.changes
      .filter(({ kind, action, fields }) => {
        if (kind !== 'endpoint' || action === 'delete') return false
        return action === 'create' || fields.some(({ path }) => TELLING_FIELDS.includes(rootOf(path)))
      })
      .map(({ name }) => name),
  )
  const sorted = after.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return sorted.flatMap(endpoint => {
    if (endpoint.kind !== 'endpoint' || skipReason(endpoint) !== undefined) return []
    const asked = modelsAsked(endpoint, after)
    if (touched.has(endpoint.name)) return [{ endpoint, models: asked }]
    const { served_model: own } = decode('endpoint', endpoint.spec)
    const known = new Set([...modelsAsked(endpoint, before), own])
    const models = asked.filter(model => !known.has(model))
    return models.length > 0 ? [{ endpoint, models }] : []
  })
}

/** The names under which an endpoint is asked: those of its bindings, or its own where it has none. */
export function modelsAsked(endpoint: Resource, resources: readonly Resource[]): string[] {
  const own = decode('endpoint', endpoint.spec).served_model
  const bound = resources
    .filter(({ kind, spec }) => kind === 'binding' && spec['endpoint'] === endpoint.name)
    .map(({ spec }) => decode('binding', spec))
    .filter(({ weight }) => weight > 0)
    .map(({ served_model: model }) => model ?? own)
  // Its own first: it is the one that a chat is most likely for.
  const names = bound.includes(own) ? [own, ...bound] : bound
  return names.length > 0 ? [...new Set(names)] : [own]
}

/** Why nobody probes this endpoint, if so. */
export function skipReason({ spec }: Resource): 'disabled' | 'skip_probe' | undefined {
  if (spec['enabled'] === false) return 'disabled'
  return spec['skip_probe'] === true ? 'skip_probe' : undefined
}

/** The resources of `desired` and all that it leaves alone. */
export function standingAfter(plan: Plan, before: readonly StoredResource[], desired: Tree): Resource[] {
  const now = underNewNames(before, plan.renames, dependentsOf(plan.set))
  const id = ({ kind, name }: Pick<Resource, 'kind' | 'name'>) => `${kind}/${name}`
  const replaced = new Set([
    ...desired.resources.map(id),
    ...plan.changes.filter(({ action }) => action === 'delete').map(id),
  ])
  return [...now.filter(resource => !replaced.has(id(resource))), ...desired.resources]
}

function rootOf(path: string): string {
  return /^\w+/.exec(path)?.[0] ?? path
}
