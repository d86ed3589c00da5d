import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { decode } from '../schema/kinds.ts'
import { CALL_PATHS, protocolOfPath } from '../schema/paths.ts'
import { modelFilter } from '../snapshot/model-filter.ts'
import type { ModelFilter } from '../snapshot/types.ts'
import type { Live, StoredResource } from '../store/types.ts'
import { keyStates } from './changes/key-view.ts'
import type { Context } from './context.ts'
import { type PageQuery, pageOf } from './paging.ts'

/** The listed publications that at least one working key may call; for a tenant, a key of the tenant. */
export async function listModels(
  { store, actor }: Pick<Context, 'store' | 'actor'>,
  { tenant: wanted, ...page }: PageQuery & { readonly tenant?: string | undefined },
): Promise<AnswerOf<OperationOf<'list_models'>>> {
  const tenant = actor.tenant ?? wanted
  const isForeign = wanted !== undefined && wanted !== tenant
  const where = tenant === undefined ? {} : { where: { tenant } }
  const filters = isForeign
    ? []
    : filtersOf(
        await store.find({ kind: 'key', ...where }),
        await store.find({ kind: 'tenant', ...(tenant !== undefined && { name: tenant }) }),
      )
  const publications = filters.length === 0 ? [] : (await store.find({ kind: 'publication' })).resources
  const callable = publications.filter(
    ({ name, spec }) => spec['status'] === 'listed' && filters.some(isAllowed => isAllowed(name)),
  )
  const paths = callable.length === 0 ? () => [] : await pathsByModel(store)
  return pageOf(
    page,
    async (limit, after) =>
      callable.filter(({ name }) => after === undefined || name > after).slice(0, limit),
    ({ name }) => name,
    ({ name, spec }) => ({
      name,
      ...Object.fromEntries(
        SHOWN.flatMap(field => (spec[field] === undefined ? [] : [[field, spec[field]]])),
      ),
      paths: paths(name),
    }),
  )
}

const SHOWN = ['owned_by', 'price', 'max_input_tokens', 'max_output_tokens'] as const

/** The paths at which the enabled endpoints of a model serve it, in the order of the document. */
async function pathsByModel(store: Context['store']): Promise<(model: string) => string[]> {
  const { resources: bindings } = await store.find({ kind: 'binding' })
  const { resources: endpoints } = await store.find({ kind: 'endpoint' })
  const served = new Map(endpoints.map(({ name, spec }) => [name, pathsOf(spec)]))
  const endpointsOf = Map.groupBy(bindings, ({ spec }) => spec['publication'])
  return model => {
    const paths = new Set(
      (endpointsOf.get(model) ?? []).flatMap(({ spec }) => served.get(spec['endpoint'] as string) ?? []),
    )
    return CALL_PATHS.filter(path => paths.has(path))
  }
}

function pathsOf({ enabled, protocol, paths }: StoredResource['spec']): readonly string[] {
  if (enabled === false) return []
  if (Array.isArray(paths)) return paths as string[]
  return CALL_PATHS.filter(path => protocolOfPath(path) === protocol)
}

/** The filters of the keys that work, each once: thousands of keys share a few policies. */
function filtersOf(keys: Live, tenants: Live): readonly ModelFilter[] {
  const states = keyStates(keys)
  const rules = new Map(tenants.resources.map(({ name, spec }) => [name, decode('tenant', spec)]))
  const filters = new Map<string, ModelFilter>()
  for (const { name, spec } of keys.resources) {
    const state = states.get(name)
    if (state !== 'active' && state !== 'no_secret') continue
    const id = JSON.stringify([spec['tenant'], spec['models']])
    if (filters.has(id)) continue
    const { tenant, models } = decode('key', spec)
    const rule = tenant === undefined ? undefined : rules.get(tenant)
    if (tenant !== undefined && rule?.status !== 'active') continue
    filters.set(id, filterOf(models, rule?.models ?? ['*'], rule?.banned_models ?? []))
  }
  return [...filters.values()]
}

function filterOf(
  ofKey: readonly string[],
  ofTenant: readonly string[],
  ofBanned: readonly string[],
): ModelFilter {
  const [own, theirs, banned] = [modelFilter(ofKey), modelFilter(ofTenant), modelFilter(ofBanned)]
  return model => own(model) && theirs(model) && !banned(model)
}
