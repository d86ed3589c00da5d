import type { Tree } from '../../config/types.ts'
import { decode, type Resource } from '../../schema/kinds.ts'
import type { StoredResource } from '../../store/types.ts'
import { dependentsOf, underNewNames } from './renames.ts'
import type { Plan, ProbeOrder } from './types.ts'

/** The fields that decide what is sent to an upstream, and to which address; timeouts or labels do not matter. */
export const PROBED_FIELDS = [
  'base_url',
  'nodes',
  'served_model',
  'protocol',
  'auth',
  'upstream_key',
  'headers',
  'proxy',
  'tls',
  'enabled',
  'skip_probe',
]

/**
 * The probes before an apply of `plan`: every model of a new or changed endpoint, and new models of an unchanged one.
 * Endpoints that are disabled or have `skip_probe` are left out.
 *
 * @param after all resources after the apply, of all owners.
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
        return action === 'create' || fields.some(({ path }) => PROBED_FIELDS.includes(rootOf(path)))
      })
      .map(({ name }) => name),
  )
  const sorted = after.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return sorted.flatMap(endpoint => {
    if (endpoint.kind !== 'endpoint' || skipReason(endpoint) !== undefined) return []
    const models = probedModels(endpoint, after)
    if (touched.has(endpoint.name)) return [{ endpoint, models }]
    const { served_model: own } = decode('endpoint', endpoint.spec)
    const known = new Set([...probedModels(endpoint, before), own])
    const added = models.filter(model => !known.has(model))
    return added.length > 0 ? [{ endpoint, models: added }] : []
  })
}

/** The model names to probe: those of its bindings, or the endpoint's own without bindings. */
export function probedModels(endpoint: Resource, resources: readonly Resource[]): string[] {
  const own = decode('endpoint', endpoint.spec).served_model
  const bound = resources
    .filter(({ kind, spec }) => kind === 'binding' && spec['endpoint'] === endpoint.name)
    .map(({ spec }) => decode('binding', spec))
    .filter(({ weight }) => weight > 0)
    .map(({ served_model: model }) => model ?? own)
  // The endpoint's own model first: it most likely supports chat.
  const names = bound.includes(own) ? [own, ...bound] : bound
  return names.length > 0 ? [...new Set(names)] : [own]
}

/** Why an endpoint is not probed, if so. Its nodes are connected to a gateway, not to this process. */
export function skipReason({ spec }: Resource): 'disabled' | 'skip_probe' | 'nodes' | undefined {
  if (spec['enabled'] === false) return 'disabled'
  if (spec['nodes'] !== undefined) return 'nodes'
  return spec['skip_probe'] === true ? 'skip_probe' : undefined
}

/** The resources of `desired`, and all that the plan does not touch. */
export function resourcesAfter(plan: Plan, before: readonly StoredResource[], desired: Tree): Resource[] {
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
