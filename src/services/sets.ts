import { render } from '../config/render.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { type CanonicalSpec, isFields, type Resource } from '../schema/kinds.ts'
import type { Live, StoredResource } from '../store/types.ts'
import { exportSet } from './changes/export.ts'
import { exportOf } from './configuration.ts'
import type { Context } from './context.ts'

type Reads = Pick<Context, 'store'>

/** The sets of files in the store, with what they own; and what no file declares. */
export async function listSets({ store }: Reads): Promise<AnswerOf<OperationOf<'list_sets'>>> {
  const { resources } = await store.live()
  const names = [...new Set(resources.flatMap(({ set }) => set ?? []))].sort()
  return {
    data: names.map(name => {
      const own = resources.filter(({ set }) => set === name)
      return {
        name,
        resources: countByKind(own),
        files: [...new Set(own.flatMap(({ place }) => place?.file ?? []))].sort(),
        updated_revision: Math.max(...own.map(({ updatedRevision }) => updatedRevision)),
      }
    }),
    unmanaged: countByKind(resources.filter(({ owner }) => owner !== 'config')),
  }
}

function countByKind(resources: readonly Resource[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind } of resources) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

/**
 * A set as the YAML of one file; without a set what no file declares, to be moved into files.
 * @throws {CommandError} not_found if the set does not exist.
 */
export async function exportYaml(
  { store }: Reads,
  { set }: { readonly set?: string | undefined },
): Promise<AnswerOf<OperationOf<'export_config'>>> {
  const live = await store.live()
  if (set !== undefined)
    return { yaml: exportOf(set, live).yaml, resources: exportSet(live, set).map(idOf), variables: [] }
  const own = unmanaged(live)
  const variables = variablesOf(own)
  return {
    yaml: render(
      'default',
      own.map(resource => withReference(resource, variables)),
    ),
    resources: own.map(idOf),
    variables: [...variables.values()],
  }
}

function unmanaged({ resources }: Live): readonly StoredResource[] {
  return resources.filter(({ owner, kind }) => owner !== 'config' && kind !== 'settings')
}

function idOf({ kind, name }: Resource): string {
  return `${kind}/${name}`
}

/** A credential that is stored here is not in files: the file refers to a variable. */
function withReference(
  { kind, name, spec }: Resource,
  variables: ReadonlyMap<string, string>,
): Pick<Resource, 'kind' | 'name' | 'spec'> {
  const variable = kind === 'endpoint' ? variables.get(name) : undefined
  if (variable === undefined) return { kind, name, spec }
  return { kind, name, spec: { ...spec, upstream_key: { env: variable } } }
}

/** A variable for each endpoint with a stored credential, by endpoint: `a-b` and `a_b` get different ones. */
function variablesOf(resources: readonly Resource[]): ReadonlyMap<string, string> {
  const taken = new Set<string>()
  return new Map(
    resources.flatMap(({ kind, name, spec }) => {
      if (kind !== 'endpoint' || !hasStoredCredential(spec)) return []
      const first = variableOf(name)
      let variable = first
      for (let count = 2; taken.has(variable); count++) variable = `${first}_${count}`
      taken.add(variable)
      return [[name, variable] as const]
    }),
  )
}

function hasStoredCredential({ upstream_key: credential }: CanonicalSpec): boolean {
  return isFields(credential) && 'stored' in credential
}

function variableOf(endpoint: string): string {
  const words = endpoint.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')
  return `${/^\d/.test(words) ? '_' : ''}${words}_KEY`
}
