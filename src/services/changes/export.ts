import type { Json, Kind, Resource } from '../../schema/kinds.ts'
import { resourceId } from '../../store/resources.ts'
import type { Live } from '../../store/types.ts'
import { isOwn } from './ownership.ts'

const SECTIONS: Readonly<Record<Exclude<Kind, 'settings' | 'binding'>, string>> = {
  node: 'nodes',
  endpoint: 'endpoints',
  publication: 'publications',
  tenant: 'tenants',
  key: 'keys',
}

/** The resources of a set, sorted by kind and name. */
export function exportSet(live: Live, set: string): Resource[] {
  return live.resources
    .filter(resource => isOwn(resource, set))
    .map(({ kind, name, spec }) => ({ kind, name, spec }))
}

/**
 * The names (`kind/name`) that the files of a set may refer to without declaring them: the resources of other owners.
 * While the set is unknown: all resources; `plan` finds references to those that the tree itself deletes.
 */
export function knownOutside(live: Live, set?: string): ReadonlySet<string> {
  return new Set(
    live.resources.filter(resource => set === undefined || !isOwn(resource, set)).map(resourceId),
  )
}

/**
 * Resources as the data of one configuration file, with every field. JSON is YAML, so `load` reads the result back to
 * the same resources.
 */
export function documentOf(set: string, resources: readonly Resource[]): { readonly [member: string]: Json } {
  const sections = new Map<string, Map<string, Json>>()
  const bindings: Json[] = []
  let settings: Json | undefined
  for (const { kind, name, spec } of resources) {
    const value = escaped(spec)
    if (kind === 'settings') settings = value
    else if (kind === 'binding') bindings.push(value)
    else {
      const section = SECTIONS[kind]
      const named = sections.get(section) ?? new Map<string, Json>()
      sections.set(section, named.set(name, value))
    }
  }
  return {
    version: 1,
    set,
    ...(settings !== undefined && { settings }),
    ...Object.fromEntries([...sections].map(([section, named]) => [section, Object.fromEntries(named)])),
    ...(bindings.length > 0 && { bindings }),
  }
}

/** Values are interpolated on reading, so a literal dollar sign is doubled. */
function escaped(value: Json): Json {
  if (typeof value === 'string') return value.replaceAll('$', '$$$$')
  if (Array.isArray(value)) return value.map(escaped)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([field, member]) => [field, escaped(member)]))
}
