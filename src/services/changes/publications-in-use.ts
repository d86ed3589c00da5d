import type { Resource } from '../../schema/kinds.ts'

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
