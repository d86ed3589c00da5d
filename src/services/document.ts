import type { Json, Kind, Resource } from '../schema/kinds.ts'

const SECTIONS: Partial<Record<Kind, string>> = {
  endpoint: 'endpoints',
  publication: 'publications',
  tenant: 'tenants',
  key: 'keys',
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
    const section = SECTIONS[kind]
    const value = escaped(spec)
    if (kind === 'settings') settings = value
    else if (kind === 'binding') bindings.push(value)
    else if (section !== undefined) {
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
